"""Reductions of consecutive segments."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dynreg_numpy.runtime._arrays import narrow, widen

if TYPE_CHECKING:
    from dynreg_numpy.runtime._arrays import Array

_UFUNCS = {
    "sum": np.add,
    "mean": np.add,
    "max": np.maximum,
    "min": np.minimum,
    "prod": np.multiply,
}
_INITIAL = {"sum": 0.0, "mean": 0.0, "max": -math.inf, "min": math.inf, "prod": 1.0}


def segment_reduce(
    data: Array,
    reduce: str,
    lengths: Array | None = None,
    indices: Array | None = None,
    offsets: Array | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: float | None = None,
) -> Array:
    r"""Reduce segments of ``axis``, as ``aten.segment_reduce`` does.

    Args:
        data: (\*lead, n, \*inner).
        reduce: "sum", "mean", "max", "min" or "prod".
        lengths: of the segments, (\*lead, segments), or None if ``offsets`` are given.
        indices: not supported by torch; None.
        offsets: where segments start and the last ends, (\*lead, segments + 1), or None.
        axis: the number of leading dimensions.
        unsafe: do not hold ``lengths`` against n.
        initial: the value that each reduction starts from.

    Returns:
        (\*lead, segments, \*inner), in the dtype of ``data``; an empty segment gives ``initial``,
        or what the reduction starts from, or NaN for a mean.

    Raises:
        RuntimeError: neither lengths nor offsets are given, or lengths do not add up to n.
    """
    del indices
    sizes = _lengths(data, lengths, offsets, axis, unsafe=unsafe)
    wide = widen(data)
    lead, inner = data.shape[:axis], data.shape[axis + 1 :]
    segments = sizes.shape[-1]
    start = _INITIAL[reduce] if initial is None else initial
    result = np.full((*lead, segments, *inner), start, wide.dtype)
    ufunc = _UFUNCS[reduce]
    for at in np.ndindex(lead):
        size, rows = sizes[at], result[at]
        begins = np.cumsum(size) - size
        used = size > 0
        if used.any():
            ends = int(size.sum())
            parts = ufunc.reduceat(wide[at][:ends], begins[used], axis=0)
            rows[used] = ufunc(rows[used], parts)
        if reduce == "mean":
            counted = np.where(used, size, 0 if initial is None else 1).astype(wide.dtype)
            rows /= counted.reshape(-1, *(1,) * len(inner))
    return narrow(result, data.dtype)


def segment_reduce_backward(
    grad: Array,
    output: Array,
    data: Array,
    reduce: str,
    lengths: Array | None = None,
    offsets: Array | None = None,
    axis: int = 0,
    initial: float | None = None,
) -> Array:
    """Return the gradient of :func:`segment_reduce`, as ``aten._segment_reduce_backward`` does.

    Args:
        grad: the gradient of the result.
        output: the result.
        data: the input.
        reduce: see :func:`segment_reduce`.
        lengths: see :func:`segment_reduce`.
        offsets: see :func:`segment_reduce`.
        axis: see :func:`segment_reduce`.
        initial: see :func:`segment_reduce`.

    Returns:
        An array like ``data``. Elements that equal the extremum share a positive gradient evenly,
        but each get all of a negative one, as in torch.
    """
    sizes = _lengths(data, lengths, offsets, axis, unsafe=True)
    wide, grads, outputs = widen(data), widen(grad), widen(output)
    result = np.zeros(data.shape, wide.dtype)
    start = 1.0 if initial is None else initial
    for at in np.ndindex(data.shape[:axis]):
        stop = 0
        for segment, size in enumerate(sizes[at]):
            begin, stop = stop, stop + int(size)
            if size:
                block = wide[at][begin:stop]
                g, o = grads[at][segment], outputs[at][segment]
                result[at][begin:stop] = _block_gradient(g, o, block, reduce, start)
    return narrow(result, data.dtype)


def _block_gradient(grad: Array, output: Array, block: Array, reduce: str, start: float) -> Array:
    r"""Return the gradient of one segment, like ``block`` (n, \*inner)."""
    if reduce == "sum":
        return np.broadcast_to(grad, block.shape)
    if reduce == "mean":
        return np.broadcast_to(grad / len(block), block.shape)
    if reduce == "prod":
        others = np.empty_like(block)
        for i in range(len(block)):
            others[i] = start * np.delete(block, i, 0).prod(0)
        with_zero = (block == 0) | np.isnan(block)
        return np.asarray(np.where(with_zero, grad * others, grad * output / block))
    hits = (block == output) | np.isnan(block)
    shared = np.where(grad > 0, grad / np.maximum(hits.sum(0), 1), grad)
    return np.asarray(np.where(hits, shared, 0))


def _lengths(
    data: Array, lengths: Array | None, offsets: Array | None, axis: int, *, unsafe: bool
) -> Array:
    if lengths is None:
        if offsets is None:
            raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
        return np.diff(offsets, axis=-1)
    if not unsafe:
        if lengths.size and lengths.min() < 0:
            raise RuntimeError("lengths contains negative value!")
        if (lengths.sum(-1) != data.shape[axis]).any():
            raise RuntimeError(
                "segment_reduce(): Expected all rows of lengths along axis to sum to "
                "data.size(lengths.dim()-1) when !unsafe."
            )
    return lengths
