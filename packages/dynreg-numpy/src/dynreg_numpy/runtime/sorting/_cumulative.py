"""Cumulative operations along a dimension."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from dynreg_numpy.runtime._arrays import narrow, widen, wrap_dim

if TYPE_CHECKING:
    from dynreg_numpy.runtime._arrays import Array, DType

#: torch sums on a CPU in the next wider type, and rounds each element.
_WIDER = {
    np.dtype(np.float32): np.dtype(np.float64),
    np.dtype(np.complex64): np.dtype(np.complex128),
}


def cumsum(x: Array, dim: int, dtype: DType | None = None) -> Array:
    """Return the sums of all elements up to each along ``dim``, as ``aten.cumsum`` does.

    Args:
        x: any shape.
        dim: the dimension.
        dtype: the dtype of the result; None for int64 of integers, else that of ``x``.

    Returns:
        An array of the shape of ``x``.
    """
    return _accumulate(np.add, x, dim, dtype)


def cumprod(x: Array, dim: int, dtype: DType | None = None) -> Array:
    """Return the products of all elements up to each along ``dim``, as ``aten.cumprod`` does.

    Args:
        x: any shape.
        dim: the dimension.
        dtype: the dtype of the result; None for int64 of integers, else that of ``x``.

    Returns:
        An array of the shape of ``x``.
    """
    return _accumulate(np.multiply, x, dim, dtype)


def _accumulate(ufunc: np.ufunc, x: Array, dim: int, dtype: DType | None) -> Array:
    x = np.asarray(x)
    if dtype is None:
        dtype = np.dtype(np.int64) if x.dtype.kind in "iub" else x.dtype
    axis = wrap_dim(dim, x.ndim)
    values = widen(x.astype(dtype, copy=False))
    if x.ndim == 0:
        return narrow(values.copy(), dtype)
    wide = values.dtype if x.dtype != values.dtype else _WIDER.get(values.dtype, values.dtype)
    return narrow(ufunc.accumulate(values, axis, dtype=wide), dtype)


def cummax(x: Array, dim: int) -> tuple[Array, Array]:
    """Return the greatest element so far along ``dim``, as ``aten.cummax`` does.

    Args:
        x: any shape.
        dim: the dimension.

    Returns:
        The values, NaN from the first NaN on; and the int64 place of each, the last of equals.
    """
    return _extremum(np.maximum, x, dim)


def cummin(x: Array, dim: int) -> tuple[Array, Array]:
    """Return the smallest element so far along ``dim``, as ``aten.cummin`` does.

    Args:
        x: any shape.
        dim: the dimension.

    Returns:
        The values, NaN from the first NaN on; and the int64 place of each, the last of equals.
    """
    return _extremum(np.minimum, x, dim)


def _extremum(ufunc: np.ufunc, x: Array, dim: int) -> tuple[Array, Array]:
    x = np.asarray(x)
    axis = wrap_dim(dim, x.ndim)
    if x.ndim == 0:
        return x.copy(), np.zeros((), np.int64)
    wide = widen(x)
    values = ufunc.accumulate(wide, axis)
    hits = wide == values
    if wide.dtype.kind == "f":
        hits |= np.isnan(wide)
    places = np.arange(x.shape[axis]).reshape(-1, *(1,) * (x.ndim - 1 - axis))
    index = np.maximum.accumulate(np.where(hits, places, 0), axis)
    return narrow(values, x.dtype), index


def _complex_logcumsumexp(x: Array, axis: int) -> Array:
    """Step by step, because the angle of the greater term counts: it is not brought to ±π."""
    result = x.copy()
    steps = np.moveaxis(result, axis, 0)
    for before, here in itertools.pairwise(steps):
        less = here.real < before.real
        low, high = np.where(less, here, before), np.where(less, before, here)
        here[...] = np.log1p(np.exp(low - high)) + high
    return result


def logcumsumexp(x: Array, dim: int) -> Array:
    """Return log(cumsum(exp(x))) along ``dim``, as ``aten.logcumsumexp`` does.

    Args:
        x: floating or complex, any shape.
        dim: the dimension.

    Returns:
        An array like ``x``.
    """
    x = np.asarray(x)
    axis = wrap_dim(dim, x.ndim)
    if x.ndim == 0 or not x.size:
        return x.copy()
    wide = widen(x)
    if wide.dtype.kind == "c":
        return _complex_logcumsumexp(wide, axis)
    exact = wide.astype(_WIDER.get(wide.dtype, wide.dtype), copy=False)
    return narrow(np.logaddexp.accumulate(exact, axis), x.dtype)
