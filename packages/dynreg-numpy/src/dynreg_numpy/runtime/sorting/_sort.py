"""Sorting, with NaN as the greatest, and what selects by rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dynreg_numpy.runtime._arrays import widen, wrap_dim
from dynreg_numpy.runtime.sorting import _selection as selection

if TYPE_CHECKING:
    from dynreg_numpy.runtime._arrays import Array


def sort(x: Array, dim: int = -1, descending: bool = False) -> tuple[Array, Array]:
    """Sort along ``dim``, stably, as ``aten.sort`` does on a CPU.

    Args:
        x: any shape; NaN counts as the greatest.
        dim: the dimension to sort.
        descending: the greatest first; equal elements keep their order all the same.

    Returns:
        The sorted values, and the int64 place where each was.
    """
    x = np.asarray(x)
    if x.ndim == 0:
        return x.copy(), np.zeros((), np.int64)
    axis = wrap_dim(dim, x.ndim)
    order = argsort(x, axis, descending=descending)
    return np.take_along_axis(x, order, axis), order


def argsort(x: Array, axis: int, *, descending: bool = False) -> Array:
    """Return the stable order of ``x`` along ``axis``, int64."""
    keys = widen(x)
    if keys.dtype.kind == "b":
        keys = keys.view(np.uint8)
    if not descending:
        return np.asarray(keys.argsort(axis, kind="stable"))
    # The stable order of the mirror image, mirrored, puts the greatest first and keeps ties.
    order = np.flip(np.flip(keys, axis).argsort(axis, kind="stable"), axis)
    return np.asarray(x.shape[axis] - 1 - order)


def topk(
    x: Array, k: int, dim: int = -1, largest: bool = True, is_sorted: bool = True
) -> tuple[Array, Array]:
    """Return the ``k`` greatest or smallest elements along ``dim``, as ``aten.topk`` does.

    Args:
        x: any shape; NaN counts as the greatest.
        k: how many.
        dim: the dimension.
        largest: the greatest, and not the smallest.
        is_sorted: in order; if not, rows of up to 1,024 elements come in the order that torch
            leaves them in, and longer ones sorted.

    Returns:
        The elements, and the int64 place of each.

    Raises:
        RuntimeError: the dimension has fewer elements.
    """
    x = np.asarray(x)
    axis = wrap_dim(dim, x.ndim)
    length = x.shape[axis] if x.ndim else 1
    if not 0 <= k <= length:
        raise RuntimeError("selected index k out of range")
    if x.ndim == 0:
        return x.copy(), np.zeros((), np.int64)
    rows = np.moveaxis(x, axis, -1)
    order = _first(rows, k, largest=largest)
    if k and length <= selection.LONGEST:
        _follow_torch(rows, order, k, largest=largest, is_sorted=is_sorted)
    order = np.moveaxis(order, -1, axis)
    return np.take_along_axis(x, order, axis), np.ascontiguousarray(order)


def _first(rows: Array, k: int, *, largest: bool) -> Array:
    """Return the places of the first ``k`` elements along the last axis, in order."""
    length = rows.shape[-1]
    if length <= selection.LONGEST or k * 4 > length or k == 0:
        return np.ascontiguousarray(argsort(rows, -1, descending=largest)[..., :k])
    # A partition in linear time, and a sort of what it found.
    keys = widen(rows)
    if largest:
        chosen = np.sort(keys.argpartition(length - k, -1)[..., length - k :], -1)
    else:
        chosen = np.sort(keys.argpartition(k - 1, -1)[..., :k], -1)
    order = argsort(np.take_along_axis(keys, chosen, -1), -1, descending=largest)
    return np.take_along_axis(chosen, order, -1)


def _follow_torch(rows: Array, order: Array, k: int, *, largest: bool, is_sorted: bool) -> None:
    """Change ``order`` (…, k) to what torch's unstable algorithm gives, in rows with ties."""
    length = rows.shape[-1]
    chosen = np.take_along_axis(rows, order, -1)
    tied = _tied(rows, chosen) if is_sorted else np.ones(rows.shape[:-1], bool)
    for at in map(tuple, np.argwhere(tied)):
        items = list(enumerate(widen(rows[at]).tolist()))
        less = _greater if largest else _less
        if k * 64 <= length:
            selection.partial_sort(items, k, less)
        else:
            selection.nth_element(items, k - 1, less)
            if is_sorted:
                selection.sort(items, k - 1, less)
        order[at] = [place for place, _ in items[:k]]


