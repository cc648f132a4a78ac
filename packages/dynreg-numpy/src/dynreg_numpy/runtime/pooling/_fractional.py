"""Fractional max pooling, and the partial inverse of max pooling."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dynreg_numpy.runtime._arrays import Array, narrow, widen
from dynreg_numpy.runtime.pooling._adaptive import first_max_last_nan
from dynreg_numpy.runtime.pooling._max import scatter_planes

if TYPE_CHECKING:
    from collections.abc import Sequence


def fractional_max_pool(
    x: Array, kernel_size: Sequence[int], output_size: Sequence[int], random_samples: Array
) -> tuple[Array, Array]:
    r"""Pool over pseudo-random windows, as ``aten.fractional_max_pool2d`` and ``3d`` do.

    B. Graham, "Fractional Max-Pooling", 2014 (arXiv:1412.6071).

    Args:
        x: (N, C, \*size) or (C, \*size), with two or three spatial dimensions.
        kernel_size: the size of every window.
        output_size: the number of windows per dimension.
        random_samples: (N, C, dims) in [0, 1): one offset per plane and dimension. In two
            dimensions torch takes the first for the width; in three it takes them in order.

    Returns:
        (N, C, \*output_size) in the dtype of ``x``, and the int64 position of each maximum in its
        flattened \*size.
    """
    dims = len(output_size)
    size = x.shape[-dims:]
    samples = widen(random_samples).reshape(-1, dims)[: math.prod(x.shape[:-dims])]
    planes = widen(x).reshape(-1, math.prod(size))
    order = (1, 0) if dims == 2 else range(dims)
    positions = np.zeros((len(planes), *(1,) * 2 * dims), np.int64)
    for axis, which in enumerate(order):
        starts = _starts(samples[:, which], size[axis], output_size[axis], kernel_size[axis])
        places = starts[:, :, None] + np.arange(kernel_size[axis])
        shape = [len(places), *(1,) * 2 * dims]
        shape[1 + axis], shape[1 + dims + axis] = places.shape[1:]
        positions = positions + places.reshape(shape) * math.prod(size[axis + 1 :])
    positions = positions.reshape(len(planes), math.prod(output_size), -1)
    flat = positions.reshape(len(planes), -1)
    cells = np.take_along_axis(planes, flat, 1).reshape(positions.shape)
    best = first_max_last_nan(cells)[..., None]
    values = np.take_along_axis(cells, best, -1)
    result = (*x.shape[:-dims], *output_size)
    return (
        narrow(values.reshape(result), x.dtype),
        np.take_along_axis(positions, best, -1).reshape(result),
    )


def _starts(samples: Array, in_size: int, out_size: int, kernel: int) -> Array:
    """Return where each window starts, per sample: (samples, out_size)."""
    last = in_size - kernel
    starts = np.full((len(samples), out_size), last, np.int64)
    if out_size > 1:
        # In the samples' own precision, so that truncation cuts where torch's does.
        alpha = samples.dtype.type(last) / samples.dtype.type(out_size - 1)
        steps = np.arange(out_size - 1, dtype=samples.dtype)
        moved = ((steps + samples[:, None]) * alpha).astype(np.int64)
        starts[:, :-1] = moved - (samples * alpha).astype(np.int64)[:, None]
    return starts


def fractional_max_pool_backward(grad: Array, x: Array, indices: Array, dims: int) -> Array:
    """Return the gradient of :func:`fractional_max_pool`, an array like ``x``.

    Args:
        grad: the gradient of the maxima.
        x: the input; only its shape is used.
        indices: the positions that the forward returned.
        dims: the number of spatial dimensions.
    """
    return scatter_planes(grad, indices, x.shape, dims, unique=False)


def max_unpool(x: Array, indices: Array, output_size: Sequence[int]) -> Array:
    r"""Put pooled values back, as ``aten.max_unpool2d`` and ``max_unpool3d`` do.

    Args:
        x: (N, C, \*size) or (C, \*size).
        indices: the position of each value in its flattened \*output_size.
        output_size: one size per spatial dimension.

    Returns:
        (N, C, \*output_size): zeros but for the values; of several at one position, the last.

    Raises:
        RuntimeError: an index is outside the result.
    """
    dims = len(output_size)
    plane = math.prod(output_size)
    if indices.size and not 0 <= indices.min() <= indices.max() < plane:
        wrong = indices[(indices < 0) | (indices >= plane)].reshape(-1)[0]
        raise RuntimeError(
            f"Found an invalid max index: {wrong} (output volumes are of size "
            f"{'x'.join(map(str, output_size))})"
        )
    shape = (*x.shape[:-dims], *output_size)
    return scatter_planes(x, indices, shape, dims, unique=True)
