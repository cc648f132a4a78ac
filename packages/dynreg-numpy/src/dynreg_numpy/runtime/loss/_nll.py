"""The negative log likelihood loss."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from dynreg_numpy.runtime._arrays import narrow, widen

if TYPE_CHECKING:
    from dynreg_numpy.runtime._arrays import Array


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
    logs, classes, keep, weights = _prepare(x, target, weight, ignore_index)
    picked = np.take_along_axis(logs, classes[:, None], 1)[:, 0]
    losses = np.where(keep, -picked * weights, 0).astype(logs.dtype, copy=False)
    total = np.asarray(np.where(keep, weights, 0).sum(dtype=logs.dtype))
    if reduction == Reduction.NONE:
        if x.ndim > 1:
            total = np.zeros((), logs.dtype)
        return narrow(losses, x.dtype).reshape(target.shape), narrow(total, x.dtype)
    loss = np.asarray(losses.sum())
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
    logs, classes, keep, weights = _prepare(x, target, weight, ignore_index)
    slopes = -weights * widen(grad).reshape(classes.shape if grad.ndim else ())
    if reduction == Reduction.MEAN:
        slopes = slopes / widen(total_weight)
    slopes = np.broadcast_to(np.where(keep, slopes, 0), classes.shape)
    result = np.zeros(logs.shape, logs.dtype)
    np.put_along_axis(result, classes[:, None], slopes[:, None].astype(logs.dtype, copy=False), 1)
    return narrow(result, x.dtype).reshape(x.shape)


def _prepare(
    x: Array, target: Array, weight: Array | None, ignore_index: int
) -> tuple[Array, Array, Array, Array]:
    """Return x (N, C, P), classes (N, P) with 0 for ignored ones, what is kept, and weights."""
    channels = x.shape[1] if x.ndim > 1 else x.shape[0]
    batch = x.shape[0] if x.ndim > 1 else 1
    size = int(np.prod(x.shape[2:], dtype=np.int64))
    logs = widen(x).reshape(batch, channels, size)
    classes = target.reshape(batch, size).astype(np.intp, copy=False)
    keep = classes != ignore_index
    classes = np.where(keep, classes, 0)
    wrong = (classes < 0) | (classes >= channels)
    if wrong.any():
        raise IndexError(f"Target {classes[wrong][0]} is out of bounds.")
    weights = np.ones((), logs.dtype) if weight is None else widen(weight)[classes]
    return logs, classes, keep, weights
