"""Assertions that torch puts into graphs, with the errors that torch raises."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dynreg_numpy.runtime._arrays import Array

__all__ = ["bounds", "scalar", "tensor"]


def scalar(condition: Any, message: str) -> None:
    """Raise a RuntimeError unless a condition on sizes holds, as ``aten._assert_scalar`` does."""
    if not condition:
        raise RuntimeError(message)


def tensor(condition: Array, message: str) -> None:
    """Raise a RuntimeError if an array of one item is zero, as ``aten._assert_async`` does."""
    if not condition:
        raise RuntimeError(message)


def bounds(size: Any, low: Any, high: Any) -> None:
    """Hold a size against its range, either end of which may be None.

    Raises:
        RuntimeError: the size is outside, as ``aten.sym_constrain_range`` says it.
    """
    if (low is not None and size < low) or (high is not None and size > high):
        raise RuntimeError(f"Invalid value range for {size} between [{low}, {high}].")
