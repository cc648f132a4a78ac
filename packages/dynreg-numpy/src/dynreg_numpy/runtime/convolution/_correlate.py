"""Cross-correlation as matrix products over the unfolded input."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dynreg_numpy.runtime.convolution._columns import unfold_channels_first, unfold_channels_last

if TYPE_CHECKING:
    from dynreg_numpy.runtime._arrays import Array
    from dynreg_numpy.runtime.convolution._geometry import Geometry

#: With fewer columns OpenBLAS spends its time on reading the weights.
_MIN_COLUMNS = 128


def correlate(x: Array, weight: Array, bias: Array | None, g: Geometry, out: Array) -> Array:
    r"""Fill ``out`` (N, O, \*out_size), C-contiguous or channels-last, and return it.

    Args:
        x: (N, C, \*in_size), any strides.
        weight: (O, C / groups, \*kernel), of the dtype of ``x``.
        bias: (O,), of the dtype of ``x``, or None.
        g: the geometry.
        out: the result, of the dtype of ``x``.
    """
    if out.size == 0 or g.depth == 0:
        out[...] = 0 if bias is None else bias.reshape(-1, *(1,) * len(g.kernel))
        return out
    if out.flags.c_contiguous:
        return _channels_first(x, weight, bias, g, out)
    if g.groups == 1:
        return _channels_last(x, weight, bias, g, out)
    np.copyto(out, _channels_first(x, weight, bias, g, np.empty(out.shape, out.dtype)))
    return out


def _channels_first(x: Array, weight: Array, bias: Array | None, g: Geometry, out: Array) -> Array:
    """Multiply weights (O, K) and columns (K, samples * positions), per group."""
    if g.is_whole:
        return _whole(x, weight, bias, g, out)
    per_group = g.out_channels // g.groups
    matrix = weight.reshape(g.groups, per_group, g.depth)
    result = out.reshape(g.batch, g.groups, per_group, g.positions)
    column_bias = None if bias is None else bias.reshape(g.groups, per_group, 1)
    if g.is_pointwise:
        columns = subsample(x, g).reshape(g.batch, g.groups, g.depth, g.positions)
        np.matmul(matrix, columns, out=result)
        if column_bias is not None:
            result += column_bias
        return out
    for piece, columns in unfold_channels_first(g, x.dtype, _MIN_COLUMNS)(x):
        target = result[piece.samples, ..., piece.flat]
        if piece.count == 1:
            np.matmul(matrix, columns, out=target[0])
            if column_bias is not None:
                target += column_bias
            continue
        # One product for all samples; the bias is added where the result is put in order.
        product = np.matmul(matrix, columns).reshape(g.groups, per_group, piece.count, -1)
        np.add(
            product.transpose(2, 0, 1, 3),
            0 if column_bias is None else column_bias,
            out=target,
        )
    return out


def _channels_last(x: Array, weight: Array, bias: Array | None, g: Geometry, out: Array) -> Array:
    """Multiply columns (samples * positions, K) and weights (K, O)."""
    last = (0, *range(2, x.ndim), 1)
    matrix = weight.transpose(last).reshape(g.out_channels, g.depth).T
    result = out.transpose(last).reshape(g.batch, g.positions, g.out_channels)
    if g.is_pointwise:
        columns = subsample(x, g).transpose(last).reshape(-1, g.depth)
        target = result.reshape(-1, g.out_channels)
        np.matmul(columns, matrix, out=target)
        if bias is not None:
            target += bias
        return out
    for piece, columns in unfold_channels_last(g, x.dtype, _MIN_COLUMNS)(x):
        target = result[piece.samples, piece.flat].reshape(-1, g.out_channels)
        np.matmul(columns, matrix, out=target)
        if bias is not None:
            target += bias
    return out


def _whole(x: Array, weight: Array, bias: Array | None, g: Geometry, out: Array) -> Array:
    """Multiply samples (N, C * taps) and weights (C * taps, O): one matmul for the batch."""
    target = out.reshape(g.batch, g.out_channels)
    matrix = weight.reshape(g.out_channels, g.depth)
    np.matmul(x.reshape(g.batch, g.depth), matrix.T, out=target)
    if bias is not None:
        target += bias
    return out


def subsample(x: Array, g: Geometry) -> Array:
    """View the input positions that a pointwise correlation reads."""
    if g.in_size == g.out_size:
        return x
    return x[(slice(None), slice(None), *g.first_tap)]
