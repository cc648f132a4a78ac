"""Writing along a dimension: scatter and its relatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dynreg_numpy.runtime._arrays import narrow, widen, wrap_dim
from dynreg_numpy.runtime.indexing._positions import (
    along,
    check_bounds,
    whole_rows,
)
from dynreg_numpy.runtime.indexing._reduce import add_rows, reduce_at

if TYPE_CHECKING:
    from dynreg_numpy.runtime._arrays import Array


def scatter(x: Array, dim: int, index: Array, source: Any) -> Array:
    """Copy ``x`` with ``source`` written along ``dim``, as ``aten.scatter`` does.

    Args:
        x: any shape.
        dim: the dimension that ``index`` counts in.
        index: integer, as many dimensions as ``x``.
        source: an array at least as large as ``index`` in each dimension, or one value.

    Returns:
        An array like ``x``; of several entries for one place, the last is kept.

    Raises:
        RuntimeError: an index is outside the dimension.
    """
    result = np.array(x, order="C")
    positions, values = _targets(result, dim, index, source)
    result.reshape(-1)[positions] = values
    return result


def scatter_add(x: Array, dim: int, index: Array, source: Array) -> Array:
    """Copy ``x`` with ``source`` added along ``dim``, as ``aten.scatter_add`` does.

    Args:
        x: any shape.
        dim: the dimension that ``index`` counts in.
        index: integer, as many dimensions as ``x``.
        source: an array at least as large as ``index`` in each dimension.

    Returns:
        An array like ``x``.

    Raises:
        RuntimeError: an index is outside the dimension.
    """
    x, index = np.asarray(x), np.asarray(index)
    axis = wrap_dim(dim, x.ndim)
    entries = whole_rows(index, axis) if index.ndim and x.ndim and index.size else None
    if entries is None:
        return scatter_reduce(x, dim, index, source, "sum")
    result = np.array(widen(x), order="C")
    values = widen(np.asarray(source))[tuple(map(slice, index.shape))]
    entries = check_bounds(entries, x.shape[axis], dim=axis)
    sizes = (slice(None) if a == axis else slice(n) for a, n in enumerate(index.shape))
    add_rows(np.moveaxis(result[tuple(sizes)], axis, 0), entries, np.moveaxis(values, axis, 0))
    return narrow(result, x.dtype)


def scatter_reduce(
    x: Array, dim: int, index: Array, source: Any, reduce: str, include_self: bool = True
) -> Array:
    """Copy ``x`` with ``source`` reduced into it along ``dim``, as ``aten.scatter_reduce`` does.

    Args:
        x: any shape.
        dim: the dimension that ``index`` counts in.
        index: integer, as many dimensions as ``x``.
        source: an array at least as large as ``index`` in each dimension, or one value.
        reduce: "sum", "prod", "mean", "amax" or "amin"; also "add" and "multiply", as
            ``aten.scatter.reduce`` calls them.
        include_self: count the values of ``x`` at the places that are written.

    Returns:
        An array like ``x``; a mean of integers is rounded down.

    Raises:
        RuntimeError: an index is outside the dimension.
    """
    x = np.asarray(x)
    result = np.array(widen(x), order="C")
    positions, values = _targets(result, dim, index, widen(np.asarray(source)))
    flat = result.reshape(-1)
    reduce_at(flat, positions, values, reduce, include_self=include_self)
    return narrow(result, x.dtype)


def _targets(x: Array, dim: int, index: Array, source: Any) -> tuple[Array, Array]:
    """Return flat positions in ``x``, and the values for them, as 1-d arrays."""
    index, source = np.asarray(index), np.asarray(source)
    axis = wrap_dim(dim, x.ndim)
    if x.ndim == 0 or index.ndim == 0:
        positions = check_bounds(index, x.shape[0] if x.ndim else 1).reshape(-1)
        return positions, np.broadcast_to(source.reshape(-1)[:1], positions.shape)
    positions = along(x.shape, axis, check_bounds(index, x.shape[axis], dim=axis))
    if source.ndim == 0:
        return positions.reshape(-1), np.broadcast_to(source, positions.size)
    return positions.reshape(-1), source[tuple(map(slice, index.shape))].reshape(-1)
