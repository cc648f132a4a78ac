"""Writing along a dimension: scatter and index_add with their relatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dynreg_numpy.runtime._arrays import Array, narrow, widen, wrap_dim
from dynreg_numpy.runtime.indexing._positions import along, check_bounds, select_bounds, wrap_index

if TYPE_CHECKING:
    from collections.abc import Callable

    from dynreg_numpy.runtime._arrays import DType

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
    return scatter_reduce(x, dim, index, source, "sum")


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
    r"""Add ``values`` (n, \*width) to the ``rows`` (n,) of ``target``, which may repeat.

    Equal rows are brought together by a stable sort and summed, so that the additions run along
    the width; narrow rows go element by element.
    """
    count = len(rows)
    if not count or not target.size:
        return
    width = target[0].size
    if width < 8:
        for column in np.ndindex(target.shape[1:]):
            np.add.at(target[(slice(None), *column)], rows, values[(slice(None), *column)])
        return
    order = rows.argsort(kind="stable")
    ordered = rows[order]
    first = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    if len(first) == count:
        target[rows] += values
        return
    sums = np.add.reduceat(values[order], first, axis=0, dtype=target.dtype)
    target[ordered[first]] += sums
