"""Reading and writing at indices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dynreg_numpy.runtime._arrays import Array, narrow, widen, wrap_dim

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["gather", "index", "index_put", "index_select", "scatter", "scatter_add"]


def _checked(index: Array, size: int) -> Array:
    """Return an index after holding it against a dimension's size.

    Raises:
        IndexError: an entry is outside of ``[-size, size)``.
    """
    if index.size and (index.max() >= size or index.min() < -size):
        bad = index.max() if index.max() >= size else index.min()
        raise IndexError(f"index {bad} is out of bounds for dimension with size {size}")
    return index


def _full_index(x: Array, indices: Sequence[Array | None]) -> tuple[Any, ...]:
    return tuple(slice(None) if index is None else np.asarray(index) for index in indices)


def index(x: Array, indices: Sequence[Array | None]) -> Array:
    """Read as ``x[indices]`` does in torch, None standing for a whole dimension."""
    result = np.asarray(x)[_full_index(x, indices)]
    return np.array(result) if result.base is not None else result


def index_put(x: Array, indices: Sequence[Array | None], values: Any, accumulate: bool) -> Array:
    """Copy ``x`` with ``values`` written, or added, at the indices."""
    where = _full_index(x, indices)
    if not accumulate:
        result = np.array(x)
        result[where] = values
        return result
    result = np.array(widen(np.asarray(x)))
    np.add.at(result, where, widen(np.asarray(values)))
    return narrow(result, x.dtype)


def index_select(x: Array, axis: int, index: Array) -> Array:
    """Take entries of a dimension.

    Raises:
        IndexError: an entry of the index is outside of the dimension.
    """
    x = np.asarray(x)
    if x.ndim == 0:
        x = x.reshape(1)
        return np.take(x, _checked(np.asarray(index), 1).reshape(()))
    return np.take(x, _checked(np.asarray(index), x.shape[axis]), axis)


def _along(x: Array, axis: int, index: Array) -> tuple[Array, ...]:
    """Index with which ``x[...]`` is read or written at ``index`` along one dimension."""
    grid = np.ogrid[tuple(slice(size) for size in index.shape)]
    position = list(grid) if isinstance(grid, (tuple, list)) else [grid]
    position[axis] = _checked(index, x.shape[axis])
    return tuple(position)


def gather(x: Array, axis: int, index: Array) -> Array:
    """Read one entry along a dimension for each entry of the index.

    Raises:
        IndexError: an entry of the index is outside of the dimension.
    """
    x, index = np.asarray(x), np.asarray(index)
    if index.ndim == 0 or x.ndim == 0:
        return x.reshape(-1)[_checked(index, x.size)].reshape(index.shape)
    return x[_along(x, wrap_dim(axis, x.ndim), index)]


def scatter(x: Array, axis: int, index: Array, source: Any) -> Array:
    """Copy ``x`` with ``source`` written along a dimension.

    Raises:
        IndexError: an entry of the index is outside of the dimension.
    """
    result, index = np.array(x), np.asarray(index)
    if np.ndim(source):
        source = source[tuple(slice(size) for size in index.shape)]
    if index.ndim == 0 or result.ndim == 0:
        result.reshape(-1)[_checked(index, result.size)] = source
        return result
    result[_along(result, wrap_dim(axis, result.ndim), index)] = source
    return result


def scatter_add(x: Array, axis: int, index: Array, source: Array) -> Array:
    """Copy ``x`` with ``source`` added along a dimension.

    Raises:
        IndexError: an entry of the index is outside of the dimension.
    """
    result, index = np.array(widen(np.asarray(x))), np.asarray(index)
    source = widen(np.asarray(source))
    if index.ndim == 0 or result.ndim == 0:
        np.add.at(result.reshape(-1), _checked(index, result.size), source)
        return narrow(result, x.dtype)
    source = source[tuple(slice(size) for size in index.shape)]
    np.add.at(result, _along(result, wrap_dim(axis, result.ndim), index), source)
    return narrow(result, x.dtype)
