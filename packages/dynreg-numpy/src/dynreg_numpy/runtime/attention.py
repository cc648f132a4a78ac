"""Scaled dot-product attention in blocks of queries: the scores never exist as a whole.

T. Dao et al., "FlashAttention", 2022 (arXiv:2205.14135), describes the blocks and the backward from
the logarithms of the sums. Rows of keys are not cut: one row of scores is small, so that a block
has its maximum at once.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dynreg_numpy.runtime._arrays import Array, narrow, widen
from dynreg_numpy.runtime.activation._softmax import exponentials_fit

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["backward", "forward"]

#: Bytes of the scores of a block: its passes find them in an L2 cache.
_BLOCK_BYTES = 1 << 19
#: Queries of one head from which on a block has rows of one head only.
_MIN_ROWS = 32


def _shared(x: Array, heads: int) -> Array:
    """Repeat heads of keys or values that several heads of queries share, arXiv:2305.13245."""
    return x if x.shape[1] == heads else np.repeat(x, heads // x.shape[1], axis=1)


def _gathered(grad: Array, heads: int) -> Array:
    """Add up what the heads that share a key or value contribute to its gradient."""
    if grad.shape[1] == heads:
        return grad
    batch, _, length, width = grad.shape
    total: Array = grad.reshape(batch, heads, -1, length, width).sum(2)
    return total


def forward(
    query: Array,
    key: Array,
    value: Array,
    mask: Array | None,
    is_causal: bool,
    scale: float | None,
) -> tuple[Array, Array]:
    """Attend, as ``aten._scaled_dot_product_flash_attention_for_cpu`` does.

    A. Vaswani et al., "Attention Is All You Need", 2017 (arXiv:1706.03762).

    Args:
        query: (batch, heads, queries, width).
        key: (batch, heads, keys, width); its heads may be fewer, each shared by as many heads of
            the query.
        value: (batch, heads, keys, width of values), likewise.
        mask: added to the scores, or, if boolean, true where a key is seen; broadcasts to (batch,
            heads, queries, keys). None for no mask.
        is_causal: whether query i sees only the keys up to i.
        scale: factor of the scores; None for 1 / √width.

    Returns:
        (batch, heads, queries, width of values) in the dtype of ``query``: zero where every key is
        masked; and the logarithms of the sums of the exponentials of the scores, (batch, heads,
        queries), in float32 or wider, which are zero there too.
    """
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    key, value = _shared(key, query.shape[1]), _shared(value, query.shape[1])
    q, k, v = _by_head(query), _by_head(key), _by_head(value)
    biases = _mask_by_head(mask, query, key, q.dtype)
    heads, queries, _ = q.shape
    result = np.zeros((heads, queries, v.shape[-1]), q.dtype)
    sums = np.zeros((heads, queries), q.dtype)
    for at, rows, keys in _blocks(heads, queries, k.shape[1], q.itemsize, is_causal):
        scores = _scores(q, k, biases, factor, is_causal, at, rows, keys)
        top = np.maximum.reduce(scores, axis=-1, keepdims=True, initial=-np.inf)
        if exponentials_fit(top):
            top = np.zeros((), q.dtype)
        else:
            top[top == -np.inf] = 0
            scores -= top
        np.exp(scores, out=scores)
        total = np.add.reduce(scores, axis=-1, keepdims=True)
        if not total.all():
            total[total == 0] = 1
        block = result[at, rows]
        np.matmul(scores, v[at, keys], out=block)
        # Dividing the result is less work than dividing the weights.
        block /= total
        sums[at, rows] = (np.log(total) + top)[..., 0]
    shape = query.shape[:3]
    output = narrow(result.reshape(*shape, -1), query.dtype)
    return output, sums.reshape(shape)


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

    Args:
        grad: the gradient of the result.
        query: see :func:`forward`.
        key: see :func:`forward`.
        value: see :func:`forward`.
        out: the result.
        logsumexp: as :func:`forward` returned it.
        mask: see :func:`forward`.
        is_causal: see :func:`forward`.
        scale: see :func:`forward`.

    Returns:
        The gradients, each like what it is of.
    """
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    key_heads, value_heads = key.shape[1], value.shape[1]
    key, value = _shared(key, query.shape[1]), _shared(value, query.shape[1])
    q, k, v, g, o = (_by_head(a) for a in (query, key, value, grad, out))
    biases = _mask_by_head(mask, query, key, q.dtype)
    heads, queries, _ = q.shape
    sums = widen(logsumexp).reshape(heads, queries, 1)
    grad_q, grad_k, grad_v = (np.zeros(a.shape, q.dtype) for a in (q, k, v))
    for at, rows, keys in _blocks(heads, queries, k.shape[1], q.itemsize, is_causal):
        weights = _scores(q, k, biases, factor, is_causal, at, rows, keys)
        weights -= sums[at, rows]
        np.exp(weights, out=weights)
        grad_v[at, keys] += np.matmul(weights.swapaxes(1, 2), g[at, rows])
        slopes = np.matmul(g[at, rows], v[at, keys].swapaxes(1, 2))
        slopes -= np.vecdot(g[at, rows], o[at, rows])[..., None]
        slopes *= weights
        np.matmul(slopes, k[at, keys], out=grad_q[at, rows])
        grad_k[at, keys] += np.matmul(slopes.swapaxes(1, 2), q[at, rows])
    grad_q *= q.dtype.type(factor)
    grad_k *= q.dtype.type(factor)
    return (
        narrow(grad_q.reshape(query.shape), query.dtype),
        narrow(_gathered(grad_k.reshape(key.shape), key_heads), key.dtype),
        narrow(_gathered(grad_v.reshape(value.shape), value_heads), value.dtype),
    )


