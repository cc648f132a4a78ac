"""What a backend needs is checked without importing anything."""

import sys

import pytest

from dynreg_core import _availability
from dynreg_core._types import Requirements

LOUD = "raise RuntimeError('imported')"


def test_what_is_there_is_not_missing(monkeypatch, site):
    site.module("loud_mod", LOUD)
    monkeypatch.setenv("DYNREG_TEST_SET", "1")
    requires = Requirements(("json", "loud_mod"), (sys.executable,), ("DYNREG_TEST_SET",))
    assert _availability.missing_requirement(requires) is None
    assert _availability.missing_requirement(Requirements()) is None


@pytest.mark.parametrize(
    ("requires", "reason", "hint"),
    [
        (
            Requirements(modules=("json", "missing_mod.sub")),
            "needs the module 'missing_mod.sub', which is not installed",
            "install the package that provides 'missing_mod'",
        ),
        (
            Requirements(commands=("dynreg-no-such-command",)),
            "needs the command 'dynreg-no-such-command', which is not on the PATH",
            "install dynreg-no-such-command, or add its folder to PATH",
        ),
        (
            Requirements(environment=("DYNREG_TEST_UNSET",)),
            "needs the environment variable DYNREG_TEST_UNSET, which is not set",
            "set DYNREG_TEST_UNSET",
        ),
    ],
)
def test_the_first_thing_that_is_missing(requires, reason, hint):
    assert _availability.missing_requirement(requires) == (reason, hint)


def test_submodules_are_found_without_importing_their_parents(site):
    site.module("loud_pkg.sub.leaf", LOUD)
    (site.folder / "loud_pkg" / "__init__.py").write_text(LOUD)
    assert _availability.module_exists("loud_pkg.sub.leaf")
    assert not _availability.module_exists("loud_pkg.sub.other")
    assert not _availability.module_exists("loud_pkg.other.leaf")
    assert not _availability.module_exists("loud_pkg.sub.leaf.deeper")
    assert "loud_pkg" not in sys.modules


def test_modules_in_memory_count(monkeypatch):
    monkeypatch.setitem(sys.modules, "memory_mod", sys)
    assert _availability.module_exists("memory_mod")
    monkeypatch.setitem(sys.modules, "memory_mod", None)  # Python's way to forbid an import
    assert not _availability.module_exists("memory_mod")


def test_a_finder_that_fails_finds_nothing(monkeypatch):
    class Broken:
        def find_spec(self, name, path=None, target=None):
            if name == "broken_finder_mod":
                raise ImportError(name)

    monkeypatch.setattr(sys, "meta_path", [Broken(), *sys.meta_path])
    assert not _availability.module_exists("broken_finder_mod")


@pytest.mark.parametrize(
    ("specifier", "installed", "reason"),
    [
        ("", "", None),
        ("", "2.0", None),
        (">=2.13", "2.13.0+cpu", None),
        (">=2.13", "2.14.0.dev20260101+cu130", None),
        (">=2.13", "", "needs torch >=2.13, and torch is not installed"),
        (">=2.13", "2.12.1", "needs torch >=2.13, and torch 2.12.1 is installed"),
        ("<2.14", "2.14.1+cu130", "needs torch <2.14, and torch 2.14.1+cu130 is installed"),
    ],
)
def test_versions_of_torch(specifier, installed, reason):
    missing = _availability.missing_torch(specifier, installed)
    assert (missing and missing.reason) == reason
