"""Reductions along dimensions that NumPy lacks, or has with other semantics than torch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dynreg_numpy.runtime._arrays import compute_dtype

if TYPE_CHECKING:
    from dynreg_numpy.runtime._arrays import Array, DType

__all__ = [
    "argmax",
    "argmin",
    "max_dim",
    "min_dim",
    "var",
    "vector_norm",
    "xor_of_bits",
]


def var(x: Array, axis: tuple[int, ...], correction: float, keepdims: bool = False) -> Array:
    """Variance, divided by the number of items less ``correction``, but by no less than zero."""
    count = math.prod(x.shape[a] for a in axis)
    # Not x.mean, which warns where there is nothing to take a mean of.
    deviation = x - x.sum(axis=axis, keepdims=True) / x.dtype.type(count)
    squares = (deviation * deviation.conj()).real if x.dtype.kind == "c" else deviation * deviation
    total = squares.sum(axis=axis, keepdims=keepdims)
    variance: Array = total / squares.dtype.type(max(count - correction, 0))
    return variance


def argmax(x: Array, axis: int | None, keepdims: bool) -> Array:
    """Index of the largest item, the first of equals; NaN is the largest."""
    return _index(np.argmax, x, axis, keepdims)


def argmin(x: Array, axis: int | None, keepdims: bool) -> Array:
    """Index of the smallest item, the first of equals; NaN is the smallest."""
    return _index(np.argmin, x, axis, keepdims)


def _index(function: Any, x: Any, axis: int | None, keepdims: bool) -> Array:
    x = np.asarray(x)
    if x.ndim == 0:
        return np.zeros((), np.int64)
    return np.asarray(function(x, axis=axis, keepdims=keepdims), np.int64)


def max_dim(x: Array, axis: int, keepdims: bool) -> tuple[Array, Array]:
    """Largest item along a dimension, and the index of the first of them."""
    return _item_and_index(np.argmax, x, axis, keepdims)


def min_dim(x: Array, axis: int, keepdims: bool) -> tuple[Array, Array]:
    """Smallest item along a dimension, and the index of the first of them."""
    return _item_and_index(np.argmin, x, axis, keepdims)


def _item_and_index(function: Any, x: Any, axis: int, keepdims: bool) -> tuple[Array, Array]:
    x = np.asarray(x)
    if x.ndim == 0:
        return x.copy(), np.zeros((), np.int64)
    where = np.asarray(function(x, axis=axis, keepdims=True), np.int64)
    items = np.take_along_axis(x, where, axis)
    return (items, where) if keepdims else (items.squeeze(axis), where.squeeze(axis))


def vector_norm(
    x: Array, order: float, axis: tuple[int, ...], keepdims: bool, dtype: DType
) -> Array:
    """Norm of vectors, as ``aten.linalg_vector_norm`` does.

    Args:
        x: floating or complex, any shape.
        order: p of the p-norm; 0 counts what is not zero, ±inf takes the largest or smallest.
        axis: dimensions to reduce.
        keepdims: whether they stay, of size one.
        dtype: dtype of the result, which is real.

    Returns:
        The norms.
    """
    if not x.ndim:
        axis = ()
    wide = compute_dtype(np.dtype(dtype))
    sizes = np.abs(x if x.dtype.kind == "c" else x.astype(wide, copy=False)).astype(
        wide, copy=False
    )
    # NumPy's annotation of reduce has no tuple of axes together with keepdims.
    add: Any = np.add
    norm: Any
    if order == 0:
        norm = np.count_nonzero(sizes, axis=axis, keepdims=keepdims)
    elif math.isinf(order):
        extreme: Any = np.maximum if order > 0 else np.minimum
        norm = extreme.reduce(sizes, axis=axis, keepdims=keepdims, initial=0 if order > 0 else None)
    elif order == 1:
        norm = add.reduce(sizes, axis=axis, keepdims=keepdims)
    elif order == 2:
        norm = np.sqrt(add.reduce(np.square(sizes), axis=axis, keepdims=keepdims))
    else:
        norm = add.reduce(sizes**order, axis=axis, keepdims=keepdims) ** (1 / order)
    return np.asarray(norm).astype(dtype)


def xor_of_bits(x: Array, axis: tuple[int, ...], keepdims: bool) -> Array:
    """Exclusive or of the bits of what is reduced, as ``aten.hash_tensor`` does in mode 0.

    Floating numbers count with their bits as float64, integers with theirs as int64.
    """
    wide = np.asarray(x).astype(np.float64 if x.dtype.kind not in "biu" else np.int64)
    axis = axis if x.ndim else ()
    xor: Any = np.bitwise_xor
    return np.asarray(xor.reduce(wide.view(np.uint64), axis=axis, keepdims=keepdims))
