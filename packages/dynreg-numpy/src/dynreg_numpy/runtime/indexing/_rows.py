"""Writing whole slices of a dimension: index_add and its relatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dynreg_numpy.runtime._arrays import narrow, widen, wrap_dim
from dynreg_numpy.runtime.indexing._positions import check_bounds, select_bounds, wrap_index
from dynreg_numpy.runtime.indexing._reduce import add_rows, reduce_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from dynreg_numpy.runtime._arrays import Array


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
        values = values * np.asarray(alpha).astype(values.dtype)

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
        reduce_at(
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


def repeat_interleave(repeats: Array) -> Array:
    """Return each index as often as ``repeats`` (n,) says, as ``aten.repeat_interleave.Tensor``.

    Returns:
        (sum of repeats,) of the dtype of ``repeats``.

    Raises:
        RuntimeError: A number is negative.
    """
    if repeats.size and int(repeats.min()) < 0:
        raise RuntimeError("repeats can not be negative")
    return np.repeat(np.arange(repeats.size, dtype=repeats.dtype), repeats)
