"""Backward of embeddings, and bags of embeddings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dynreg_numpy.runtime._arrays import narrow, widen
from dynreg_numpy.runtime.indexing._positions import select_bounds
from dynreg_numpy.runtime.indexing._reduce import sum_rows

if TYPE_CHECKING:
    from dynreg_numpy.runtime._arrays import Array

_SUM, _MEAN, _MAX = 0, 1, 2


def embedding_dense_backward(
    grad: Array,
    indices: Array,
    num_weights: int,
    padding_idx: int,
    scale_grad_by_freq: bool,
) -> Array:
    r"""Return the gradient of an embedding's weight, as ``aten.embedding_dense_backward`` does.

    Args:
        grad: (\*indices.shape, width).
        indices: integer, the forward's.
        num_weights: the number of rows of the weight.
        padding_idx: the row that gets no gradient; -1 for none.
        scale_grad_by_freq: divide each row by how often it was used.

    Returns:
        (num_weights, width), in the dtype of ``grad``.
    """
    rows = indices.reshape(-1).astype(np.int64, copy=False)
    values = widen(grad).reshape(len(rows), -1)
    if scale_grad_by_freq:
        counts = np.bincount(rows, minlength=num_weights)
        values = values / counts[rows, None].astype(values.dtype)
    if padding_idx >= 0:
        kept = rows != padding_idx
        rows, values = rows[kept], values[kept]
    return narrow(sum_rows(num_weights, rows, values), grad.dtype)


def embedding_bag(
    weight: Array,
    indices: Array,
    offsets: Array,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Array | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> tuple[Array, Array, Array, Array]:
    """Reduce bags of embeddings, as ``aten._embedding_bag`` does.

    Args:
        weight: (rows, width).
        indices: integer, (n,).
        offsets: where each bag starts in ``indices``, (bags,) ascending.
        scale_grad_by_freq: ignored; the backward reads it.
        mode: 0 for the sum, 1 for the mean, 2 for the maximum.
        sparse: ignored; the backward reads it.
        per_sample_weights: (n,), factors of the embeddings in a sum, or None.
        include_last_offset: whether ``offsets`` ends with n.
        padding_idx: the row that counts for nothing; -1 for none.

    Returns:
        The bags (bags, width) in the dtype of ``weight``; the bag of each index (n,); the number
        of indices of each bag that count (bags,); and the row that gave each maximum, or those
        numbers again. As in torch, a sum leaves the numbers zero, and the bags of the indices
        empty unless rows are skipped or the weight is float64.

    Raises:
        IndexError: an index is outside the rows.
    """
    del scale_grad_by_freq, sparse
    rows = select_bounds(indices, weight.shape[0])
    bags = len(offsets) - int(include_last_offset)
    lengths = np.diff(np.append(offsets[:bags], len(rows))).astype(np.int64)
    bag = np.repeat(np.arange(bags), lengths)
    kept = rows != padding_idx
    sizes = np.bincount(bag[kept], minlength=bags)
    values = widen(weight)[rows]
    if per_sample_weights is not None:
        values *= widen(per_sample_weights)[:, None]
    kept_bags, kept_values = bag[kept], values[kept]
    winners = sizes
    if mode == _MAX:
        result = np.zeros((bags, weight.shape[1]), values.dtype)
        winners = _fill_maxima(result, kept_values, rows[kept], kept_bags)
    else:
        result = sum_rows(bags, kept_bags, kept_values)
        if mode == _MEAN:
            result /= np.maximum(sizes, 1)[:, None].astype(result.dtype)
    if mode == _SUM:
        sizes = winners = np.zeros(bags, np.int64)
        bag = bag if padding_idx >= 0 or weight.dtype == np.float64 else bag[:0]
    integer = indices.dtype
    return (
        narrow(result, weight.dtype),
        bag.astype(integer),
        sizes.astype(integer),
        winners.astype(integer),
    )


def _fill_maxima(result: Array, values: Array, rows: Array, bags: Array) -> Array:
    """Fill ``result`` with the largest of each bag's ``values``; return the rows they came from."""
    winners = np.zeros(result.shape, np.int64)
    if not len(bags):
        return winners
    starts = np.flatnonzero(np.concatenate(([True], bags[1:] != bags[:-1])))
    tops = np.maximum.reduceat(values, starts, axis=0)
    filled = bags[starts]
    result[filled] = tops
    # Written from the back, so that the first of equal rows stays.
    matches = values == result[bags]
    for i in range(len(bags) - 1, -1, -1):
        np.copyto(winners[bags[i]], rows[i], where=matches[i])
    return winners


