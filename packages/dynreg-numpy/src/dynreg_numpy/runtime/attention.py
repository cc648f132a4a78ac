"""Scaled dot-product attention."""

from __future__ import annotations

import math

import numpy as np

from dynreg_numpy.runtime._arrays import Array, narrow, widen

__all__ = ["backward", "forward"]


def _scores(query: Array, key: Array, mask: Array | None, is_causal: bool, scale: float) -> Array:
    """``query · keyᵀ · scale + mask``, of shape (batch, heads, queries, keys)."""
    scores: Array = np.matmul(query * query.dtype.type(scale), np.swapaxes(key, -1, -2))
    if is_causal:
        queries, keys = scores.shape[-2:]
        scores[..., np.triu(np.ones((queries, keys), bool), 1)] = -np.inf
    if mask is not None:
        scores += widen(mask)
    return scores


def forward(
    query: Array,
    key: Array,
    value: Array,
    mask: Array | None,
    is_causal: bool,
    scale: float | None,
) -> tuple[Array, Array]:
    """Attend, of Vaswani et al., arXiv:1706.03762.

    Args:
        query: (batch, heads, queries, width).
        key: (batch, heads, keys, width).
        value: (batch, heads, keys, width of values).
        mask: Added to the scores, broadcasting to (batch, heads, queries, keys); or None.
        is_causal: Whether query i sees only the keys up to i.
        scale: Factor of the scores; 1/√width where it is None.

    Returns:
        (batch, heads, queries, width of values) in the dtype of ``query``, and the logarithms of
        the sums of the exponentials of the scores, (batch, heads, queries), in float32 or wider.
    """
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = _scores(widen(query), widen(key), mask, is_causal, scale)
    highest = scores.max(-1, keepdims=True, initial=-np.inf)
    np.copyto(highest, 0, where=np.isneginf(highest))
    scores -= highest
    np.exp(scores, out=scores)
    total = scores.sum(-1, keepdims=True)
    scores /= np.where(total == 0, 1, total)
    result = np.matmul(scores, widen(value))
    logsumexp = (np.log(total) + highest)[..., 0]
    return narrow(result, query.dtype), logsumexp


def backward(
    grad: Array,
    query: Array,
    key: Array,
    value: Array,
    out: Array,
    logsumexp: Array,
    mask: Array | None,
    is_causal: bool,
    scale: float | None,
) -> tuple[Array, Array, Array]:
    """Return the gradients of query, key and value of :func:`forward`.

    The probabilities are computed again from ``logsumexp``, as in Dao et al., arXiv:2205.14135.

    Args:
        grad: Gradient of the result.
        query: See :func:`forward`.
        key: See :func:`forward`.
        value: See :func:`forward`.
        out: The result.
        logsumexp: As :func:`forward` returned it.
        mask: See :func:`forward`.
        is_causal: See :func:`forward`.
        scale: See :func:`forward`.
    """
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    dtype = query.dtype
    grad, query, key, value, out = map(widen, (grad, query, key, value, out))
    weights = _scores(query, key, mask, is_causal, scale)
    weights -= logsumexp[..., None]
    np.exp(weights, out=weights)
    grad_value = np.matmul(np.swapaxes(weights, -1, -2), grad)
    grad_scores = np.matmul(grad, np.swapaxes(value, -1, -2))
    grad_scores -= (grad * out).sum(-1, keepdims=True)
    grad_scores *= weights
    grad_scores *= grad_scores.dtype.type(scale)
    grad_query = np.matmul(grad_scores, key)
    grad_key = np.matmul(np.swapaxes(grad_scores, -1, -2), query)
    return narrow(grad_query, dtype), narrow(grad_key, dtype), narrow(grad_value, dtype)
