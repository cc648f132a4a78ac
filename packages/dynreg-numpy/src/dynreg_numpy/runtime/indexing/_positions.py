"""Positions in the flattened array, through which everything reads and writes along a dimension.

One flat array of int64 positions takes NumPy's fast paths: ``take``, and ``ufunc.at`` in one
dimension, which are several times as fast as the same with a tuple of indices.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dynreg_numpy.runtime._arrays import Array


def check_bounds(index: Array, size: int, *, dim: int = 0) -> Array:
    """Return ``index`` as int64 after holding it against ``[0, size)``.

    Raises:
        RuntimeError: an entry is outside, as torch's gather and scatter say.
    """
    wrong = first_outside(index, 0, size)
    if wrong is not None:
        raise RuntimeError(f"index {wrong} is out of bounds for dimension {dim} with size {size}")
    return index.astype(np.int64, copy=False)


def wrap_index(index: Array, size: int, *, dim: int = 0) -> Array:
    """Return ``index`` counted from the front, as int64.

    Raises:
        IndexError: an entry is outside ``[-size, size)``, as torch's indexing says.
    """
    wrong = first_outside(index, -size, size)
    if wrong is not None:
        raise IndexError(f"index {wrong} is out of bounds for dimension {dim} with size {size}")
    index = index.astype(np.int64, copy=False)
    return np.where(index < 0, index + size, index) if index.size and index.min() < 0 else index


def select_bounds(index: Array, size: int) -> Array:
    """Return ``index`` as int64 after holding it against ``[0, size)``.

    Raises:
        IndexError: an entry is outside, as torch's index_select and embedding say.
    """
    if first_outside(index, 0, size) is not None:
        raise IndexError("index out of range in self")
    return index.astype(np.int64, copy=False)


def first_outside(index: Array, low: int, high: int) -> int | None:
    """Return the first entry outside ``[low, high)``, or None."""
    if not index.size or (index.min() >= low and index.max() < high):
        return None
    flat = index.reshape(-1)
    return int(flat[(flat < low) | (flat >= high)][0])


def along(shape: tuple[int, ...], axis: int, index: Array) -> Array:
    """Return the flat positions in an array of ``shape`` of ``index`` along ``axis``.

    Args:
        shape: of a C-contiguous array, which has one dimension or more.
        axis: the dimension that ``index`` counts in.
        index: int64 within bounds, of as many dimensions as ``shape``, none longer but ``axis``.

    Returns:
        An int64 array of the shape of ``index``.
    """
    steps = [math.prod(shape[a + 1 :]) for a in range(len(shape))]
    positions = np.multiply(index, steps[axis], dtype=np.int64)
    for other, step in enumerate(steps):
        if other != axis and index.shape[other] > 1:
            offsets = np.arange(index.shape[other], dtype=np.int64) * step
            positions += offsets.reshape(-1, *(1,) * (len(shape) - 1 - other))
    return positions


def whole_rows(index: Array, axis: int) -> Array | None:
    """Return the entries of an ``index`` that is one list expanded over the other dimensions.

    This is how graph networks gather and scatter: the expanded index has stride zero everywhere
    but in ``axis``, and whole rows move.
    """
    for other, (size, stride) in enumerate(zip(index.shape, index.strides, strict=True)):
        if other != axis and size != 1 and stride != 0:
            return None
    entries = index[tuple(slice(None) if a == axis else 0 for a in range(index.ndim))]
    return np.asarray(entries)
