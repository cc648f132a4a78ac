"""Softmax, its logarithm, and the logarithm of a sum of exponentials."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dynreg_numpy.runtime._arrays import Array, narrow, widen, workspace, wrap_dim
from dynreg_numpy.runtime._blocks import blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dynreg_numpy.runtime._arrays import DType

#: Elements up to which calls cost more than passes over memory.
_SMALL = 8192


def softmax(x: Array, dim: int, half_to_float: bool = False, *, out: Array | None = None) -> Array:
    """Return exp(x) / sum(exp(x)) along ``dim``, as ``aten._softmax`` does.

    Args:
        x: floating, any shape.
        dim: the dimension that sums to one.
        half_to_float: return float32 for a narrow ``x``.
        out: where to put the result.

    Returns:
        An array of the shape of ``x``; NaN where the whole slice is -inf or it holds inf or NaN.
    """
    return _along(_softmax_block, (x,), dim, _result_dtype(x, half_to_float), out)


def log_softmax(
    x: Array, dim: int, half_to_float: bool = False, *, out: Array | None = None
) -> Array:
    """Return log(softmax(x)) along ``dim``, as ``aten._log_softmax`` does.

    Args:
        x: floating, any shape.
        dim: the dimension whose exponentials sum to one.
        half_to_float: return float32 for a narrow ``x``.
        out: where to put the result.

    Returns:
        An array of the shape of ``x``.
    """
    return _along(_log_softmax_block, (x,), dim, _result_dtype(x, half_to_float), out)


def softmax_backward(
    grad: Array, output: Array, dim: int, dtype: DType | None = None, *, out: Array | None = None
) -> Array:
    """Return the gradient of :func:`softmax`, as ``aten._softmax_backward_data`` does.

    Args:
        grad: the gradient of the result.
        output: the result.
        dim: see :func:`softmax`.
        dtype: the dtype of the forward's input; that of ``grad`` if None.
        out: where to put the result.

    Returns:
        (grad - sum(grad * output)) * output, along ``dim``.
    """
    return _along(_softmax_backward_block, (grad, output), dim, dtype or grad.dtype, out)


def log_softmax_backward(
    grad: Array, output: Array, dim: int, dtype: DType | None = None, *, out: Array | None = None
) -> Array:
    """Return the gradient of :func:`log_softmax`, as ``aten._log_softmax_backward_data`` does.

    Args:
        grad: the gradient of the result.
        output: the result.
        dim: see :func:`log_softmax`.
        dtype: the dtype of the forward's input; that of ``grad`` if None.
        out: where to put the result.

    Returns:
        grad - exp(output) * sum(grad), along ``dim``.
    """
    return _along(_log_softmax_backward_block, (grad, output), dim, dtype or grad.dtype, out)


def logsumexp(x: Array, dims: Sequence[int], keepdim: bool = False) -> Array:
    """Return log(sum(exp(x))) over ``dims``, as ``aten.logsumexp`` does.

    Args:
        x: floating or complex, any shape.
        dims: the dimensions to sum over; none means all.
        keepdim: keep them with length one.

    Returns:
        The reduced array, in the dtype of ``x``.
    """
    wide = widen(x)
    axes = tuple(wrap_dim(d, x.ndim) for d in dims) if x.ndim else ()
    axes = axes or tuple(range(x.ndim))
    if wide.size == 0:
        empty = np.log(np.exp(wide).sum(axes, keepdims=keepdim))
        return narrow(np.asarray(empty), x.dtype)
    top = wide.real.max(axes, keepdims=True)
    top = np.where(np.isinf(top), 0, top)
    total = np.asarray(np.exp(wide - top).sum(axes, keepdims=keepdim))
    result = np.log(total, out=total)
    result += top if keepdim else top.reshape(result.shape)
    return narrow(result, x.dtype)


def _result_dtype(x: Array, half_to_float: bool) -> DType:
    return np.dtype(np.float32) if half_to_float else x.dtype


def _along(
    kernel: Callable[..., None],
    inputs: tuple[Array, ...],
    dim: int,
    dtype: DType,
    out: Array | None,
) -> Array:
    """Call ``kernel(*inputs, out, axis)``, for large arrays in blocks of the outer dimensions."""
    shape = inputs[0].shape
    axis = wrap_dim(dim, len(shape))
    wide = [widen(array) for array in inputs]
    result = workspace(out, shape, wide[0].dtype)
    if 0 < result.size <= _SMALL and shape:
        kernel(*wide, result, axis)
    elif result.size:
        length = shape[axis] if shape else 1
        outer, inner = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
        # Rows of the last dimension have a fast path of their own in NumPy and in BLAS.
        blocked = (outer, length) if inner == 1 else (outer, length, inner)
        wide = [array.reshape(blocked) for array in wide]
        target = result.reshape(blocked)
        for at in blocks(outer, length * inner * target.itemsize):
            kernel(*(array[at] for array in wide), target[at], 1)
    return narrow(result, dtype, out)


def _sum(x: Array, axis: int) -> Array:
    """Sum along ``axis``, keeping it; many rows as a product with ones, which BLAS runs."""
    if x.size > _SMALL and x.ndim == 2 and x.dtype.kind == "f":
        return np.asarray(np.matmul(x, np.ones((x.shape[1], 1), x.dtype)))
    return np.asarray(np.add.reduce(x, axis=axis, keepdims=True))


def exponentials_fit(top: Array) -> bool:
    """Whether exponentials neither overflow nor vanish, given the maximum of each row.

    With every maximum in [-30, 60], exp(x) of the largest element is a normal float32, and a sum
    of 10¹² of them is finite: subtracting the maxima would be a pass over memory for nothing.
    """
    return bool(top.min() >= -30) and bool(top.max() <= 60)


def _shifted(x: Array, out: Array, axis: int) -> Array:
    """Return ``x`` less its maxima, in ``out``; or ``x`` where there is no need to."""
    top = np.maximum.reduce(x, axis=axis, keepdims=True)
    if x.size > _SMALL and exponentials_fit(top):
        return x
    return np.subtract(x, top, out=out)


def _softmax_block(x: Array, out: Array, axis: int) -> None:
    np.exp(_shifted(x, out, axis), out=out)
    out *= 1 / _sum(out, axis)


def _log_softmax_block(x: Array, out: Array, axis: int) -> None:
    source = _shifted(x, out, axis)
    np.subtract(source, np.log(_sum(np.exp(source), axis)), out=out)


def _softmax_backward_block(grad: Array, output: Array, out: Array, axis: int) -> None:
    product = np.multiply(grad, output, out=out)
    product -= output * _sum(product, axis)


def _log_softmax_backward_block(grad: Array, output: Array, out: Array, axis: int) -> None:
    np.exp(output, out=out)
    out *= _sum(grad, axis)
    np.subtract(grad, out, out=out)
