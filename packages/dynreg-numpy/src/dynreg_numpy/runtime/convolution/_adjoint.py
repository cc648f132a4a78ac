"""The two adjoints of a cross-correlation: with respect to its input and to its weight."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dynreg_numpy.runtime.convolution._columns import unfold_channels_first
from dynreg_numpy.runtime.convolution._correlate import subsample
from dynreg_numpy.runtime.convolution._fold import fold
from dynreg_numpy.runtime.convolution._mirror import correlate_mirrored, mirror

if TYPE_CHECKING:
    from dynreg_numpy.runtime._arrays import Array
    from dynreg_numpy.runtime.convolution._geometry import Geometry

#: The gradient of the weight is added to once per tile: enough columns that the matmul costs more.
_WEIGHT_COLUMNS = 512
#: Multiplications up to which a sum follows torch's order term by term; BLAS is faster beyond.
_SMALL = 1 << 17


def input_adjoint(y: Array, weight: Array, g: Geometry, out: Array) -> Array:
    r"""Fill ``out`` (N, C, \*in_size), C-contiguous, with what each input position contributed to.

    This is the backward of :func:`correlate` to its input, and the transposed convolution.

    Args:
        y: (N, O, \*out_size), any strides.
        weight: (O, C / groups, \*kernel).
        g: the geometry of the correlation.
        out: the result.
    """
    if y.size == 0 or weight.size == 0:
        out[...] = 0
        return out
    if g.is_whole or (g.is_pointwise and g.in_size == g.out_size):
        matrix = weight.reshape(g.groups, -1, g.depth).swapaxes(1, 2)
        rows = y.reshape(g.batch, g.groups, -1, g.positions)
        np.matmul(matrix, rows, out=out.reshape(g.batch, g.groups, g.depth, g.positions))
        return out
    mirrored = mirror(g)
    if mirrored is not None:
        return correlate_mirrored(y, weight, g, mirrored, out)
    return fold(y, weight, g, out)


def weight_adjoint(y: Array, x: Array, g: Geometry, out: Array) -> Array:
    r"""Fill ``out`` (O, C / groups, \*kernel), C-contiguous: the backward to the weight.

    Args:
        y: the gradient of the correlation's result, (N, O, \*out_size), any strides.
        x: the correlation's input, (N, C, \*in_size), any strides.
        g: the geometry of the correlation.
        out: the result.
    """
    if y.size == 0 or out.size == 0:
        out[...] = 0
        return out
    result = out.reshape(g.groups, g.out_channels // g.groups, g.depth)
    if g.is_whole and g.batch > 1:
        np.matmul(y.reshape(g.batch, -1).T, x.reshape(g.batch, -1), out=result[0])
        return out
    by_group = y.reshape(g.batch, *result.shape[:2], g.positions)
    if g.is_whole:
        np.multiply(y.reshape(-1, 1), x.reshape(1, -1), out=result[0])
        return out
    if g.is_pointwise:
        columns = _samples_inside(subsample(x, g).reshape(g.batch, g.groups, g.depth, -1))
        np.matmul(_samples_inside(by_group), columns.swapaxes(1, 2), out=result)
        return out
    for index, (piece, columns) in enumerate(unfold_channels_first(g, x.dtype, _WEIGHT_COLUMNS)(x)):
        grad = _samples_inside(by_group[piece.samples, ..., piece.flat])
        if index == 0:
            np.matmul(grad, columns.swapaxes(1, 2), out=result)
        else:
            result += np.matmul(grad, columns.swapaxes(1, 2))
    return out


def volumetric_weight_adjoint(y: Array, x: Array, g: Geometry, out: Array) -> Array:
    r"""Fill ``out`` as :func:`weight_adjoint` does, small float32 sums in torch's order.

    Torch's gradient of a transposed convolution in three dimensions is one chain of fused
    multiply-adds over samples and positions. Where the terms cancel, any other order of summation
    differs from it by more than the tolerance for float32.

    Args:
        y: see :func:`weight_adjoint`.
        x: see :func:`weight_adjoint`.
        g: see :func:`weight_adjoint`.
        out: the result.
    """
    terms = g.batch * g.positions
    if out.dtype != np.float32 or g.groups != 1 or out.size * terms > _SMALL:
        return weight_adjoint(y, x, g, out)
    total = np.zeros((g.out_channels, g.depth), np.float32)
    by_group = y.reshape(g.batch, 1, -1, g.positions)
    for piece, columns in unfold_channels_first(g, x.dtype, _WEIGHT_COLUMNS)(x):
        rows = _samples_inside(by_group[piece.samples, ..., piece.flat])[0]
        for row, column in zip(rows.T.astype(float), columns[0].T.astype(float), strict=True):
            # The product is exact in float64, so that the sum is rounded once, as when fused.
            total = (total + np.multiply.outer(row, column)).astype(np.float32)
    out[...] = total.reshape(out.shape)
    return out


def _samples_inside(x: Array) -> Array:
    """Turn (samples, groups, channels, positions) into (groups, channels, samples * positions)."""
    return x.transpose(1, 2, 0, 3).reshape(*x.shape[1:3], -1)
