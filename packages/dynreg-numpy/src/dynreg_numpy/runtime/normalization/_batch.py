"""Batch normalisation: statistics of each channel."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dynreg_numpy.runtime._arrays import Array, empty, is_channels_last, narrow, widen, workspace
from dynreg_numpy.runtime._blocks import blocks

if TYPE_CHECKING:
    from collections.abc import Sequence


def batch_norm(
    x: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array | None,
    running_var: Array | None,
    training: bool,
    momentum: float,
    eps: float,
    *,
    out: Array | None = None,
) -> tuple[Array, Array, Array, Array | None, Array | None]:
    r"""Normalise as ``aten._native_batch_norm_legit_functional`` does.

    S. Ioffe, C. Szegedy, "Batch Normalization", 2015 (arXiv:1502.03167).

    Args:
        x: (N, C, \*size).
        weight: (C,) or None.
        bias: (C,) or None.
        running_mean: (C,), needed unless training.
        running_var: (C,), needed unless training.
        training: normalise by the statistics of the batch, not by the running ones.
        momentum: the weight of the batch in the new running statistics.
        eps: added to the variance.
        out: where to put the result, channels-last where ``x`` is, else C-contiguous.

    Returns:
        The result in the dtype of ``x``, channels-last in memory where ``x`` is; the batch's mean
        and 1 / standard deviation, (C,), or empty unless training; the new running mean and
        variance, which are the old ones unless training.
    """
    wide = widen(x)
    last = is_channels_last(x)
    result = workspace(out, x.shape, wide.dtype, channels_last=last)
    source, target = _by_channel(wide, last=last), _by_channel(result, last=last)
    stat_dtype = x.dtype if weight is None else weight.dtype
    if training:
        mean, rstd, var = _normalise(source, weight, bias, eps, target)
        saved = narrow(mean, stat_dtype), narrow(rstd, stat_dtype)
        if stat_dtype != wide.dtype:  # torch normalises by the statistics as it stores them
            scale = widen(saved[1]) if weight is None else widen(saved[1]) * widen(weight)
            shift = (0 if bias is None else widen(bias)) - widen(saved[0]) * scale
            _affine(source, scale, shift, target)
        count = x.size // max(1, x.shape[1])
        unbiased = var * (count / (count - 1)) if count > 1 else var / 0.0
        running_mean = _moved(running_mean, mean, momentum)
        running_var = _moved(running_var, unbiased, momentum)
    else:
        if running_mean is None or running_var is None:
            raise RuntimeError("running_mean and running_var must be defined in evaluation mode")
        rstd = 1 / np.sqrt(widen(running_var) + eps)
        scale = rstd if weight is None else rstd * widen(weight)
        shift = -widen(running_mean) * scale
        if bias is not None:
            shift += widen(bias)
        _affine(source, scale, shift, target)
        saved = np.empty(0, stat_dtype), np.empty(0, stat_dtype)
    return narrow(result, x.dtype, out), *saved, running_mean, running_var


def _moved(running: Array | None, batch: Array, momentum: float) -> Array | None:
    """Return the running statistic moved towards the batch's."""
    if running is None:
        return None
    return narrow(momentum * batch + (1 - momentum) * widen(running), running.dtype)


def _normalise(
    x: Array, weight: Array | None, bias: Array | None, eps: float, out: Array
) -> tuple[Array, Array, Array]:
    """Fill ``out``; return mean, 1 / standard deviation and the biased variance, (C,) each."""
    samples, channels, positions = x.shape
    count = samples * positions
    mean, rstd, var = np.empty((3, channels), x.dtype)
    scale = None if weight is None else widen(weight)
    shift = None if bias is None else widen(bias)
    for at in blocks(channels, count * x.itemsize):
        block = out[:, at]
        mean[at] = _sums(x[:, at]) / count
        np.subtract(x[:, at], mean[at, None], out=block)
        var[at] = _dots(block, block) / count
        rstd[at] = 1 / np.sqrt(var[at] + eps)
        block *= (rstd[at] if scale is None else rstd[at] * scale[at])[:, None]
        if shift is not None:
            block += shift[at, None]
    return mean, rstd, var


