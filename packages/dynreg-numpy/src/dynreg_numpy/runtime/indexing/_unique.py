"""Unique elements and slices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dynreg_numpy.runtime._arrays import widen, wrap_dim

if TYPE_CHECKING:
    from dynreg_numpy.runtime._arrays import Array


def unique(
    x: Array, is_sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Array, Array, Array]:
    """Return the unique elements, as ``aten._unique2`` does; NaN equals nothing.

    Args:
        x: any shape.
        is_sorted: ignored; the result is sorted, as torch's on a CPU is.
        return_inverse: compute the inverse.
        return_counts: compute the counts.

    Returns:
        The unique elements (u,); the int64 place of each element of ``x`` among them, like ``x``;
        how often each occurs (u,). What is not asked for is empty.
    """
    del is_sorted
    x = np.asarray(x)
    flat = x.reshape(-1)
    keys = widen(flat)
    order = keys.argsort(kind="stable")
    places, inverse, counts = _runs(keys[order][:, None], order)
    return (
        flat[places],
        inverse.reshape(x.shape) if return_inverse else _nothing(),
        counts if return_counts else _nothing(),
    )


def unique_consecutive(
    x: Array, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> tuple[Array, Array, Array]:
    """Drop elements that equal their predecessor, as ``aten.unique_consecutive`` does.

    Args:
        x: any shape.
        return_inverse: compute the inverse.
        return_counts: compute the counts.
        dim: drop equal slices of this dimension; None flattens.

    Returns:
        What is kept; the int64 place of each element, or slice, among it; how many each stands
        for. What is not asked for is empty.
    """
    x = np.asarray(x)
    if dim is not None:
        return unique_dim_consecutive(x, dim, return_inverse, return_counts)
    flat = x.reshape(-1)
    places, inverse, counts = _runs(widen(flat)[:, None], np.arange(x.size))
    return (
        flat[places],
        inverse.reshape(x.shape) if return_inverse else _nothing(),
        counts if return_counts else _nothing(),
    )


def unique_dim(
    x: Array,
    dim: int,
    is_sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> tuple[Array, Array, Array]:
    """Return the unique slices of ``dim``, in lexicographic order, as ``aten.unique_dim`` does.

    Args:
        x: one dimension or more.
        dim: the dimension whose slices are compared.
        is_sorted: ignored; torch always sorts.
        return_inverse: ignored; torch always computes the inverse.
        return_counts: ignored; torch always computes the counts.

    Returns:
        The unique slices; the int64 place of each slice among them (n,); how often each occurs.
    """
    del is_sorted, return_inverse, return_counts
    axis = wrap_dim(dim, x.ndim)
    rows = _slices(x, axis)
    order = np.lexsort(rows.T[::-1]) if rows.shape[1] else np.arange(len(rows))
    places, inverse, counts = _runs(rows[order], order)
    return np.take(x, places, axis), inverse, counts


def unique_dim_consecutive(
    x: Array, dim: int, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Array, Array, Array]:
    """Drop slices of ``dim`` that equal their predecessor, as ``aten.unique_dim_consecutive``.

    Args:
        x: one dimension or more.
        dim: the dimension whose slices are compared.
        return_inverse: ignored; torch always computes the inverse.
        return_counts: ignored; torch always computes the counts.

    Returns:
        See :func:`unique_dim`.
    """
    del return_inverse, return_counts
    axis = wrap_dim(dim, x.ndim)
    rows = _slices(x, axis)
    places, inverse, counts = _runs(rows, np.arange(len(rows)))
    return np.take(x, places, axis), inverse, counts


def _slices(x: Array, axis: int) -> Array:
    """Return the slices of ``axis`` as rows that NumPy can compare."""
    return widen(np.moveaxis(x, axis, 0)).reshape(x.shape[axis], -1)


def _runs(rows: Array, order: Array) -> tuple[Array, Array, Array]:
    """Find runs of equal ``rows``, which were brought in ``order`` from their places.

    Returns:
        The original place of the first row of each run, the run of each original place, and the
        lengths of the runs; int64.
    """
    count = len(rows)
    starts = np.ones(count, bool)
    starts[1:] = (rows[1:] != rows[:-1]).any(1)
    first = np.flatnonzero(starts)
    inverse = np.empty(count, np.int64)
    inverse[order] = np.cumsum(starts) - 1
    return order[first], inverse, np.diff(np.append(first, count)).astype(np.int64)


def _nothing() -> Array:
    return np.empty(0, np.int64)
