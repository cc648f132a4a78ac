"""torch.compile backends that find out what went wrong in another backend."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dynreg_debug._report import Difference as Difference
    from dynreg_debug._report import DifferenceError as DifferenceError
    from dynreg_debug._report import DifferenceWarning as DifferenceWarning
    from dynreg_debug._report import collected_differences as collected_differences
    from dynreg_debug.compare import CompareOptions as CompareOptions
    from dynreg_debug.compare import debug_compare as debug_compare

_HOME = {
    "CompareOptions": "compare",
    "Difference": "_report",
    "DifferenceError": "_report",
    "DifferenceWarning": "_report",
    "collected_differences": "_report",
    "debug_compare": "compare",
}

__all__ = [
    "CompareOptions",
    "Difference",
    "DifferenceError",
    "DifferenceWarning",
    "collected_differences",
    "debug_compare",
]


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"dynreg_debug.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