def embedding_bag_dense_backward(
    grad: Array,
    indices: Array,
    offset2bag: Array,
    bag_size: Array,
    maximum_indices: Array,
    num_weights: int,
    scale_grad_by_freq: bool,
    mode: int,
    per_sample_weights: Array | None,
    padding_idx: int = -1,
) -> Array:
    """Return the gradient of the weight of :func:`embedding_bag`.

    Args:
        grad: the gradient of the bags, (bags, width).
        indices: the forward's.
        offset2bag: the bag of each index, from the forward.
        bag_size: the size of each bag, from the forward.
        maximum_indices: the row that gave each maximum, from the forward.
        num_weights: the number of rows of the weight.
        scale_grad_by_freq: divide each row by a frequency; see ``_frequencies``.
        mode: see :func:`embedding_bag`.
        per_sample_weights: see :func:`embedding_bag`.
        padding_idx: see :func:`embedding_bag`.

    Returns:
        (num_weights, width), in the dtype of ``grad``.
    """
    wide = widen(grad)
    if mode == _MAX:
        result = np.zeros((num_weights, grad.shape[1]), wide.dtype)
        columns = np.broadcast_to(np.arange(grad.shape[1]), grad.shape)
        full = np.broadcast_to((bag_size > 0)[:, None], grad.shape)
        np.add.at(result, (maximum_indices[full], columns[full]), wide[full])
        return narrow(result, grad.dtype)
    rows = indices.astype(np.int64, copy=False)
    values = wide[offset2bag]
    if mode == _MEAN:
        values /= np.maximum(bag_size, 1)[offset2bag, None].astype(wide.dtype)
    if per_sample_weights is not None:
        values *= widen(per_sample_weights)[:, None]
    if scale_grad_by_freq:
        values /= _frequencies(rows, num_weights)[rows, None].astype(wide.dtype)
    kept = rows != padding_idx
    return narrow(sum_rows(num_weights, rows[kept], values[kept]), grad.dtype)


def _frequencies(rows: Array, num_weights: int) -> Array:
    """Return what torch divides the gradient of each used row by.

    For the i-th used row it takes the frequency not of that row, but of the i-th of all sorted
    indices: a slip in its CPU kernel, which users' results contain.
    """
    counts = np.bincount(rows, minlength=num_weights)
    used = np.flatnonzero(counts)
    result = np.ones(num_weights, np.int64)
    result[used] = counts[np.sort(rows)[: len(used)]]
    return result


def embedding_bag_weights_backward(
    grad: Array,
    weight: Array,
    indices: Array,
    offsets: Array,
    offset2bag: Array,
    mode: int,
    padding_idx: int = -1,
) -> Array:
    """Return the gradient of ``per_sample_weights``, (n,) in the dtype of ``grad``.

    Args:
        grad: the gradient of the bags, (bags, width).
        weight: the forward's.
        indices: the forward's.
        offsets: where each bag begins, read where the forward gave no ``offset2bag``.
        offset2bag: the bag of each index, from the forward, which may leave it empty.
        mode: ignored; only sums have weights.
        padding_idx: see :func:`embedding_bag`.
    """
    del mode
    if offset2bag.size < indices.size:
        offset2bag = np.searchsorted(offsets, np.arange(indices.size), side="right") - 1
    rows = widen(grad)[offset2bag], widen(weight)[indices]
    result = np.vecdot(*rows) if indices.size else np.zeros(indices.shape, rows[0].dtype)
    return narrow(np.where(indices == padding_idx, 0, result), grad.dtype)
