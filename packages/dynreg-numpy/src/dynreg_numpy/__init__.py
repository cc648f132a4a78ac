"""A torch.compile backend that compiles ATen graphs, forward and backward, to NumPy source."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dynreg_numpy._errors import LoweringError as LoweringError
    from dynreg_numpy._errors import MissingLoweringError as MissingLoweringError
    from dynreg_numpy._options import Options as Options
    from dynreg_numpy.backend import numpy_backend as numpy_backend
    from dynreg_numpy.counters import OpCounts as OpCounts
    from dynreg_numpy.counters import get_op_counts as get_op_counts
    from dynreg_numpy.counters import reset_op_counts as reset_op_counts

# Imported when first used: the runtime, which exported code needs, must not bring torch along.
_HOME = {
    "LoweringError": "_errors",
    "MissingLoweringError": "_errors",
    "OpCounts": "counters",
    "Options": "_options",
    "get_op_counts": "counters",
    "numpy_backend": "backend",
    "reset_op_counts": "counters",
}

__all__ = [
    "LoweringError",
    "MissingLoweringError",
    "OpCounts",
    "Options",
    "get_op_counts",
    "numpy_backend",
    "reset_op_counts",
]


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"dynreg_numpy.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