def _tied(rows: Array, chosen: Array) -> Array:
    """Return whether one of the ``chosen``, which are sorted, equals another of its row."""
    tied = (chosen[..., 1:] == chosen[..., :-1]).any(-1)
    tied |= (rows == chosen[..., -1:]).sum(-1) > 1
    if rows.dtype.kind not in "iub":
        tied |= np.isnan(widen(rows)).sum(-1) > 1
    return np.asarray(tied)


def _less(a: tuple[int, Any], b: tuple[int, Any]) -> bool:
    """Compare (place, value) by value, with NaN as the greatest."""
    x, y = a[1], b[1]
    return bool((x == x and y != y) or x < y)  # noqa: PLR0124 - NaN alone differs from itself


def _greater(a: tuple[int, Any], b: tuple[int, Any]) -> bool:
    return _less(b, a)


def kthvalue(x: Array, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Array, Array]:
    """Return the ``k``-th smallest element along ``dim``, as ``aten.kthvalue`` does.

    Args:
        x: any shape; NaN counts as the greatest.
        k: the rank, from 1.
        dim: the dimension.
        keepdim: keep it with length one.

    Returns:
        The elements, and the int64 place of each.

    Raises:
        RuntimeError: the dimension has fewer elements.
    """
    x = np.asarray(x)
    axis = wrap_dim(dim, x.ndim)
    if not 1 <= k <= (x.shape[axis] if x.ndim else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {axis}")

    rows, order = _rank(x, axis, np.asarray(k - 1))
    values = np.take_along_axis(rows, order, -1)
    if rows.shape[-1] <= selection.LONGEST:
        for at in map(tuple, np.argwhere(_tied(rows, values))):
            items = list(enumerate(widen(rows[at]).tolist()))
            selection.quickselect(items, k - 1, _greater)
            order[at] = items[k - 1][0]
    return _unmoved(rows, order, axis, keepdim=keepdim, scalar=x.ndim == 0)


def _rank(x: Array, axis: int, rank: Array) -> tuple[Array, Array]:
    """Return ``x`` with ``axis`` last, and the place there of the element of ``rank``, (…, 1)."""
    rows = np.moveaxis(x.reshape(1) if x.ndim == 0 else x, axis, -1)
    if rank.ndim == 0 and rows.shape[-1] > selection.LONGEST:
        return rows, _stable_place(widen(rows), int(rank))
    ranks = np.broadcast_to(rank, rows.shape[:-1])[..., None]
    return rows, np.take_along_axis(argsort(rows, -1), ranks, -1)


def _stable_place(keys: Array, rank: int) -> Array:
    """Return where a stable sort takes the element of ``rank`` from, in linear time."""
    value = np.partition(keys, rank, -1)[..., rank : rank + 1]
    equal = keys == value
    below = keys < value
    if keys.dtype.kind == "f":
        nans = np.isnan(keys)
        equal |= nans & np.isnan(value)
        below |= np.isnan(value) & ~nans
    which = rank + 1 - below.sum(-1, keepdims=True)
    return np.asarray((equal.cumsum(-1) == which).argmax(-1)[..., None])


def _unmoved(
    rows: Array, order: Array, axis: int, *, keepdim: bool, scalar: bool
) -> tuple[Array, Array]:
    """Return the elements at ``order`` (…, 1), and ``order``, with the axis where it was."""
    values = np.take_along_axis(rows, order, -1)
    if scalar or not keepdim:
        return values[..., 0], order[..., 0]
    return np.moveaxis(values, -1, axis), np.moveaxis(order, -1, axis)


def median(x: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
    """Return the lower median along ``dim``, as ``aten.median.dim`` does.

    Args:
        x: any shape.
        dim: the dimension.
        keepdim: keep it with length one.

    Returns:
        The medians, and the int64 place of each: of the first NaN where there is one.
    """
    return _median(np.asarray(x), dim, ignore_nan=False, keepdim=keepdim)


def nanmedian(x: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
    """Return the lower median of what is not NaN along ``dim``, as ``aten.nanmedian.dim`` does.

    Args:
        x: any shape.
        dim: the dimension.
        keepdim: keep it with length one.

    Returns:
        The medians, and the int64 place of each: NaN, and its first place, where all are NaN.
    """
    return _median(np.asarray(x), dim, ignore_nan=True, keepdim=keepdim)


def _median(x: Array, dim: int, *, ignore_nan: bool, keepdim: bool) -> tuple[Array, Array]:
    axis = wrap_dim(dim, x.ndim)
    length = x.shape[axis] if x.ndim else 1
    rank: Array = np.asarray((length - 1) // 2)
    nans = np.isnan(widen(x)) if x.dtype.kind not in "iub" else np.zeros(x.shape, bool)
    if nans.any():
        valid = length - nans.sum(axis)
        # NaN sorts last, so that its first place has the rank of the number of others.
        others = np.maximum(valid - 1, 0) // 2 if ignore_nan else rank
        rank = np.where(nans.any(axis) & ((not ignore_nan) | (valid == 0)), valid, others)
    rows, order = _rank(x, axis, rank)
    return _unmoved(rows, order, axis, keepdim=keepdim, scalar=x.ndim == 0)


def full_median(x: Array) -> Array:
    """Return the lower median of all elements, (), as ``aten.median`` does; NaN if one is NaN."""
    flat = np.asarray(x).reshape(-1)
    if not flat.size:
        return np.asarray(np.nan).astype(flat.dtype)
    wide = widen(flat)
    place = (flat.size - 1) // 2
    if wide.dtype.kind == "f" and np.isnan(wide).any():
        return np.asarray(wide.dtype.type(np.nan)).astype(flat.dtype)
    return np.asarray(np.partition(wide, place)[place]).astype(flat.dtype)


def full_nanmedian(x: Array) -> Array:
    """Return the lower median of what is not NaN, (), as ``aten.nanmedian`` does."""
    flat = np.asarray(x).reshape(-1)
    if flat.dtype.kind in "iub":
        return full_median(flat)
    kept = flat[~np.isnan(widen(flat))]
    return full_median(kept)


def mode(x: Array, dim: int = -1, keepdim: bool = False) -> tuple[Array, Array]:
    """Return the most frequent element along ``dim``, the smallest of several: ``aten.mode``.

    Args:
        x: any shape.
        dim: the dimension.
        keepdim: keep it with length one.

    Returns:
        The elements, and the int64 place where each last occurs.
    """
    x = np.asarray(x)
    axis = wrap_dim(dim, x.ndim)
    rows = np.moveaxis(x.reshape(1) if x.ndim == 0 else x, axis, -1)
    order = argsort(rows, -1)
    ordered = np.take_along_axis(rows, order, -1)
    places = np.arange(rows.shape[-1])
    starts = np.ones(rows.shape, bool)
    starts[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    begin = np.maximum.accumulate(np.where(starts, places, 0), -1)
    # The length of a run stands complete at its end; the first of the longest is the smallest.
    last = (places - begin).argmax(-1)[..., None]
    index = np.take_along_axis(order, last, -1)
    if rows.shape[-1] <= selection.LONGEST:
        _follow_introsort(rows, index, np.take_along_axis(ordered, last, -1))
    return _unmoved(rows, index, axis, keepdim=keepdim, scalar=x.ndim == 0)


def _follow_introsort(rows: Array, index: Array, values: Array) -> None:
    """Change ``index`` to where torch's introsort leaves the last of the equal elements."""
    if rows.shape[-1] <= 16:
        return  # an insertion sort, which is stable
    for at in np.ndindex(rows.shape[:-1]):
        items = list(enumerate(widen(rows[at]).tolist()))
        selection.sort(items, len(items), _less)
        found = [place for place, value in items if value == values[at][0]]
        if found:
            index[at] = found[-1]
