"""What the tests of dynreg-core share: folders that look like installed distributions."""

import importlib
import sys
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent

import pytest

from dynreg_core import _metadata
from dynreg_core._policy import Policy
from dynreg_core._registry import Registry
from dynreg_core._types import EntryPoint


@dataclass
class Site:
    """A folder on ``sys.path`` that distributions are installed into."""

    folder: Path
    modules: list[str] = field(default_factory=list)

    def module(self, name: str, source: str) -> Path:
        """Write a module; ``a.b`` makes the package ``a``."""
        *packages, last = name.split(".")
        folder = self.folder
        for package in packages:
            folder /= package
            folder.mkdir(exist_ok=True)
            (folder / "__init__.py").touch()
        file = folder / f"{last}.py"
        file.write_text(dedent(source))
        self.modules.append(name.partition(".")[0])
        return file

    def package(self, name: str, source: str = "", **files: str) -> Path:
        """Write a package with other files in it; ``dynreg_toml`` becomes ``dynreg.toml``."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        (folder / "__init__.py").write_text(dedent(source))
        for file, text in files.items():
            (folder / file.replace("_toml", ".toml")).write_text(dedent(text))
        self.modules.append(name)
        return folder

    def distribution(
        self,
        name: str,
        version: str = "1.0",
        *,
        backends: dict[str, str] | None = None,
        manifests: dict[str, str] | None = None,
        summary: str = "",
        entry_points: str | None = None,
        metadata: bool = True,
    ) -> Path:
        """Write the metadata of a distribution."""
        folder = self.folder / f"{name.replace('-', '_')}-{version}.dist-info"
        folder.mkdir()
        if metadata:
            (folder / "METADATA").write_text(
                f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nSummary: {summary}\n"
            )
        if entry_points is None:
            groups = {_metadata.BACKENDS: backends, _metadata.MANIFESTS: manifests}
            entry_points = "\n".join(
                f"[{group}]\n" + "\n".join(f"{k} = {v}" for k, v in entries.items()) + "\n"
                for group, entries in groups.items()
                if entries
            )
        (folder / "entry_points.txt").write_text(entry_points)
        return folder


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A site folder of its own, in front of everything else on ``sys.path``."""
    folder = tmp_path / "site"
    folder.mkdir()
    here = Site(folder)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(_metadata, "_last", None)
    before = set(sys.modules)
    yield here
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in here.modules:
            del sys.modules[name]
    importlib.invalidate_caches()


class FakeTorch:
    """Torch as a source of names, without torch."""

    def __init__(self, names=(), version="2.13.0"):
        self.known = {"eager": ("debug",), "inductor": (), "tvm": (), **dict.fromkeys(names, ())}
        self.installed = version

    def version(self):
        return self.installed

    def names(self):
        return self.known

    def load(self, name):
        return _TORCH[name]

    def unknown(self, error):
        return error

    def holds(self, compiler_fn):
        return compiler_fn in _TORCH.values()


def _eager(gm, example_inputs):
    return gm


def _inductor(gm, example_inputs, *, mode=None, options=None):
    return gm


_TORCH = {"eager": _eager, "inductor": _inductor}


@pytest.fixture
def torch_source():
    """The class of stand-ins for torch."""
    return FakeTorch


@pytest.fixture
def make_registry():
    """Make registries over given entry points, policy and torch, with nothing of this machine."""

    def make(*entry_points, policy=None, torch=None, observer=None):
        return Registry(
            entry_points=lambda: entry_points,
            policy=lambda: policy or Policy(),
            torch=torch or FakeTorch(),
            observer=observer,
        )

    return make


@pytest.fixture
def registry(make_registry):
    """An empty registry over a stand-in for torch."""
    return make_registry()


@pytest.fixture
def entry_point():
    """Make entry points of the group of backends."""

    def make(name, value="missing_module:compile", distribution="acme", version="1.0"):
        return EntryPoint(name, value, _metadata.BACKENDS, distribution, version)

    return make


@pytest.fixture
def installed(site, torch_source):
    """Make registries over what the site folder has, with an empty policy."""

    def make(policy=None, torch=None):
        return Registry(policy=lambda: policy or Policy(), torch=torch or torch_source())

    return make
