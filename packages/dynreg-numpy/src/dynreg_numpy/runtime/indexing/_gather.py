"""Reading at indices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dynreg_numpy.runtime._arrays import wrap_dim
from dynreg_numpy.runtime.indexing._positions import (
    along,
    check_bounds,
    first_outside,
    select_bounds,
    whole_rows,
    wrap_index,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dynreg_numpy.runtime._arrays import Array


def gather(x: Array, dim: int, index: Array, *, out: Array | None = None) -> Array:
    """Read one entry along ``dim`` for each entry of ``index``, as ``aten.gather`` does.

    Args:
        x: any shape.
        dim: the dimension that ``index`` counts in.
        index: integer, as many dimensions as ``x``, and no longer in any but ``dim``.
        out: where to put the result.

    Returns:
        An array of the shape of ``index``, in the dtype of ``x``.

    Raises:
        RuntimeError: an index is outside the dimension.
    """
    x, index = np.asarray(x), np.asarray(index)
    axis = wrap_dim(dim, x.ndim)
    if x.ndim == 0 or index.ndim == 0:
        flat = check_bounds(index, x.shape[0] if x.ndim else 1)
        return np.take(x.reshape(-1), flat, out=out, mode="clip").reshape(index.shape)
    if not index.size:
        return np.empty(index.shape, x.dtype)
    entries = whole_rows(index, axis)
    if entries is not None:
        sizes = (slice(None) if a == axis else slice(n) for a, n in enumerate(index.shape))
        entries = check_bounds(entries, x.shape[axis], dim=axis)
        return np.take(x[tuple(sizes)], entries, axis, out=out, mode="clip")
    index = check_bounds(index, x.shape[axis], dim=axis)
    return np.take(x.reshape(-1), along(x.shape, axis, index), out=out, mode="clip")


def index_select(x: Array, dim: int, index: Array, *, out: Array | None = None) -> Array:
    """Take the entries of ``dim`` that ``index`` lists, as ``aten.index_select`` does.

    Args:
        x: any shape.
        dim: the dimension to take from.
        index: integer, (n,) or ().
        out: where to put the result.

    Returns:
        ``x`` with its dimension replaced by the entries; () for a 0-d ``x``.

    Raises:
        IndexError: an index is outside the dimension.
    """
    x, index = np.asarray(x), np.asarray(index)
    axis = wrap_dim(dim, x.ndim)
    if x.ndim == 0:
        select_bounds(index, 1)
        return x.copy()
    entries = select_bounds(index.reshape(-1), x.shape[axis])
    return np.take(x, entries, axis, out=out, mode="clip")


def embedding(weight: Array, index: Array, *, out: Array | None = None) -> Array:
    r"""Return the row of ``weight`` for each index, as ``aten.embedding`` does.

    Args:
        weight: (rows, width).
        index: integer, any shape.
        out: where to put the result.

    Returns:
        (\*index.shape, width).

    Raises:
        IndexError: an index is outside the rows.
    """
    entries = select_bounds(np.asarray(index), weight.shape[0])
    return np.take(weight, entries, 0, out=out, mode="clip")


def index(x: Array, indices: Sequence[Array | None]) -> Array:
    """Read as ``x[indices]`` does, as ``aten.index.Tensor``.

    Args:
        x: any shape.
        indices: one integer or boolean array per dimension, or None for the whole of it.

    Returns:
        A new array. As in NumPy, indexed dimensions that stand together are replaced in place,
        and else come first.

    Raises:
        IndexError: an index is outside its dimension.
    """
    x = np.asarray(x)
    where = [i for i, entry in enumerate(indices) if entry is not None]
    if len(where) == 1:
        entry = np.asarray(indices[where[0]])
        if entry.dtype.kind != "b":
            axis = where[0]
            return np.take(x, wrap_index(entry, x.shape[axis], dim=axis), axis, mode="clip")
    result = x[full_index(x, indices)]
    return result if isinstance(result, np.ndarray) and result.base is None else np.array(result)


def full_index(x: Array, indices: Sequence[Array | None]) -> tuple[Any, ...]:
    """Return the subscript that ``indices`` mean, after holding them against bounds."""
    result: list[Any] = []
    axis = 0
    for entry in indices:
        if entry is None:
            result.append(slice(None))
            axis += 1
            continue
        array = np.asarray(entry)
        if array.dtype.kind != "b":
            wrong = first_outside(array, -x.shape[axis], x.shape[axis])
            if wrong is not None:
                raise IndexError(
                    f"index {wrong} is out of bounds for dimension {axis} with size {x.shape[axis]}"
                )
        result.append(array)
        axis += array.ndim if array.dtype.kind == "b" else 1
    return tuple(result)


def take(x: Array, index: Array, *, out: Array | None = None) -> Array:
    """Read from the flattened ``x``, as ``aten.take`` does.

    Args:
        x: any shape.
        index: integer, any shape; negative counts from the end.
        out: where to put the result.

    Returns:
        An array of the shape of ``index``.

    Raises:
        IndexError: an index is outside the flattened ``x``.
    """
    x = np.asarray(x)
    return np.asarray(np.take(x.reshape(-1), wrap_flat(index, x.size), out=out, mode="clip"))


def wrap_flat(index: Array, size: int) -> Array:
    """Return positions in a flattened array counted from the front, as int64."""
    index = np.asarray(index)
    wrong = first_outside(index, -size, size)
    if wrong is not None:
        raise IndexError(
            f"out of range: tried to access index {wrong} on a tensor of {size} elements."
        )
    return np.where(index < 0, index + size, index).astype(np.int64, copy=False)
