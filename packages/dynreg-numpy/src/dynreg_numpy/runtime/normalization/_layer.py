"""Layer normalisation and RMS normalisation: statistics of each row."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

import numpy as np

from dynreg_numpy.runtime._arrays import Array, narrow, widen, workspace
from dynreg_numpy.runtime._blocks import blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dynreg_numpy.runtime._arrays import DType


def layer_norm(
    x: Array,
    normalized_shape: Sequence[int],
    weight: Array | None,
    bias: Array | None,
    eps: float,
    *,
    out: Array | None = None,
) -> tuple[Array, Array, Array]:
    r"""Normalise as ``aten.native_layer_norm`` does.

    J. L. Ba, J. R. Kiros, G. E. Hinton, "Layer Normalization", 2016 (arXiv:1607.06450). The
    variance is taken around the mean in a second pass, which the block's stay in cache makes cheap.

    Args:
        x: (\*lead, \*normalized_shape).
        normalized_shape: the trailing shape that statistics are taken over.
        weight: (\*normalized_shape) or None.
        bias: (\*normalized_shape) or None.
        eps: added to the variance.
        out: where to put the result.

    Returns:
        The result in the dtype of ``x``; mean and 1 / standard deviation, (\*lead, 1, …), in the
        dtype of the weight if there is one.
    """
    wide, rows, width = _rows(x, normalized_shape)
    scale, shift = _flat(weight), _flat(bias)
    result = workspace(out, x.shape, wide.dtype)
    target = result.reshape(rows, width)
    mean, rstd = np.empty(rows, wide.dtype), np.empty(rows, wide.dtype)
    for at in blocks(rows, width * wide.itemsize):
        block, spread = target[at], rstd[at]
        np.matmul(wide[at], _average(width, wide.dtype), out=mean[at])
        np.subtract(wide[at], mean[at, None], out=block)
        np.divide(np.vecdot(block, block), width, out=spread)
        spread += eps
        np.sqrt(spread, out=spread)
        np.reciprocal(spread, out=spread)
        block *= spread[:, None]
        if scale is not None:
            block *= scale
        if shift is not None:
            block += shift
    stat_shape = _stat_shape(x, normalized_shape)
    stat_dtype = x.dtype if weight is None else weight.dtype
    return (
        narrow(result, x.dtype, out),
        narrow(mean, stat_dtype).reshape(stat_shape),
        narrow(rstd, stat_dtype).reshape(stat_shape),
    )


@functools.lru_cache(maxsize=64)
def _average(width: int, dtype: DType) -> Array:
    """Return the vector by which a row is multiplied to get its mean."""
    return np.full(width, 1 / max(width, 1), dtype)


def layer_norm_backward(
    grad: Array,
    x: Array,
    normalized_shape: Sequence[int],
    mean: Array,
    rstd: Array,
    weight: Array | None,
    bias: Array | None,
    output_mask: Sequence[bool],
) -> tuple[Array | None, Array | None, Array | None]:
    """Return the gradients of :func:`layer_norm`, as ``aten.native_layer_norm_backward`` does.

    Args:
        grad: the gradient of the result.
        x: the input.
        normalized_shape: see :func:`layer_norm`.
        mean: the mean that the forward returned.
        rstd: 1 / standard deviation that the forward returned.
        weight: the weight or None.
        bias: ignored; the mask says whether its gradient is wanted.
        output_mask: which of the gradients to compute: of input, weight, bias.

    Returns:
        The gradients of input, weight and bias; None where the mask is false.
    """
    del bias
    wide, rows, width = _rows(x, normalized_shape)
    grads = widen(grad).reshape(rows, width)
    centre, spread = widen(mean).reshape(rows), widen(rstd).reshape(rows)
    scale = _flat(weight)
    result = np.empty((rows, width), wide.dtype) if output_mask[0] else None
    grad_weight, grad_bias = np.zeros((2, width), wide.dtype)
    for at in blocks(rows, width * wide.itemsize):
        normal = np.subtract(wide[at], centre[at, None])
        normal *= spread[at, None]
        if output_mask[1]:
            grad_weight += np.einsum("mn,mn->n", grads[at], normal)
        if output_mask[2]:
            grad_bias += grads[at].sum(0)
        if result is None:
            continue
        block = result[at]
        np.multiply(grads[at], 1 if scale is None else scale, out=block)
        mean_grad = block.sum(1, keepdims=True) / width
        normal *= (np.vecdot(block, normal) / width)[:, None]
        block -= normal
        block -= mean_grad
        block *= spread[at, None]
    parameter = x.dtype if weight is None else weight.dtype
    shape = tuple(normalized_shape)
    return (
        None if result is None else narrow(result, x.dtype).reshape(x.shape),
        narrow(grad_weight, parameter).reshape(shape) if output_mask[1] else None,
        narrow(grad_bias, parameter).reshape(shape) if output_mask[2] else None,
    )


def rms_norm(
    x: Array,
    normalized_shape: Sequence[int],
    weight: Array | None,
    eps: float | None,
    *,
    out: Array | None = None,
) -> tuple[Array, Array]:
    r"""Normalise as ``aten._fused_rms_norm`` does.

    B. Zhang, R. Sennrich, "Root Mean Square Layer Normalization", 2019 (arXiv:1910.07467).

    Args:
        x: (\*lead, \*normalized_shape).
        normalized_shape: the trailing shape that the mean square is taken over.
        weight: (\*normalized_shape) or None.
        eps: added to the mean square; None means the dtype's epsilon.
        out: where to put the result.

    Returns:
        The result in the dtype of ``x``, and 1 / root mean square, (\*lead, 1, …), in the dtype
        that torch computes in.
    """
    wide, rows, width = _rows(x, normalized_shape)
    scale = _flat(weight)
    result = workspace(out, x.shape, wide.dtype)
    target = result.reshape(rows, width)
    rstd = np.empty(rows, wide.dtype)
    added = float(np.finfo(wide.dtype).eps) if eps is None else eps
    for at in blocks(rows, width * wide.itemsize):
        rstd[at] = 1 / np.sqrt(np.vecdot(wide[at], wide[at]) / width + added)
        block = np.multiply(wide[at], rstd[at, None], out=target[at])
        if scale is not None:
            block *= scale
    return narrow(result, x.dtype, out), rstd.reshape(_stat_shape(x, normalized_shape))


def rms_norm_backward(
    grad: Array,
    x: Array,
    normalized_shape: Sequence[int],
    rstd: Array,
    weight: Array | None,
    output_mask: Sequence[bool],
) -> tuple[Array | None, Array | None]:
    """Return the gradients of :func:`rms_norm`, as ``aten._fused_rms_norm_backward`` does.

    Args:
        grad: the gradient of the result.
        x: the input.
        normalized_shape: see :func:`rms_norm`.
        rstd: 1 / root mean square that the forward returned.
        weight: the weight or None.
        output_mask: which of the gradients to compute: of input, weight.

    Returns:
        The gradients of input and weight; None where the mask is false.
    """
    wide, rows, width = _rows(x, normalized_shape)
    grads = widen(grad).reshape(rows, width)
    spread = widen(rstd).reshape(rows)
    scale = _flat(weight)
    result = np.empty((rows, width), wide.dtype) if output_mask[0] else None
    grad_weight = np.zeros(width, wide.dtype)
    for at in blocks(rows, width * wide.itemsize):
        normal = wide[at] * spread[at, None]
        if output_mask[1]:
            grad_weight += np.einsum("mn,mn->n", grads[at], normal)
        if result is None:
            continue
        block = np.multiply(grads[at], 1 if scale is None else scale, out=result[at])
        normal *= (np.vecdot(block, normal) / width)[:, None]
        block -= normal
        block *= spread[at, None]
    shape = tuple(normalized_shape)
    parameter = x.dtype if weight is None else weight.dtype
    return (
        None if result is None else narrow(result, x.dtype).reshape(x.shape),
        narrow(grad_weight, parameter).reshape(shape) if output_mask[1] else None,
    )


def _rows(x: Array, normalized_shape: Sequence[int]) -> tuple[Array, int, int]:
    """Return ``x`` in its compute dtype as (rows, width)."""
    width = math.prod(normalized_shape)
    rows = math.prod(x.shape[: x.ndim - len(normalized_shape)])
    return widen(x).reshape(rows, width), rows, width


def _flat(parameter: Array | None) -> Array | None:
    return None if parameter is None else widen(parameter).reshape(-1)


def _stat_shape(x: Array, normalized_shape: Sequence[int]) -> tuple[int, ...]:
    dims = len(normalized_shape)
    return (*x.shape[: x.ndim - dims], *(1,) * dims)
