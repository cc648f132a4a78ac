"""Padding by reflection and replication, and shuffling between channels and space."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from dynreg_numpy.runtime._arrays import Array, narrow, widen
from dynreg_numpy.runtime.resampling._maps import AxisMap

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def reflection_pad(x: Array, padding: Sequence[int]) -> Array:
    r"""Pad by reflecting at the border elements, as ``aten.reflection_pad1d`` to ``3d`` do.

    Args:
        x: (N, C, \*size) or (C, \*size).
        padding: elements before and after each dimension, the last dimension first; negative
            numbers crop.

    Returns:
        The padded array.
    """
    return _pad(x, padding, reflect=True)


def replication_pad(x: Array, padding: Sequence[int]) -> Array:
    r"""Pad by repeating the border elements, as ``aten.replication_pad1d`` to ``3d`` do.

    Args:
        x: (N, C, \*size) or (C, \*size).
        padding: elements before and after each dimension, the last dimension first; negative
            numbers crop.

    Returns:
        The padded array.
    """
    return _pad(x, padding, reflect=False)


def _pad(x: Array, padding: Sequence[int], *, reflect: bool) -> Array:
    result = x
    for axis, along in _maps(x.shape, padding, reflect=reflect):
        result = along.apply(result, axis)
    return result if result is not x else x.copy()


def reflection_pad_backward(grad: Array, x: Array, padding: Sequence[int]) -> Array:
    """Return the gradient of :func:`reflection_pad`.

    Args:
        grad: the gradient of the result.
        x: the input; only its shape is used.
        padding: see :func:`reflection_pad`.

    Returns:
        An array like ``x``.
    """
    return _pad_backward(grad, x, padding, reflect=True)


def replication_pad_backward(grad: Array, x: Array, padding: Sequence[int]) -> Array:
    """Return the gradient of :func:`replication_pad`.

    Args:
        grad: the gradient of the result.
        x: the input; only its shape is used.
        padding: see :func:`replication_pad`.

    Returns:
        An array like ``x``.
    """
    return _pad_backward(grad, x, padding, reflect=False)


def _pad_backward(grad: Array, x: Array, padding: Sequence[int], *, reflect: bool) -> Array:
    result = widen(grad)
    for axis, along in _maps(x.shape, padding, reflect=reflect):
        result = along.adjoint(result, axis)
    return narrow(result, grad.dtype)


def _maps(
    shape: tuple[int, ...], padding: Sequence[int], *, reflect: bool
) -> Iterator[tuple[int, AxisMap]]:
    for number in range(len(padding) // 2):
        axis = len(shape) - 1 - number
        yield axis, _map(shape[axis], padding[2 * number], padding[2 * number + 1], reflect)


@functools.lru_cache(maxsize=256)
def _map(size: int, before: int, after: int, reflect: bool) -> AxisMap:
    places = np.arange(-before, size + after)
    if reflect:
        last = size - 1
        places = last - np.abs(last - np.abs(places))
    return AxisMap(size, np.clip(places, 0, size - 1)[None], None)


def pixel_shuffle(x: Array, factor: int) -> Array:
    r"""Move channels into space: (\*, C r², H, W) to (\*, C, H r, W r), as ``aten.pixel_shuffle``.

    Args:
        x: (\*, C r², H, W).
        factor: r.

    Returns:
        (\*, C, H r, W r).
    """
    *lead, channels, height, width = x.shape
    blocks = x.reshape(*lead, channels // factor**2, factor, factor, height, width)
    n = len(lead)
    ordered = blocks.transpose(*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return ordered.reshape(*lead, channels // factor**2, height * factor, width * factor)


def pixel_unshuffle(x: Array, factor: int) -> Array:
    r"""Move space into channels, the inverse of :func:`pixel_shuffle`: ``aten.pixel_unshuffle``.

    Args:
        x: (\*, C, H r, W r).
        factor: r.

    Returns:
        (\*, C r², H, W).
    """
    *lead, channels, height, width = x.shape
    blocks = x.reshape(*lead, channels, height // factor, factor, width // factor, factor)
    n = len(lead)
    ordered = blocks.transpose(*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return ordered.reshape(*lead, channels * factor**2, height // factor, width // factor)


def channel_shuffle(x: Array, groups: int) -> Array:
    r"""Interleave groups of channels of (N, C, \*size), as ``aten.channel_shuffle`` does."""
    batch, channels, *size = x.shape
    blocks = x.reshape(batch, groups, channels // groups, *size)
    return blocks.swapaxes(1, 2).reshape(x.shape)
