"""The gradients of sampling at the points of a grid."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dynreg_numpy.runtime._arrays import Array, narrow, widen
from dynreg_numpy.runtime.resampling._grid import (
    Interpolation,
    corners,
    sample_axes,
)
from dynreg_numpy.runtime.resampling._maps import cubic_weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dynreg_numpy.runtime.resampling._grid import Axis, Corner

_KEYS = -0.75


def grid_sampler_backward(
    grad: Array,
    x: Array,
    grid: Array,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    output_mask: Sequence[bool],
) -> tuple[Array | None, Array | None]:
    r"""Return the gradients of :func:`grid_sampler`, as its ATen backwards do.

    Args:
        grad: the gradient of the result, (N, C, \*out_size).
        x: the input.
        grid: the points.
        interpolation_mode: see :func:`grid_sampler`.
        padding_mode: see :func:`grid_sampler`.
        align_corners: see :func:`grid_sampler`.
        output_mask: which of the gradients to compute: of input, grid.

    Returns:
        The gradients of input and grid; None where the mask is false.
    """
    wide, points = widen(x), widen(grid)
    batch, channels = x.shape[:2]
    plane = math.prod(x.shape[2:])
    planes = wide.reshape(batch, channels, plane)
    slopes = widen(grad).reshape(batch, channels, -1)
    bicubic = interpolation_mode == Interpolation.BICUBIC
    axes = sample_axes(points, x.shape[2:], interpolation_mode, padding_mode, align_corners)
    sums = np.zeros((batch, channels, plane), wide.dtype) if output_mask[0] else None
    moves = [np.zeros_like(axis.place) for axis in axes]
    changes = _bicubic_changes(axes) if bicubic else []
    for corner in corners(axes, interpolation_mode, padding_mode, align_corners):
        if sums is not None:
            _add(sums, corner, slopes)
        if not output_mask[1] or interpolation_mode == Interpolation.NEAREST:
            continue
        value = np.einsum("ncp,ncp->np", slopes, corner.read(planes))
        for axis in range(len(axes)):
            change = _cubic(changes, corner, axis) if bicubic else _linear(axes, corner, axis)
            moves[axis] += value * change
    grad_grid = None
    if output_mask[1]:
        by_axis = [move * axis.slope for move, axis in zip(moves, axes, strict=True)]
        grad_grid = narrow(np.stack(by_axis[::-1], -1).reshape(grid.shape), grid.dtype)
    return None if sums is None else narrow(sums.reshape(x.shape), x.dtype), grad_grid


def _add(sums: Array, corner: Corner, slopes: Array) -> None:
    """Add the gradients of all points to the elements of one corner."""
    values = slopes * corner.weight[:, None]
    if corner.inside is not None:
        np.copyto(values, 0, where=~corner.inside[:, None])
    batch, channels, plane = sums.shape
    first = np.arange(batch * channels).reshape(batch, channels, 1) * plane
    np.add.at(sums.reshape(-1), (corner.index[:, None] + first).reshape(-1), values.reshape(-1))


def _linear(axes: Sequence[Axis], corner: Corner, axis: int) -> Array:
    """Return how a corner's weight changes as points move along ``axis``."""
    result = np.ones_like(corner.weight)
    for other, (bit, at) in enumerate(zip(corner.number, axes, strict=True)):
        part = at.place - np.floor(at.place)
        if other == axis:
            result *= 1 if bit else -1
        else:
            result *= part if bit else 1 - part
    return result


def _bicubic_changes(axes: Sequence[Axis]) -> list[tuple[Array, Array]]:
    """Return the cubic weights of each axis, and their derivatives: (4, N, points) each."""
    result = []
    for axis in axes:
        t = axis.place - np.floor(axis.place)
        u = 1 - t
        derivative = np.stack([_far(t + 1), _near(t), -_near(u), -_far(u + 1)])
        result.append((cubic_weights(t), derivative))
    return result


def _near(x: Array) -> Array:
    return np.asarray((3 * (_KEYS + 2) * x - 2 * (_KEYS + 3)) * x)


def _far(x: Array) -> Array:
    return np.asarray((3 * _KEYS * x - 10 * _KEYS) * x + 8 * _KEYS)


def _cubic(changes: Sequence[tuple[Array, Array]], corner: Corner, axis: int) -> Array:
    """Return how a corner's weight changes as points move along ``axis``."""
    result = np.ones_like(corner.weight)
    for other, (i, (weights, derivatives)) in enumerate(zip(corner.number, changes, strict=True)):
        result *= derivatives[i] if other == axis else weights[i]
    return result
