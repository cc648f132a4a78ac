"""Searching in sorted values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dynreg_numpy.runtime._arrays import widen

if TYPE_CHECKING:
    from dynreg_numpy.runtime._arrays import Array


def searchsorted(
    sorted_sequence: Array,
    x: Any,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Array | None = None,
) -> Array:
    r"""Find where values would go in sorted rows, as ``aten.searchsorted`` does.

    Args:
        sorted_sequence: (n,), or (\*lead, n) with the leading shape of ``x``.
        x: the values, (\*lead, m), any shape for a 1-d sequence, or a Python number.
        out_int32: return int32 and not int64.
        right: go behind equal values.
        side: "left" or "right", which overrules ``right``.
        sorter: the order in which the sequence is sorted, of its shape.

    Returns:
        An integer array like ``x``; a NaN goes behind everything.
    """
    values = np.asarray(widen(np.asarray(x)))
    sequence = np.asarray(widen(sorted_sequence))
    if sequence.dtype.kind in "iub" and values.dtype.kind == "f" and not isinstance(x, np.ndarray):
        values = values.astype(np.float32)  # torch's default dtype for a Python float
    if sorter is not None:
        sequence = np.take_along_axis(sequence, sorter, -1)
    where = "right" if right or side == "right" else "left"
    dtype = np.int32 if out_int32 else np.int64
    if sequence.ndim == 1:
        return np.asarray(_search(sequence, values, where)).astype(dtype, copy=False)
    result = np.empty(values.shape, dtype)
    for lead in np.ndindex(sequence.shape[:-1]):
        result[lead] = _search(sequence[lead], values[lead], where)
    return result


def _search(sequence: Array, values: Array, where: Any) -> Array:
    found = np.searchsorted(sequence, values, where)
    if values.dtype.kind == "f":
        found = np.where(np.isnan(values), len(sequence), found)
    return found


def bucketize(x: Any, boundaries: Array, out_int32: bool = False, right: bool = False) -> Array:
    """Find the bucket of each value, as ``aten.bucketize`` does.

    Args:
        x: the values, any shape, or a Python number.
        boundaries: (n,), ascending.
        out_int32: return int32 and not int64.
        right: a value that equals a boundary belongs above it.

    Returns:
        An integer array like ``x``, in [0, n].
    """
    return searchsorted(boundaries, x, out_int32, right)