def _affine(x: Array, scale: Array, shift: Array, out: Array) -> None:
    """Fill ``out`` with ``x * scale + shift`` per channel."""
    samples, channels, positions = x.shape
    for at in blocks(channels, samples * positions * x.itemsize):
        block = out[:, at]
        np.multiply(x[:, at], scale[at, None], out=block)
        block += shift[at, None]


def _by_channel(x: Array, *, last: bool) -> Array:
    """Reshape to (samples, channels, positions); channels-last memory has one position each."""
    batch, channels = x.shape[:2]
    if last:
        return x.transpose(0, *range(2, x.ndim), 1).reshape(-1, channels, 1)
    return x.reshape(batch, channels, math.prod(x.shape[2:]))


def _sums(x: Array) -> Array:
    """Sum (samples, channels, positions) per channel."""
    return np.asarray(x.sum(2).sum(0) if x.shape[2] > 1 else x.sum((0, 2)))


def _dots(x: Array, y: Array) -> Array:
    """Sum the products of (samples, channels, positions) per channel."""
    if x.shape[2] > 1:
        return np.asarray(np.vecdot(x, y).sum(0))
    return np.asarray(np.einsum("ncp,ncp->c", x, y))


def batch_norm_backward(
    grad: Array,
    x: Array,
    weight: Array | None,
    running_mean: Array | None,
    running_var: Array | None,
    save_mean: Array | None,
    save_rstd: Array | None,
    training: bool,
    eps: float,
    output_mask: Sequence[bool],
) -> tuple[Array | None, Array | None, Array | None]:
    """Return the gradients of :func:`batch_norm`, as ``aten.native_batch_norm_backward`` does.

    Args:
        grad: the gradient of the result.
        x: the input.
        weight: the weight or None.
        running_mean: the running mean, used unless training.
        running_var: the running variance, used unless training.
        save_mean: the mean that the forward returned, used if training.
        save_rstd: 1 / standard deviation that the forward returned, used if training.
        training: whether the forward normalised by the batch's statistics.
        eps: see :func:`batch_norm`.
        output_mask: which of the gradients to compute: of input, weight, bias.

    Returns:
        The gradients of input, weight and bias; None where the mask is false.
    """
    wide, grads = widen(x), widen(grad)
    if training:
        mean, rstd = _given(save_mean), _given(save_rstd)
    else:
        mean, rstd = _given(running_mean), 1 / np.sqrt(_given(running_var) + eps)
    last = is_channels_last(x)
    result = empty(x.shape, wide.dtype, channels_last=last)
    source, target, slopes = (_by_channel(a, last=last) for a in (wide, result, grads))
    samples, channels, positions = source.shape
    count = samples * positions
    dots, sums = np.empty((2, channels), wide.dtype)
    scale = rstd if weight is None else rstd * widen(weight)
    for at in blocks(channels, count * wide.itemsize):
        centred = source[:, at] - mean[at, None]
        dots[at] = _dots(centred, slopes[:, at]) * rstd[at]
        sums[at] = _sums(slopes[:, at])
        if not output_mask[0]:
            continue
        block = np.multiply(slopes[:, at], scale[at, None], out=target[:, at])
        if training:
            centred *= (scale[at] * rstd[at] * dots[at] / count)[:, None]
            block -= centred
            block -= (scale[at] * sums[at] / count)[:, None]
    parameter = x.dtype if weight is None else weight.dtype
    return (
        narrow(result, x.dtype) if output_mask[0] else None,
        narrow(dots, parameter) if output_mask[1] else None,
        narrow(sums, parameter) if output_mask[2] else None,
    )


def _given(statistic: Array | None) -> Array:
    if statistic is None:
        raise RuntimeError("the backward of batch norm needs the statistics of its forward")
    return widen(statistic)
