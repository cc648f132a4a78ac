"""``aten.convolution`` and ``aten.convolution_backward``."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from dynreg_numpy.runtime._arrays import Array, as_tuple, empty, is_channels_last, narrow, widen
from dynreg_numpy.runtime.convolution._adjoint import (
    input_adjoint,
    volumetric_weight_adjoint,
    weight_adjoint,
)
from dynreg_numpy.runtime.convolution._correlate import correlate
from dynreg_numpy.runtime.convolution._geometry import Geometry, Ints

if TYPE_CHECKING:
    from collections.abc import Sequence


def convolution(
    x: Array,
    weight: Array,
    bias: Array | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    *,
    out: Array | None = None,
) -> Array:
    r"""Convolve as ``aten.convolution`` does.

    Args:
        x: the input (N, C, \*size), with one to three spatial dimensions.
        weight: (O, C / groups, \*kernel), or (C, O / groups, \*kernel) if transposed. For a
            channels-last ``x``, a weight that is channels-last too saves a copy.
        bias: (O,) or None.
        stride: one step per spatial dimension, or one for all.
        padding: zeros on both sides of each spatial dimension.
        dilation: distance between taps.
        transposed: compute the transposed convolution, the adjoint of the plain one.
        output_padding: extra size at the end of each spatial dimension, if transposed.
        groups: number of groups that the channels are split into.
        out: where to put the result, C-contiguous or channels-last.

    Returns:
        (N, O, \*out_size), in the dtype of ``x``. If ``out`` is None, it is channels-last in memory
        where ``x`` is, and C-contiguous otherwise.

    Raises:
        RuntimeError: the kernel is larger than the padded input.
    """
    g = _geometry(
        x.shape,
        weight.shape,
        tuple(stride),
        tuple(padding),
        tuple(dilation),
        tuple(output_padding) if transposed else None,
        groups,
    )
    if out is None:
        channels, size = (g.in_channels, g.in_size) if transposed else (g.out_channels, g.out_size)
        out = empty((g.batch, channels, *size), x.dtype, channels_last=is_channels_last(x))
    wide, wide_weight = widen(x), widen(weight)
    wide_bias = None if bias is None else widen(bias)
    if transposed:
        dense = out.flags.c_contiguous and out.dtype == wide.dtype
        result = out if dense else np.empty(out.shape, wide.dtype)
        input_adjoint(wide, wide_weight, g, result)
        if wide_bias is not None:
            result += wide_bias.reshape(-1, *(1,) * len(g.kernel))
    else:
        result = out if out.dtype == wide.dtype else np.empty_like(out, wide.dtype)
        correlate(wide, wide_weight, wide_bias, g, result)
    return narrow(result, out.dtype, out)


def convolution_backward(
    grad: Array,
    x: Array,
    weight: Array,
    bias_sizes: Sequence[int] | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    output_mask: Sequence[bool],
) -> tuple[Array | None, Array | None, Array | None]:
    """Return the gradients of :func:`convolution`, as ``aten.convolution_backward`` does.

    Args:
        grad: the gradient of the result.
        x: the input of the convolution.
        weight: its weight.
        bias_sizes: ignored; the mask says whether a bias's gradient is wanted.
        stride: see :func:`convolution`.
        padding: see :func:`convolution`.
        dilation: see :func:`convolution`.
        transposed: see :func:`convolution`.
        output_padding: see :func:`convolution`.
        groups: see :func:`convolution`.
        output_mask: which of the gradients to compute: of input, weight, bias.

    Returns:
        The gradients of input, weight and bias, C-contiguous; None where the mask is false.
    """
    del bias_sizes
    g = _geometry(
        x.shape,
        weight.shape,
        tuple(stride),
        tuple(padding),
        tuple(dilation),
        tuple(output_padding) if transposed else None,
        groups,
    )
    y, wide, matrix = widen(grad), widen(x), widen(weight)
    grad_x = grad_weight = grad_bias = None
    if output_mask[0]:
        result = np.empty(x.shape, y.dtype)
        if transposed:
            correlate(y, matrix, None, g, result)
        else:
            input_adjoint(y, matrix, g, result)
        grad_x = narrow(result, x.dtype)
    if output_mask[1]:
        result = np.empty(weight.shape, y.dtype)
        if transposed:
            adjoint = volumetric_weight_adjoint if len(g.kernel) == 3 else weight_adjoint
            adjoint(wide, y, g, result)
        else:
            weight_adjoint(y, wide, g, result)
        grad_weight = narrow(result, weight.dtype)
    if output_mask[2]:
        per_channel = y.sum(tuple(range(2, y.ndim))).sum(0)
        grad_bias = narrow(per_channel, grad.dtype)
    return grad_x, grad_weight, grad_bias


@functools.lru_cache(maxsize=1024)
def _geometry(
    x_shape: Ints,
    weight_shape: Ints,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    output_padding: Ints | None,
    groups: int,
) -> Geometry:
    """Return the correlation of a convolution, or that of which a transposed one is the adjoint."""
    size, kernel = x_shape[2:], weight_shape[2:]
    dims = len(size)
    stride, padding, dilation = (as_tuple(v, dims) for v in (stride, padding, dilation))
    spans = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
    if output_padding is not None:
        extra = as_tuple(output_padding, dims)
        result = tuple(
            (n - 1) * s - 2 * p + span + e
            for n, s, p, span, e in zip(size, stride, padding, spans, extra, strict=True)
        )
        ends = (weight_shape[1] * groups, x_shape[1], result, size)
    else:
        result = tuple(
            (n + 2 * p - span) // s + 1
            for n, s, p, span in zip(size, stride, padding, spans, strict=True)
        )
        ends = (x_shape[1], weight_shape[0], size, result)
    if min(result) < 0 or (output_padding is None and min(result) == 0):
        raise RuntimeError(
            f"Calculated output size is too small: {result}. Input size: {size}, padding: "
            f"{padding}, dilation: {dilation}, kernel size: {kernel}. "
            "Kernel size can't be greater than actual input size"
        )
    in_channels, out_channels, in_size, out_size = ends
    return Geometry(
        batch=x_shape[0],
        in_channels=in_channels,
        out_channels=out_channels,
        groups=groups,
        in_size=in_size,
        out_size=out_size,
        kernel=kernel,
        stride=stride,
        padding=padding,
        dilation=dilation,
    )
