"""Group normalisation: statistics of each sample's groups of channels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dynreg_numpy.runtime._arrays import Array, narrow, widen, workspace
from dynreg_numpy.runtime._blocks import blocks

if TYPE_CHECKING:
    from collections.abc import Sequence


def group_norm(
    x: Array,
    weight: Array | None,
    bias: Array | None,
    batch: int,
    channels: int,
    positions: int,
    groups: int,
    eps: float,
    *,
    out: Array | None = None,
) -> tuple[Array, Array, Array]:
    r"""Normalise as ``aten.native_group_norm`` does.

    Y. Wu, K. He, "Group Normalization", 2018 (arXiv:1803.08494).

    Args:
        x: (N, C, \*size).
        weight: (C,) or None.
        bias: (C,) or None.
        batch: N.
        channels: C.
        positions: the product of \*size.
        groups: the number of groups.
        eps: added to the variance.
        out: where to put the result.

    Returns:
        The result in the dtype of ``x``; mean and 1 / standard deviation, (N, groups), in the
        dtype of the weight if there is one.
    """
    wide = widen(x).reshape(batch * groups, channels // groups, positions)
    result = workspace(out, x.shape, wide.dtype)
    target = result.reshape(wide.shape)
    rows, per_group, _ = wide.shape
    width = per_group * positions
    mean, rstd = np.empty(rows, wide.dtype), np.empty(rows, wide.dtype)
    average = np.full(width, 1 / max(width, 1), wide.dtype)
    scale, shift = _per_row(weight, rows, groups), _per_row(bias, rows, groups)
    for at in blocks(rows, width * wide.itemsize):
        block = target[at]
        np.matmul(wide[at].reshape(-1, width), average, out=mean[at])
        np.subtract(wide[at], mean[at, None, None], out=block)
        flat = block.reshape(-1, width)
        rstd[at] = 1 / np.sqrt(np.vecdot(flat, flat) / width + eps)
        factor = rstd[at, None, None]
        block *= factor if scale is None else factor * scale[at]
        if shift is not None:
            block += shift[at]
    stat_dtype = x.dtype if weight is None else weight.dtype
    return (
        narrow(result, x.dtype, out),
        narrow(mean, stat_dtype).reshape(batch, groups),
        narrow(rstd, stat_dtype).reshape(batch, groups),
    )


def _per_row(parameter: Array | None, rows: int, groups: int) -> Array | None:
    """Repeat a parameter (C,) for each row (sample, group): (rows, C / groups, 1)."""
    if parameter is None:
        return None
    by_group = widen(parameter).reshape(groups, -1, 1)
    return np.tile(by_group, (rows // groups, 1, 1))


def group_norm_backward(
    grad: Array,
    x: Array,
    mean: Array,
    rstd: Array,
    weight: Array | None,
    batch: int,
    channels: int,
    positions: int,
    groups: int,
    output_mask: Sequence[bool],
) -> tuple[Array | None, Array | None, Array | None]:
    """Return the gradients of :func:`group_norm`, as ``aten.native_group_norm_backward`` does.

    Args:
        grad: the gradient of the result.
        x: the input.
        mean: the mean that the forward returned.
        rstd: 1 / standard deviation that the forward returned.
        weight: the weight or None.
        batch: see :func:`group_norm`.
        channels: see :func:`group_norm`.
        positions: see :func:`group_norm`.
        groups: see :func:`group_norm`.
        output_mask: which of the gradients to compute: of input, weight, bias.

    Returns:
        The gradients of input, weight and bias; None where the mask is false.
    """
    shape = (batch * groups, channels // groups, positions)
    wide, grads = widen(x).reshape(shape), widen(grad).reshape(shape)
    rows, per_group, _ = shape
    width = per_group * positions
    spread = widen(rstd).reshape(rows, 1, 1)
    scale = _per_row(weight, rows, groups)
    centred = wide - widen(mean).reshape(rows, 1, 1)
    dots = np.vecdot(grads, centred)[..., None] * spread
    sums = grads.sum(2, keepdims=True)
    grad_x = grad_weight = grad_bias = None
    parameter = x.dtype if weight is None else weight.dtype
    if output_mask[0]:
        weighted = (dots, sums) if scale is None else (dots * scale, sums * scale)
        mean_dot, mean_sum = (w.sum(1, keepdims=True) / width for w in weighted)
        centred *= spread * spread * mean_dot
        result = np.multiply(grads, spread if scale is None else spread * scale)
        result -= centred
        result -= spread * mean_sum
        grad_x = narrow(result, x.dtype).reshape(x.shape)
    if output_mask[1]:
        grad_weight = narrow(dots.reshape(batch, channels).sum(0), parameter)
    if output_mask[2]:
        grad_bias = narrow(sums.reshape(batch, channels).sum(0), parameter)
    return grad_x, grad_weight, grad_bias
