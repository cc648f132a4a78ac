"""The packages look alike, so that knowing one is knowing all."""

import re
import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
PACKAGES = sorted((ROOT / "packages").iterdir())


def project(package):
    return tomllib.loads((package / "pyproject.toml").read_text())["project"]


def test_there_are_four():
    assert [package.name for package in PACKAGES] == [
        "dynreg-core",
        "dynreg-debug",
        "dynreg-eager",
        "dynreg-numpy",
    ]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_a_package_has_what_every_package_has(package):
    module = package / "src" / package.name.replace("-", "_")
    for name in ("pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", "tests"):
        assert (package / name).exists(), name
    assert (module / "py.typed").is_file()
    assert "__all__" in (module / "__init__.py").read_text()


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_versions_go_in_step(package):
    core = project(ROOT / "packages" / "dynreg-core")
    ours = project(package)
    assert ours["version"] == core["version"]
    assert ours["requires-python"] == core["requires-python"]
    assert f"## {ours['version']}" in (package / "CHANGELOG.md").read_text()
    if package.name != "dynreg-core":
        release = ".".join(core["version"].split(".")[:2])
        assert f"dynreg-core~={release}.0" in ours["dependencies"]
        assert "torch>=2.13" in ours["dependencies"]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_every_backend_has_a_manifest_entry(package):
    entry_points = project(package).get("entry-points", {})
    backends = entry_points.get("torch_dynamo_backends", {})
    module = package / "src" / package.name.replace("-", "_")
    if not backends:
        assert package.name == "dynreg-core"
        return
    manifest = tomllib.loads((module / "dynreg.toml").read_text())
    assert set(manifest["backends"]) == set(backends)
    assert entry_points["dynreg.manifests"] == {module.name: f"{module.name}:dynreg.toml"}


def test_constraints_pin_exact_versions():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    rows = [line for line in lines if line and not line.startswith("#")]
    assert all(re.match(r"^[\w.-]+==[\w.+]+(; python_version .*)?$", row) for row in rows)
    assert "torch==2.13.0" in rows
