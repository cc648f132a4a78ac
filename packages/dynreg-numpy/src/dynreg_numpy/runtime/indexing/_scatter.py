"""Writing along a dimension: scatter and index_add with their relatives."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dynreg_numpy.runtime._arrays import Array, narrow, widen, wrap_dim
from dynreg_numpy.runtime.indexing._positions import (
    along,
    check_bounds,
    select_bounds,
    whole_rows,
    wrap_index,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from dynreg_numpy.runtime._arrays import DType

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
    _reduce_at(flat, positions, values, reduce, include_self=include_self)
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


def _reduce_at(
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


def index_add(x: Array, dim: int, index: Array, source: Array, alpha: Any = 1) -> Array:
    """Copy ``x`` with ``alpha * source`` added at ``index`` of ``dim``, as ``aten.index_add``.

    Args:
        x: any shape.
        dim: the dimension that ``index`` counts in.
        index: integer, (n,) or ().
        source: ``x`` with n entries in ``dim``.
        alpha: a factor for ``source``.

    Returns:
        An array like ``x``.

    Raises:
        RuntimeError: an index is outside the dimension.
    """
    x = np.asarray(x)
    values = widen(np.asarray(source))
    if alpha != 1:
        values = values * values.dtype.type(alpha)

    def write(rows: Array, entries: Array, values: Array) -> None:
        add_rows(rows, check_bounds(entries, rows.shape[0], dim=wrap_dim(dim, x.ndim)), values)

    return _on_rows(write, x, dim, index, values)


def index_copy(x: Array, dim: int, index: Array, source: Array) -> Array:
    """Copy ``x`` with ``source`` written at ``index`` of ``dim``, as ``aten.index_copy`` does.

    Args:
        x: any shape.
        dim: the dimension that ``index`` counts in.
        index: integer, (n,) or ().
        source: ``x`` with n entries in ``dim``.

    Returns:
        An array like ``x``.

    Raises:
        IndexError: an index is outside the dimension.
    """

    def write(rows: Array, entries: Array, values: Array) -> None:
        rows[select_bounds(entries, rows.shape[0])] = values

    return _on_rows(write, np.asarray(x), dim, index, np.asarray(source))


def index_fill(x: Array, dim: int, index: Array, value: Any) -> Array:
    """Copy ``x`` with ``value`` written at ``index`` of ``dim``, as ``aten.index_fill`` does.

    Args:
        x: any shape.
        dim: the dimension that ``index`` counts in.
        index: integer, (n,) or (); negative counts from the end.
        value: one value.

    Returns:
        An array like ``x``.

    Raises:
        IndexError: an index is outside the dimension.
    """

    def write(rows: Array, entries: Array, values: Array) -> None:
        rows[wrap_index(entries, rows.shape[0], dim=wrap_dim(dim, np.ndim(x)))] = values

    return _on_rows(write, np.asarray(x), dim, index, np.asarray(value).reshape(()))


def index_reduce(
    x: Array, dim: int, index: Array, source: Array, reduce: str, include_self: bool = True
) -> Array:
    """Copy ``x`` with ``source`` reduced into it at ``index`` of ``dim``: ``aten.index_reduce``.

    Args:
        x: any shape.
        dim: the dimension that ``index`` counts in.
        index: integer, (n,) or ().
        source: ``x`` with n entries in ``dim``.
        reduce: "prod", "mean", "amax" or "amin".
        include_self: count the values of ``x`` at the places that are written.

    Returns:
        An array like ``x``; a mean of integers is rounded down.

    Raises:
        IndexError: an index is outside the dimension.
    """

    def write(rows: Array, entries: Array, values: Array) -> None:
        entries = select_bounds(entries, rows.shape[0])
        width = rows.size // max(1, len(rows))
        flat = np.ascontiguousarray(rows).reshape(-1)
        positions = entries[:, None] * width + np.arange(width)
        _reduce_at(
            flat, positions.reshape(-1), values.reshape(-1), reduce, include_self=include_self
        )
        rows[...] = flat.reshape(rows.shape)

    return _on_rows(write, np.asarray(x), dim, index, widen(np.asarray(source)))


def _on_rows(
    write: Callable[[Array, Array, Array], None], x: Array, dim: int, index: Array, source: Array
) -> Array:
    """Copy ``x``, and call ``write`` on it and ``source`` with ``dim`` as their first axis."""
    result = np.array(widen(x), order="C")
    axis = wrap_dim(dim, x.ndim)
    entries = np.asarray(index).reshape(-1)
    rows = result.reshape(1) if x.ndim == 0 else np.moveaxis(result, axis, 0)
    if source.ndim and x.ndim:
        source = np.moveaxis(source, axis, 0)
    elif x.ndim == 0:
        source = source.reshape(-1)
    write(rows, entries, source)
    return narrow(result, x.dtype)


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
