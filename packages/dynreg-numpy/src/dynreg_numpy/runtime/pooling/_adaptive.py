"""Adaptive pooling: as many windows as the result has elements, of nearly equal size."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from dynreg_numpy.runtime._arrays import Array, narrow, widen
from dynreg_numpy.runtime.pooling._max import scatter_planes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dynreg_numpy.runtime._arrays import Index


def _bounds(in_size: int, out_size: int) -> list[tuple[int, int]]:
    """Return each window's start and end: floor(i n / o) and ceil((i + 1) n / o)."""
    return [(i * in_size // out_size, -(-(i + 1) * in_size // out_size)) for i in range(out_size)]


def adaptive_avg_pool(x: Array, output_size: Sequence[int], *, out: Array | None = None) -> Array:
    r"""Average as ``aten._adaptive_avg_pool2d`` and ``_adaptive_avg_pool3d`` do.

    Args:
        x: (N, C, \*size) or (C, \*size).
        output_size: one size per spatial dimension.
        out: where to put the result.

    Returns:
        (N, C, \*output_size), in the dtype of ``x``.
    """
    result = widen(x)
    lead = x.ndim - len(output_size)
    if all(size == 1 for size in output_size):
        result = np.mean(result, tuple(range(lead, x.ndim)), keepdims=True)
        return narrow(result, x.dtype, out)
    for axis, size in enumerate(output_size, start=lead):
        result = _mean_along(result, axis, size)
    return narrow(result, x.dtype, out)


def _mean_along(x: Array, axis: int, out_size: int) -> Array:
    size = x.shape[axis]
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    if out_size and size % out_size == 0:
        blocks = x.reshape(*before, out_size, size // out_size, *after)
        return np.asarray(blocks.mean(axis + 1))
    result = np.empty((*before, out_size, *after), x.dtype)
    every = (slice(None),) * axis
    for i, (start, end) in enumerate(_bounds(size, out_size)):
        at: Index = (*every, i)
        x[(*every, slice(start, end))].mean(axis, out=result[at])
    return result


def adaptive_avg_pool_backward(grad: Array, x: Array, dims: int) -> Array:
    r"""Return the gradient of :func:`adaptive_avg_pool`.

    Args:
        grad: the gradient of the averages, (N, C, \*output_size) or (C, \*output_size).
        x: the input; only its shape is used.
        dims: the number of spatial dimensions.

    Returns:
        An array like ``x``, in the dtype of ``grad``.
    """
    result = widen(grad)
    for axis in range(x.ndim - dims, x.ndim):
        size, out_size = x.shape[axis], result.shape[axis]
        every = (slice(None),) * axis
        spread = np.zeros((*result.shape[:axis], size, *result.shape[axis + 1 :]), result.dtype)
        for i, (start, end) in enumerate(_bounds(size, out_size)):
            target = spread[(*every, slice(start, end))]
            target += result[(*every, slice(i, i + 1))] / (end - start)
        result = spread
    return narrow(result, grad.dtype)


def adaptive_max_pool(x: Array, output_size: Sequence[int]) -> tuple[Array, Array]:
    r"""Take maxima as ``aten.adaptive_max_pool2d`` and ``adaptive_max_pool3d`` do.

    Args:
        x: (N, C, \*size) or (C, \*size).
        output_size: one size per spatial dimension.

    Returns:
        (N, C, \*output_size) in the dtype of ``x``, and the int64 position of each maximum in its
        flattened \*size: of the first of equal elements, or of the last NaN.
    """
    dims = len(output_size)
    size = x.shape[-dims:]
    wide = widen(x)
    shape = (*x.shape[:-dims], *output_size)
    values, positions = np.empty(shape, wide.dtype), np.empty(shape, np.int64)
    plane = np.arange(math.prod(size)).reshape(size)
    bounds = [_bounds(n, o) for n, o in zip(size, output_size, strict=True)]
    for cell in itertools.product(*map(range, output_size)):
        window = tuple(slice(*bounds[axis][i]) for axis, i in enumerate(cell))
        lead = (slice(None),) * (x.ndim - dims)
        block = wide[(*lead, *window)]
        block = block.reshape(*block.shape[:-dims], -1)
        best = first_max_last_nan(block)
        at: Index = (*lead, *cell)
        values[at] = np.take_along_axis(block, best[..., None], -1)[..., 0]
        positions[at] = plane[window].reshape(-1)[best]
    return narrow(values, x.dtype), positions


def first_max_last_nan(x: Array) -> Array:
    """Return where pooling finds the maximum of the last axis: its first, or the last NaN."""
    best: Array = x.argmax(-1)
    if x.dtype.kind == "f":
        nans = np.isnan(x)
        if nans.any():
            last = x.shape[-1] - 1 - nans[..., ::-1].argmax(-1)
            best = np.where(nans.any(-1), last, best)
    return best


def adaptive_max_pool_backward(grad: Array, x: Array, indices: Array, dims: int) -> Array:
    """Return the gradient of :func:`adaptive_max_pool`, an array like ``x``.

    Args:
        grad: the gradient of the maxima.
        x: the input; only its shape is used.
        indices: the positions that the forward returned.
        dims: the number of spatial dimensions.
    """
    return scatter_planes(grad, indices, x.shape, dims, unique=False)
