"""Connectionist temporal classification.

A. Graves et al., "Connectionist Temporal Classification", ICML 2006: equations 6 to 11 are the
forward and backward variables, 15 the gradient.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dynreg_numpy.runtime._arrays import Array


def ctc_loss(
    log_probs: Array,
    targets: Array,
    input_lengths: Sequence[int] | Array,
    target_lengths: Sequence[int] | Array,
    blank: int = 0,
    zero_infinity: bool = False,
) -> tuple[Array, Array]:
    """Return the negative log-likelihoods, as ``aten._ctc_loss`` does.

    Args:
        log_probs: (time, N, classes).
        targets: integer, (N, labels), or all labels in a row.
        input_lengths: the time that counts of each sample, (N,).
        target_lengths: the labels that count of each sample, (N,).
        blank: the class of no label.
        zero_infinity: ignored; the backward reads it.

    Returns:
        (N,), inf where the labels do not fit into the time; and the logarithms of the forward
        variables, (N, time, 2 * labels + 1), of which those in time and target are meant.
    """
    del zero_infinity
    times, sizes = np.asarray(input_lengths), np.asarray(target_lengths)
    labels, skip = _extended(targets, sizes, blank, log_probs.shape[1])
    time, samples, _ = log_probs.shape
    alpha = np.full((samples, time, labels.shape[1]), -np.inf, log_probs.dtype)
    emitted = _emissions(log_probs, labels)
    for t in range(time):
        if t == 0:
            alpha[:, 0, :2] = emitted[0][:, :2]
        else:
            alpha[:, t] = _step(alpha[:, t - 1], skip) + emitted[t]
    rows = np.arange(samples)
    last = np.maximum(times - 1, 0)
    ends = alpha[rows, last] if time else np.full(labels.shape, -np.inf, log_probs.dtype)
    total = ends[rows, 2 * sizes]
    before = np.where(sizes > 0, ends[rows, np.maximum(2 * sizes - 1, 0)], -np.inf)
    result = -np.logaddexp(total, before)
    result = np.where(times == 0, np.where(sizes == 0, 0, np.inf), result)
    return result.astype(log_probs.dtype), alpha


def ctc_loss_backward(
    grad: Array,
    log_probs: Array,
    targets: Array,
    input_lengths: Sequence[int] | Array,
    target_lengths: Sequence[int] | Array,
    neg_log_likelihood: Array,
    log_alpha: Array,
    blank: int,
    zero_infinity: bool = False,
) -> Array:
    """Return the gradient of :func:`ctc_loss`, as ``aten._ctc_loss_backward`` does.

    Args:
        grad: the gradient of the losses, (N,).
        log_probs: see :func:`ctc_loss`.
        targets: see :func:`ctc_loss`.
        input_lengths: see :func:`ctc_loss`.
        target_lengths: see :func:`ctc_loss`.
        neg_log_likelihood: what the forward returned.
        log_alpha: what the forward returned.
        blank: see :func:`ctc_loss`.
        zero_infinity: give no gradient where the loss is infinite.

    Returns:
        An array like ``log_probs``, zero beyond each sample's time.
    """
    times, sizes = np.asarray(input_lengths), np.asarray(target_lengths)
    labels, skip = _extended(targets, sizes, blank, log_probs.shape[1])
    time, samples, classes = log_probs.shape
    emitted = _emissions(log_probs, labels)
    # In the mirror image of a state sequence, the backward variables are forward ones.
    ahead = np.zeros_like(skip)
    ahead[:, : max(labels.shape[1] - 2, 0)] = skip[:, 2:]
    places = np.arange(labels.shape[1])
    result = np.zeros(log_probs.shape, log_probs.dtype)
    beta = np.full(labels.shape, -np.inf, log_probs.dtype)
    flat = np.arange(samples)[:, None] * classes + labels
    final = (places == 2 * sizes[:, None]) | (places == 2 * sizes[:, None] - 1)
    for t in range(time - 1, -1, -1):
        moved = _step(beta[:, ::-1], ahead[:, ::-1])[:, ::-1] + emitted[t]
        started = np.where(final, emitted[t], -np.inf)
        beta = np.where((times - 1 == t)[:, None], started, moved)
        exponent = log_alpha[:, t] + beta + neg_log_likelihood[:, None] - emitted[t]
        share = np.where(places <= 2 * sizes[:, None], np.exp(exponent), 0)
        sums = np.bincount(flat.reshape(-1), share.reshape(-1), samples * classes)
        result[t] = np.exp(log_probs[t]) - sums.reshape(samples, classes)
    result *= np.asarray(grad)[:, None]
    ignored = np.arange(time)[:, None] >= times
    if zero_infinity:
        ignored = ignored | np.isinf(neg_log_likelihood)
    np.copyto(result, 0, where=ignored[:, :, None])
    return result


def _extended(targets: Array, sizes: Array, blank: int, samples: int) -> tuple[Array, Array]:
    """Put blanks around all labels: (N, 2 * labels + 1); and say which may skip a blank."""
    width = int(sizes.max(initial=0))
    if targets.ndim == 2:
        width = max(width, 0)
        padded = targets[:, :width]
    else:
        padded = np.zeros((samples, width), np.int64)
        ends = np.cumsum(sizes)
        for row, (end, size) in enumerate(zip(ends, sizes, strict=True)):
            padded[row, :size] = targets[end - size : end]
    labels = np.full((samples, 2 * width + 1), blank, np.int64)
    labels[:, 1::2] = np.where(np.arange(width) < sizes[:, None], padded, blank)
    skip = np.zeros(labels.shape, bool)
    skip[:, 3::2] = labels[:, 3::2] != labels[:, 1:-2:2]
    return labels, skip


def _emissions(log_probs: Array, labels: Array) -> Array:
    """Return the log-probability of each state's label: (time, N, states)."""
    index = np.broadcast_to(labels, (log_probs.shape[0], *labels.shape))
    return np.take_along_axis(log_probs, index, 2)


def _step(alpha: Array, skip: Array) -> Array:
    """Sum, in logarithms, over staying, moving by one state, and skipping a blank."""
    result = alpha.copy()
    result[:, 1:] = np.logaddexp(result[:, 1:], alpha[:, :-1])
    if alpha.shape[1] > 2:
        two = np.where(skip[:, 2:], alpha[:, :-2], -np.inf)
        result[:, 2:] = np.logaddexp(result[:, 2:], two)
    return result