def _by_head(x: Array) -> Array:
    """Return (batch, heads, length, width) as (batch * heads, length, width), computable."""
    return widen(x).reshape(-1, *x.shape[2:])


def _mask_by_head(
    mask: Array | None, query: Array, key: Array, dtype: np.dtype[np.generic]
) -> Array | None:
    """Return the mask as numbers to add: (batch * heads, queries, keys), or 1 head for all."""
    if mask is None:
        return None
    added = np.where(mask, 0, -np.inf).astype(dtype) if mask.dtype.kind == "b" else widen(mask)
    length = (query.shape[2], key.shape[2])
    if math.prod(added.shape[:-2]) == 1:
        return np.broadcast_to(added.reshape(1, *added.shape[-2:]), (1, *length))
    return np.broadcast_to(added, (*query.shape[:2], *length)).reshape(-1, *length)


def _blocks(
    heads: int, queries: int, keys: int, itemsize: int, is_causal: bool
) -> Iterator[tuple[slice, slice, slice]]:
    """Yield the heads, queries and keys of each block."""
    rows = max(1, _BLOCK_BYTES // max(1, keys * itemsize))
    if rows >= queries:
        together, step = max(1, rows // max(1, queries)), max(1, queries)
    else:
        together, step = 1, max(rows, _MIN_ROWS)
    for head in range(0, heads, together):
        for first in range(0, queries, step):
            last = min(first + step, queries)
            seen = min(last, keys) if is_causal else keys
            yield slice(head, head + together), slice(first, last), slice(0, seen)


def _scores(
    q: Array,
    k: Array,
    biases: Array | None,
    factor: float,
    is_causal: bool,
    at: slice,
    rows: slice,
    keys: slice,
) -> Array:
    """Return the scores of one block: (heads, queries, keys)."""
    scaled = q[at, rows] * q.dtype.type(factor)
    scores: Array = np.matmul(scaled, k[at, keys].swapaxes(1, 2))
    if biases is not None:
        scores += biases[at if len(biases) > 1 else slice(None), rows, keys]
    if is_causal:
        future = np.arange(keys.stop) > np.arange(rows.start, rows.stop)[:, None]
        np.copyto(scores, -np.inf, where=future)
    return scores
