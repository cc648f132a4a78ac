"""Reducing many values into few places."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from dynreg_numpy.runtime._arrays import Array, DType

#: Values from which on rows are added by a sparse product.
_SPARSE_SIZE = 8192
_UFUNCS: dict[str, np.ufunc] = {
    "add": np.add,
    "sum": np.add,
    "mean": np.add,
    "multiply": np.multiply,
    "prod": np.multiply,
    "amax": np.maximum,
    "amin": np.minimum,
}
_BOOLEAN: dict[str, np.ufunc] = {
    "add": np.logical_or,
    "sum": np.logical_or,
    "multiply": np.logical_and,
    "prod": np.logical_and,
}


def reduce_at(
    flat: Array, positions: Array, values: Array, reduce: str, *, include_self: bool
) -> None:
    """Reduce ``values`` into ``flat`` at ``positions``; both 1-d."""
    values = values.astype(flat.dtype, copy=False)
    if not include_self:
        flat[positions] = _identity(reduce, flat.dtype)
    ufunc = _UFUNCS[reduce]
    if flat.dtype.kind == "b":
        ufunc = _BOOLEAN.get(reduce, ufunc)
    ufunc.at(flat, positions, values)
    if reduce == "mean":
        counts = np.bincount(positions, minlength=flat.size) + int(include_self)
        np.maximum(counts, 1, out=counts)
        divide = np.floor_divide if flat.dtype.kind in "iu" else np.true_divide
        divide(flat, counts.astype(flat.dtype), out=flat)


def _identity(reduce: str, dtype: DType) -> Any:
    """Return what leaves every value of ``dtype`` as it is in the reduction."""
    if reduce in ("prod", "multiply"):
        return 1
    if reduce not in ("amax", "amin"):
        return 0
    if dtype.kind == "b":
        return reduce == "amin"
    if dtype.kind == "f":
        return -np.inf if reduce == "amax" else np.inf
    limits = np.iinfo(dtype)
    return limits.min if reduce == "amax" else limits.max


def add_rows(target: Array, rows: Array, values: Array) -> None:
    r"""Add ``values`` (n, \*width) to the ``rows`` (n,) of ``target``, which may repeat."""
    if not values.size:
        return
    if _pays_sparse(values):
        target += sum_rows(len(target), rows, values)
    else:
        _add_flat(target, rows, values)


def sum_rows(count: int, rows: Array, values: Array) -> Array:
    r"""Sum the ``values`` (n, \*width) of each row: (count, \*width), with ``rows`` (n,)."""
    shape = (count, *values.shape[1:])
    if not values.size or not _pays_sparse(values):
        result = np.zeros(shape, values.dtype)
        _add_flat(result, rows, values)
        return result
    from scipy.sparse import csc_array

    # One column per value, with a one in its row: SciPy adds whole rows at once.
    ones, starts = np.ones(len(rows), values.dtype), np.arange(len(rows) + 1)
    chosen = csc_array((ones, rows, starts), shape=(count, len(rows)))
    return np.asarray(chosen @ values.reshape(len(rows), -1)).reshape(shape)


def _pays_sparse(values: Array) -> bool:
    """Whether a sparse product, which takes 40 µs to set up, beats adding element by element."""
    return values.ndim > 1 and values.size > _SPARSE_SIZE and values.dtype.kind in "fc"


def _add_flat(target: Array, rows: Array, values: Array) -> None:
    width = math.prod(target.shape[1:])
    positions = rows if width == 1 else rows[:, None] * width + np.arange(width)
    flat = target.reshape(-1)
    add = np.logical_or if target.dtype.kind == "b" else np.add
    add.at(flat, positions.reshape(-1), values.astype(target.dtype, copy=False).reshape(-1))
    if not np.may_share_memory(flat, target):
        target[...] = flat.reshape(target.shape)
