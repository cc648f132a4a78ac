"""The package's front, its types, and torch's names without torch."""

import ast
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import dynreg_core
from dynreg_core import _default, _torch_backends
from dynreg_core._names import closest
from dynreg_core._torch_backends import BUILT_IN, TorchBackends
from dynreg_core._types import BackendInfo, Status


def run(program, *arguments, **environment):
    """Run a program in a new interpreter and return what it prints."""
    return subprocess.run(
        [sys.executable, *arguments, "-c", program],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )


def test_every_public_name_is_there():
    for name in dynreg_core.__all__:
        assert getattr(dynreg_core, name) is dynreg_core.__getattr__(name)
    assert set(dynreg_core.__all__) <= set(dir(dynreg_core))
    assert dynreg_core.__version__.count(".") == 2
    with pytest.raises(AttributeError, match="has no attribute 'missing'"):
        dynreg_core.missing  # noqa: B018 - the access is the test


def test_the_front_states_each_name_once_for_each_of_its_readers():
    tree = ast.parse(Path(dynreg_core.__file__).read_text())
    (checked,) = [node for node in tree.body if isinstance(node, ast.If)]
    for_type_checkers = {
        alias.asname: f"{node.module}.{alias.name}" for node in checked.body for alias in node.names
    }
    when_used = {name: f"dynreg_core.{home}.{name}" for name, home in dynreg_core._HOME.items()}
    assert for_type_checkers == {**when_used, "errors": "dynreg_core.errors"}
    assert sorted(for_type_checkers) == dynreg_core.__all__


def test_registering_in_the_default_registry_makes_a_name_for_torch():
    registry = pytest.importorskip("torch._dynamo.backends.registry")

    def front_backend(gm, example_inputs):
        return gm

    with dynreg_core.using():
        dynreg_core.register_backend(front_backend)
        assert registry.lookup_backend("front_backend")("graph", []) == "graph"
    assert not dynreg_core.is_registered_backend("front_backend")
    assert "front_backend" not in registry._BACKENDS


def test_the_functions_act_on_the_default_registry():
    assert dynreg_core.lookup_backend == _default.registry.lookup_backend
    registered = set(dynreg_core.list_backends(None))
    assert registered == set(_default.registry.list_backends(None))


def test_importing_the_package_imports_nothing_else():
    program = """
import sys
before = set(sys.modules)
import dynreg_core
print(sorted(set(sys.modules) - before))
"""
    assert run(program).stdout.strip() == "['dynreg_core']"


def test_listing_and_asking_import_neither_torch_nor_a_plugin_nor_a_heavy_library():
    program = """
import sys, dynreg_core
dynreg_core.list_backends(None)
dynreg_core.list_backend_info(None)
dynreg_core.default_for("cpu")
heavy = {"torch", "numpy", "click", "rich", "importlib.metadata", "email", "dynreg_numpy"}
print(sorted(heavy & set(sys.modules)))
"""
    assert run(program).stdout.strip() == "[]"


def test_statuses_as_text():
    assert str(Status("ready")) == "ready"
    assert str(Status("broken", "why")) == "broken (why)"
    assert Status("loaded").usable
    assert not Status("denied").usable
    assert BackendInfo("a", "process", "").description == ""


def test_closest_names():
    names = ["numpy", "Eager", "eager_debug", "inductor"]
    assert closest("EAGER", names)[0] == "Eager"
    assert closest("nunpy", names) == ("numpy",)
    assert closest("xyzzy", names) == ()


# --- torch -------------------------------------------------------------------------------------


def test_without_torch_in_memory_a_table_is_asked(monkeypatch):
    if find_spec("torch") is None:
        pytest.skip("torch is not installed")
    for name in [name for name in sys.modules if name.partition(".")[0] == "torch"]:
        monkeypatch.delitem(sys.modules, name)
    torch = TorchBackends()
    error = dynreg_core.errors.UnknownBackendError("missing")
    assert torch.unknown(error) is error
    assert not torch.holds(print)
    assert torch.version().startswith("2.")
    assert torch.names() == BUILT_IN
    monkeypatch.setattr(torch, "version", lambda: "")
    assert torch.names() == {}


def test_the_table_is_what_torch_has():
    registry = pytest.importorskip("torch._dynamo.backends.registry")
    import torch

    registry._lazy_import()
    built_in = {name for name, entry in registry._BACKENDS.items() if entry is None}
    torch_names = TorchBackends().names()
    assert built_in & set(BUILT_IN) == set(BUILT_IN)
    for name in BUILT_IN:
        assert torch_names[name] == BUILT_IN[name], name
    for hidden in ((), ("debug",), ("experimental",), ("debug", "experimental")):
        theirs = set(torch.compiler.list_backends(exclude_tags=hidden)) & set(BUILT_IN)
        ours = {name for name, tags in BUILT_IN.items() if not set(hidden) & set(tags)}
        assert ours == theirs
    assert TorchBackends().version() == torch.__version__


def test_torch_backends_load_from_torch():
    registry = pytest.importorskip("torch._dynamo.backends.registry")

    assert dynreg_core.lookup_backend("eager") is registry.lookup_backend("eager")
    assert dynreg_core.lookup_backend("inductor") is registry.lookup_backend("inductor")


def test_what_was_registered_with_torch_itself_is_found(monkeypatch):
    registry = pytest.importorskip("torch._dynamo.backends.registry")

    def vendor(gm, example_inputs):
        return gm

    for table in ("_BACKENDS", "_COMPILER_FNS", "_BACKEND_TAGS"):
        if hasattr(registry, table):
            monkeypatch.setattr(registry, table, dict(getattr(registry, table)))
    registry.register_backend(vendor, name="vendor", tags=("x",))
    info = dynreg_core.get_backend_info("vendor")
    assert (info.source, info.tags) == ("torch", ("x",))
    assert dynreg_core.lookup_backend("vendor") is vendor
    assert dynreg_core.is_registered_backend(vendor)
    assert dynreg_core.is_registered_backend(registry.lookup_backend("eager"))
    assert not dynreg_core.is_registered_backend(print)


def test_known_distributions_have_names_that_exist():
    for name, (distribution, module) in _torch_backends._PROVIDERS.items():
        assert name not in BUILT_IN
        assert distribution == distribution.lower()
        assert all(part.isidentifier() for part in module.split(".") if module)
