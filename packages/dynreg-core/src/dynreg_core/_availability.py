"""Whether a backend can work here, told without importing it."""

import os
import sys
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from dynreg_core._types import Requirements

__all__ = ["Missing", "missing_module", "missing_requirement", "missing_torch", "module_exists"]


class Missing(NamedTuple):
    """A need that is not met.

    Attributes:
        reason: Continues "it", as in ``needs the command 'nvcc'``.
        hint: How to meet it.
    """

    reason: str
    hint: str


def missing_requirement(requires: "Requirements") -> Missing | None:
    """Return the first requirement of a manifest that is not met, or ``None``."""
    for module in requires.modules:
        missing = missing_module(module)
        if missing is not None:
            return missing
    for command in requires.commands:
        from shutil import which

        if which(command) is None:
            return Missing(
                f"needs the command {command!r}, which is not on the PATH",
                f"install {command}, or add its folder to PATH",
            )
    for variable in requires.environment:
        if not os.environ.get(variable):
            return Missing(
                f"needs the environment variable {variable}, which is not set", f"set {variable}"
            )
    return None


def missing_module(module: str) -> Missing | None:
    """Return that a module cannot be imported, or ``None`` where it is there."""
    if module_exists(module):
        return None
    return Missing(
        f"needs the module {module!r}, which is not installed",
        f"install the package that provides {module.partition('.')[0]!r}",
    )


def missing_torch(specifier: str, installed: str) -> Missing | None:
    """Return that torch is missing or of another version than asked for, or ``None``.

    Args:
        specifier: Version specifier, as in ``>=2.13``; empty for any version.
        installed: Version of torch; empty where it is not installed.
    """
    if not specifier:
        return None
    if not installed:
        return Missing(
            f"needs torch {specifier}, and torch is not installed",
            f'pip install "torch{specifier}"',
        )
    from packaging.specifiers import SpecifierSet

    # A nightly build of the version asked for is what its users mean by it.
    if SpecifierSet(specifier).contains(installed, prereleases=True):
        return None
    return Missing(
        f"needs torch {specifier}, and torch {installed} is installed",
        f'pip install "torch{specifier}", or another version of the backend',
    )


def module_exists(module: str) -> bool:
    """Whether a module can be found. Nothing is imported, not even its parents."""
    if module in sys.modules:
        return sys.modules[module] is not None
    from importlib.util import find_spec

    top, *rest = module.split(".")
    try:
        spec = find_spec(top)
        name = top
        for part in rest:
            if spec is None or spec.submodule_search_locations is None:
                return False
            name = f"{name}.{part}"
            spec = PathFinder.find_spec(name, spec.submodule_search_locations)
    except (ImportError, ValueError, AttributeError):
        return False  # a finder fails, or a module in sys.modules has no specification
    return spec is not None
