"""The negative log likelihood loss."""

from __future__ import annotations

import math
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from dynreg_numpy.runtime._arrays import narrow, widen

if TYPE_CHECKING:
    from dynreg_numpy.runtime._arrays import Array, DType


class Reduction(IntEnum):
    """ATen's numbers for what is done with the losses of the samples."""

    NONE = 0
    MEAN = 1
    SUM = 2


def nll_loss(
    x: Array, target: Array, weight: Array | None, reduction: int, ignore_index: int
) -> tuple[Array, Array]:
    r"""Compute ``aten.nll_loss_forward`` and ``nll_loss2d_forward``, in any number of dimensions.

    Args:
        x: log-probabilities, (N, C, \*size) or (C,).
        target: classes, integer, (N, \*size) or ().
        weight: the weight of each class, (C,), or None.
        reduction: 0 for none, 1 for the weighted mean, 2 for the sum.
        ignore_index: the target that counts for nothing.

    Returns:
        The loss, () or like ``target``, and the total weight, (), which is zero for no reduction
        of a batch; both in the dtype of ``x``.

    Raises:
        IndexError: a target is neither a class nor ``ignore_index``.
    """
    logs, places, weights = _prepare(x, target, weight, ignore_index)
    losses = logs.reshape(-1)[places]
    np.negative(losses, out=losses)
    if weights is not None:
        losses = np.where(weights == 0, 0, losses * weights)
    if reduction == Reduction.NONE:
        total = np.zeros((), logs.dtype) if x.ndim > 1 else _total(weights, places, logs.dtype)
        return narrow(losses, x.dtype).reshape(target.shape), narrow(total, x.dtype)
    total = _total(weights, places, logs.dtype)
    loss = np.asarray(np.add.reduce(losses))
    if reduction == Reduction.MEAN:
        loss = np.asarray(loss / total)
    return narrow(loss, x.dtype), narrow(total, x.dtype)


def nll_loss_backward(
    grad: Array,
    x: Array,
    target: Array,
    weight: Array | None,
    reduction: int,
    ignore_index: int,
    total_weight: Array,
) -> Array:
    """Return the gradient of :func:`nll_loss`, as its ATen backwards do.

    Args:
        grad: the gradient of the loss.
        x: the log-probabilities.
        target: see :func:`nll_loss`.
        weight: see :func:`nll_loss`.
        reduction: see :func:`nll_loss`.
        ignore_index: see :func:`nll_loss`.
        total_weight: what the forward returned.

    Returns:
        An array like ``x``.
    """
    logs, places, weights = _prepare(x, target, weight, ignore_index)
    slopes = -widen(grad).reshape(-1)
    if reduction == Reduction.MEAN:
        slopes = slopes / widen(total_weight)
    if weights is not None:
        slopes = np.where(weights == 0, 0, slopes * weights)
    result = np.zeros(logs.shape, logs.dtype)
    result.reshape(-1)[places] = slopes
    return narrow(result, x.dtype).reshape(x.shape)


def _prepare(
    x: Array, target: Array, weight: Array | None, ignore_index: int
) -> tuple[Array, Array, Array | None]:
    """Return the logarithms, the flat place of each target's, and its weight, 0 if ignored.

    The weights are None where each counts one.
    """
    channels = x.shape[1] if x.ndim > 1 else x.shape[0]
    logs = np.ascontiguousarray(widen(x))
    classes = target.reshape(-1).astype(np.int64, copy=False)
    weights = None
    # Seen as unsigned, a negative class is a large one.
    if classes.size and classes.view(np.uint64).max() >= channels:
        kept = classes != ignore_index
        wrong = kept & ((classes < 0) | (classes >= channels))
        if wrong.any():
            raise IndexError(f"Target {classes[wrong][0]} is out of bounds.")
        classes = np.where(kept, classes, 0)
        weights = kept.astype(logs.dtype)
    elif 0 <= ignore_index < channels:
        weights = (classes != ignore_index).astype(logs.dtype)
    if weight is not None:
        used = widen(weight)[classes]
        weights = used if weights is None else used * weights
    return logs, _places(classes, x, channels), weights


def _places(classes: Array, x: Array, channels: int) -> Array:
    """Return where the logarithm of each target stands in the flattened ``x``."""
    size = math.prod(x.shape[2:])
    samples = x.shape[0] if x.ndim > 1 else 1
    starts = np.arange(0, samples * channels * size, max(1, channels * size))
    if size == 1:
        return np.asarray(classes + starts)
    within = classes.reshape(samples, size) * size + np.arange(size)
    return np.asarray(within + starts[:, None]).reshape(-1)


def _total(weights: Array | None, places: Array, dtype: DType) -> Array:
    """Return the sum of the weights."""
    if weights is None:
        return np.asarray(len(places)).astype(dtype)
    return np.asarray(weights.sum(dtype=dtype))
