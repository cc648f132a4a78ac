"""Sliding blocks: im2col, col2im, and the backward of Tensor.unfold."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from dynreg_numpy.runtime._arrays import narrow, widen, wrap_dim

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dynreg_numpy.runtime._arrays import Array, Index


def im2col(
    x: Array,
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Array:
    """Copy sliding blocks into columns, as ``aten.im2col`` does.

    Args:
        x: (N, C, H, W) or (C, H, W).
        kernel_size: the size of a block.
        dilation: distance between its elements.
        padding: zeros on both sides.
        stride: distance between blocks.

    Returns:
        (N, C * block size, blocks), or without N.
    """
    counts = _counts(x.shape[-2:], kernel_size, dilation, padding, stride)
    inner = tuple(slice(p, p + n) for p, n in zip(padding, x.shape[-2:], strict=True))
    padded = np.zeros((*x.shape[:-2], *_padded(x.shape[-2:], padding)), x.dtype)
    every: Index = (slice(None),) * (x.ndim - 2)
    padded[(*every, *inner)] = x
    columns = np.empty((*x.shape[:-2], *kernel_size, *counts), x.dtype)
    for tap, window in _windows(kernel_size, dilation, stride, counts):
        columns[(*every, *tap)] = padded[(*every, *window)]
    channels = x.shape[-3] * math.prod(kernel_size)
    return columns.reshape(*x.shape[:-3], channels, math.prod(counts))


def col2im(
    x: Array,
    output_size: Sequence[int],
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Array:
    """Add columns back where :func:`im2col` took them from, as ``aten.col2im`` does.

    Args:
        x: (N, C * block size, blocks), or without N.
        output_size: (H, W) of the result.
        kernel_size: the size of a block.
        dilation: distance between its elements.
        padding: cut off on both sides.
        stride: distance between blocks.

    Returns:
        (N, C, H, W), or without N.
    """
    size = tuple(output_size)
    counts = _counts(size, kernel_size, dilation, padding, stride)
    lead = x.shape[:-2]
    channels = x.shape[-2] // math.prod(kernel_size)
    columns = widen(x).reshape(*lead, channels, *kernel_size, *counts)
    padded = np.zeros((*lead, channels, *_padded(size, padding)), columns.dtype)
    every: Index = (slice(None),) * (len(lead) + 1)
    for tap, window in _windows(kernel_size, dilation, stride, counts):
        target = padded[(*every, *window)]
        target += columns[(*every, *tap)]
    inner = tuple(slice(p, p + n) for p, n in zip(padding, size, strict=True))
    return narrow(np.ascontiguousarray(padded[(*every, *inner)]), x.dtype)


def unfold_backward(
    grad: Array, input_sizes: Sequence[int], dim: int, size: int, step: int
) -> Array:
    """Return the gradient of ``Tensor.unfold``, as ``aten.unfold_backward`` does.

    Args:
        grad: the gradient of the windows: their number in ``dim``, their elements last.
        input_sizes: the shape of the input.
        dim: the dimension that was unfolded.
        size: the length of a window.
        step: the distance between windows.

    Returns:
        An array of shape ``input_sizes``.
    """
    axis = wrap_dim(dim, len(input_sizes))
    wide = widen(grad)
    result = np.zeros(tuple(input_sizes), wide.dtype)
    if not input_sizes:
        result += wide.sum()
        return narrow(result, grad.dtype)
    count = wide.shape[axis]
    every = (slice(None),) * axis
    for i in range(size):
        target = result[(*every, slice(i, i + (count - 1) * step + 1, step))]
        target += wide[..., i]
    return narrow(result, grad.dtype)


def _padded(size: Sequence[int], padding: Sequence[int]) -> tuple[int, ...]:
    return tuple(n + 2 * p for n, p in zip(size, padding, strict=True))


def _counts(
    size: Sequence[int],
    kernel: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> tuple[int, ...]:
    """Return how many blocks lie along each dimension."""
    return tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, d, p, s in zip(size, kernel, dilation, padding, stride, strict=True)
    )


def _windows(
    kernel: Sequence[int], dilation: Sequence[int], stride: Sequence[int], counts: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]:
    """Yield each element of a block with the slices of the padded input that it reads."""
    for tap in itertools.product(*map(range, kernel)):
        yield (
            tap,
            tuple(
                slice(i * d, i * d + (n - 1) * s + 1, s)
                for i, d, s, n in zip(tap, dilation, stride, counts, strict=True)
            ),
        )
