"""Margin losses over classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dynreg_numpy.runtime._arrays import narrow, widen
from dynreg_numpy.runtime.loss._nll import Reduction

if TYPE_CHECKING:
    from dynreg_numpy.runtime._arrays import Array


def multi_margin_loss(
    x: Array,
    target: Array,
    p: float = 1,
    margin: float = 1,
    weight: Array | None = None,
    reduction: int = 1,
) -> Array:
    """Return the multi-class hinge loss, as ``aten.multi_margin_loss`` does.

    Args:
        x: scores, (N, C) or (C,).
        target: classes, integer, (N,) or ().
        p: the power of the hinge, 1 or 2.
        margin: how much the class's score should exceed the others.
        weight: the weight of each class, (C,), or None.
        reduction: 0 for none, 1 for the mean, 2 for the sum.

    Returns:
        The loss, () or like ``target``, in the dtype of ``x``.

    Raises:
        RuntimeError: a target is not a class.
    """
    scores, classes, gaps = _gaps(x, target, margin)
    losses = (gaps**p).sum(1) / scores.shape[1]
    if weight is not None:
        losses *= widen(weight)[classes]
    return _reduce(losses, target.shape, reduction, x)


def multi_margin_loss_backward(
    grad: Array,
    x: Array,
    target: Array,
    p: float,
    margin: float,
    weight: Array | None = None,
    reduction: int = 1,
) -> Array:
    """Return the gradient of :func:`multi_margin_loss`, an array like ``x``.

    Args:
        grad: the gradient of the loss.
        x: see :func:`multi_margin_loss`.
        target: see :func:`multi_margin_loss`.
        p: see :func:`multi_margin_loss`.
        margin: see :func:`multi_margin_loss`.
        weight: see :func:`multi_margin_loss`.
        reduction: see :func:`multi_margin_loss`.
    """
    scores, classes, gaps = _gaps(x, target, margin)
    samples, count = scores.shape
    slopes = np.where(gaps > 0, p * gaps ** (p - 1), 0).astype(scores.dtype)
    if weight is not None:
        slopes *= widen(weight)[classes][:, None]
    slopes[np.arange(samples), classes] = -slopes.sum(1)
    slopes /= count * (samples if reduction == Reduction.MEAN else 1)
    slopes *= widen(grad).reshape(-1, 1)
    return narrow(slopes, x.dtype).reshape(x.shape)


def _gaps(x: Array, target: Array, margin: float) -> tuple[Array, Array, Array]:
    """Return scores (N, C), classes (N,), and by how much each other class is too close."""
    scores = widen(x).reshape(-1, x.shape[-1])
    classes = target.reshape(-1).astype(np.int64, copy=False)
    if classes.size and not 0 <= classes.min() <= classes.max() < scores.shape[1]:
        raise RuntimeError("target out of range")
    own = scores[np.arange(len(classes)), classes]
    gaps = np.maximum(scores.dtype.type(margin) - own[:, None] + scores, 0)
    gaps[np.arange(len(classes)), classes] = 0
    return scores, classes, gaps


def multilabel_margin_loss(x: Array, target: Array, reduction: int) -> tuple[Array, Array]:
    """Return the multi-label hinge loss, as ``aten.multilabel_margin_loss_forward`` does.

    Args:
        x: scores, (N, C) or (C,).
        target: the classes of each sample, then -1, integer, like ``x``.
        reduction: 0 for none, 1 for the mean, 2 for the sum.

    Returns:
        The loss, () or (N,); and whether each class is a target, like ``x`` in its dtype.

    Raises:
        RuntimeError: a target is neither a class nor -1.
    """
    scores, places, used, chosen = _labels(x, target)
    losses = np.zeros(len(scores), scores.dtype)
    for label in range(places.shape[1]):
        own = np.take_along_axis(scores, places[:, label : label + 1], 1)
        gaps = np.maximum(1 - own + scores, 0) * ~chosen
        losses += np.where(used[:, label], gaps.sum(1), 0)
    losses /= max(1, scores.shape[1])
    return _reduce(losses, x.shape[:-1], reduction, x), chosen.astype(x.dtype).reshape(x.shape)


def multilabel_margin_loss_backward(
    grad: Array, x: Array, target: Array, reduction: int, is_target: Array
) -> Array:
    """Return the gradient of :func:`multilabel_margin_loss`, an array like ``x``.

    Args:
        grad: the gradient of the loss.
        x: see :func:`multilabel_margin_loss`.
        target: see :func:`multilabel_margin_loss`.
        reduction: see :func:`multilabel_margin_loss`.
        is_target: ignored; it follows from ``target``.
    """
    del is_target
    scores, places, used, chosen = _labels(x, target)
    slopes = np.zeros(scores.shape, scores.dtype)
    rows = np.arange(len(scores))
    for label in range(places.shape[1]):
        own = np.take_along_axis(scores, places[:, label : label + 1], 1)
        close = (1 - own + scores > 0) & ~chosen & used[:, label : label + 1]
        slopes += close
        slopes[rows, places[:, label]] -= close.sum(1)
    samples, count = scores.shape
    slopes /= max(1, count * (samples if reduction == Reduction.MEAN else 1))
    slopes *= widen(grad).reshape(-1, 1)
    return narrow(slopes, x.dtype).reshape(x.shape)


def _labels(x: Array, target: Array) -> tuple[Array, Array, Array, Array]:
    """Return scores (N, C), labels (N, C), which come before the -1, and whether each is one."""
    scores = widen(x).reshape(-1, x.shape[-1] if x.ndim else 1)
    labels = target.reshape(scores.shape).astype(np.int64, copy=False)
    if labels.size and not -1 <= labels.min() <= labels.max() < scores.shape[1]:
        raise RuntimeError("target is out of range")
    used = np.logical_and.accumulate(labels >= 0, 1)
    places = np.where(used, labels, 0)
    chosen = np.zeros(scores.shape, bool)
    rows = np.broadcast_to(np.arange(len(scores))[:, None], labels.shape)
    chosen[rows[used], places[used]] = True
    return scores, places, used, chosen


def _reduce(losses: Array, shape: tuple[int, ...], reduction: int, x: Array) -> Array:
    if reduction == Reduction.NONE:
        return narrow(losses, x.dtype).reshape(shape)
    total = losses.mean() if reduction == Reduction.MEAN else losses.sum()
    return narrow(np.asarray(total), x.dtype)
