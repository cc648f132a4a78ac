"""Sampling at the points of a grid.

M. Jaderberg et al., "Spatial Transformer Networks", 2015 (arXiv:1506.02025).
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from dynreg_numpy.runtime._arrays import Array, narrow, widen
from dynreg_numpy.runtime.resampling._maps import cubic_weights

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Interpolation(IntEnum):
    """ATen's numbers for how values between elements are found."""

    BILINEAR = 0
    NEAREST = 1
    BICUBIC = 2


class Padding(IntEnum):
    """ATen's numbers for what lies outside the input."""

    ZEROS = 0
    BORDER = 1
    REFLECTION = 2


def grid_sampler(
    x: Array, grid: Array, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Array:
    r"""Sample as ``aten.grid_sampler_2d`` and ``grid_sampler_3d`` do.

    Args:
        x: (N, C, \*size), with two or three spatial dimensions.
        grid: (N, \*out_size, dims): points with coordinates in [-1, 1], the last dimension first.
        interpolation_mode: 0 for (bi- or tri-)linear, 1 for nearest, 2 for bicubic.
        padding_mode: what lies outside: 0 for zeros, 1 for the border, 2 for a reflection.
        align_corners: let ±1 mean the centres of the corner elements, and not their edges.

    Returns:
        (N, C, \*out_size), in the dtype of ``x``.
    """
    # Not in float32: torch rounds narrow formats after each step here, coordinates too.
    wide, points = x, grid
    planes = wide.reshape(*x.shape[:2], -1)
    result = np.zeros((*x.shape[:2], math.prod(grid.shape[1:-1])), wide.dtype)
    axes = sample_axes(points, x.shape[2:], interpolation_mode, padding_mode, align_corners)
    for corner in corners(axes, interpolation_mode, padding_mode, align_corners):
        values = corner.read(planes)
        values *= corner.weight[:, None]
        result += values
    return narrow(result.reshape(*x.shape[:2], *grid.shape[1:-1]), x.dtype)


def affine_grid(theta: Array, size: Sequence[int], align_corners: bool) -> Array:
    r"""Return the grid of an affine map, as ``aten.affine_grid_generator`` does.

    Args:
        theta: (N, dims, dims + 1).
        size: the shape of what will be sampled, (N, C, \*size).
        align_corners: let ±1 mean the centres of the corner elements, and not their edges.

    Returns:
        (N, \*size, dims), in the dtype of ``theta``.
    """
    wide = widen(theta)
    spatial = tuple(size)[2:]
    ends = [1.0 if align_corners else (n - 1) / n for n in spatial]
    lines = [
        np.linspace(-end, end, n, dtype=wide.dtype) if n > 1 else np.zeros(1, wide.dtype)
        for end, n in zip(ends, spatial, strict=True)
    ]
    mesh = np.meshgrid(*lines, indexing="ij")[::-1]
    points = np.stack([*mesh, np.ones(spatial, wide.dtype)], -1).reshape(-1, len(spatial) + 1)
    result = np.matmul(points, wide.swapaxes(1, 2))
    return narrow(result.reshape(len(theta), *spatial, len(spatial)), theta.dtype)


@dataclasses.dataclass(frozen=True)
class Axis:
    """The coordinates of all points along one spatial axis, in elements: (N, points)."""

    size: int
    place: Array
    slope: Array  # of the place, by the grid's coordinate


@dataclasses.dataclass(frozen=True)
class Corner:
    """One of the elements that each point is interpolated from."""

    number: tuple[int, ...]
    index: Array  # flat, inside the plane, (N, points)
    inside: Array | None  # where there is such an element; None for everywhere
    weight: Array  # (N, points)

    def read(self, planes: Array) -> Array:
        """Return the values of (N, C, plane) at this corner: (N, C, points), zero outside."""
        values = np.take_along_axis(planes, self.index[:, None], 2)
        if self.inside is not None:
            values *= self.inside[:, None]
            if not np.isfinite(values).all():
                np.copyto(values, 0, where=~self.inside[:, None])
        return values


def sample_axes(
    points: Array,
    size: Sequence[int],
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
) -> list[Axis]:
    """Return the axes in the order of the array's.

    Padding is applied to the coordinates, except in bicubic sampling, where it is applied to each
    of the elements that a point is interpolated from.
    """
    if interpolation_mode == Interpolation.BICUBIC:
        padding_mode = Padding.ZEROS
    flat = points.reshape(points.shape[0], -1, points.shape[-1])
    axes = []
    for axis, n in enumerate(size):
        coordinate = flat[..., len(size) - 1 - axis]
        place, slope = unnormalised(coordinate, n, align_corners)
        axes.append(Axis(n, *padded(place, slope, n, padding_mode, align_corners)))
    return axes


def unnormalised(coordinate: Array, size: int, align_corners: bool) -> tuple[Array, Array]:
    """Turn [-1, 1] into elements; return places and their slope."""
    if align_corners:
        factor = (size - 1) / 2
        place = (coordinate + 1) / 2 * (size - 1)
    else:
        factor = size / 2
        place = ((coordinate + 1) * size - 1) / 2
    return place, np.full_like(place, factor)


def padded(
    place: Array, slope: Array, size: int, padding_mode: int, align_corners: bool
) -> tuple[Array, Array]:
    """Bring places that lie outside to where padding takes them, with their slopes."""
    if padding_mode == Padding.ZEROS:
        return place, slope
    if padding_mode == Padding.REFLECTION:
        place, slope = _reflected(place, slope, size, align_corners)
    clipped = np.where((place <= 0) | (place >= size - 1), 0, slope)
    # fmin and fmax take a NaN to the border.
    return np.fmin(np.fmax(place, 0), size - 1), clipped


def _reflected(place: Array, slope: Array, size: int, align_corners: bool) -> tuple[Array, Array]:
    low, span = (0.0, size - 1.0) if align_corners else (-0.5, float(size))
    if span == 0:
        return np.zeros_like(place), np.zeros_like(slope)
    distance = place - low
    slope = np.where(distance < 0, -slope, slope)
    distance = np.abs(distance)
    extra, flips = np.fmod(distance, span), np.floor(distance / span)
    odd = np.fmod(flips, 2) != 0
    place = np.where(odd, span - extra + low, extra + low)
    return place.astype(distance.dtype, copy=False), np.where(odd, -slope, slope)


def corners(
    axes: Sequence[Axis], interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Iterator[Corner]:
    """Yield the elements that the points are interpolated from, with their weights."""
    if interpolation_mode == Interpolation.NEAREST:
        one = np.ones_like(axes[0].place)
        rounded = [np.rint(axis.place) for axis in axes]
        yield _corner(tuple(0 for _ in axes), axes, rounded, one)
        return
    if interpolation_mode == Interpolation.BICUBIC:
        yield from _bicubic_corners(axes, padding_mode, align_corners)
        return
    lows = [np.floor(axis.place) for axis in axes]
    parts = [axis.place - low for axis, low in zip(axes, lows, strict=True)]
    for number in itertools.product((0, 1), repeat=len(axes)):
        weight = np.ones_like(axes[0].place)
        for bit, part in zip(number, parts, strict=True):
            weight *= part if bit else 1 - part
        places = [low + bit for bit, low in zip(number, lows, strict=True)]
        yield _corner(number, axes, places, weight)


def _bicubic_corners(
    axes: Sequence[Axis], padding_mode: int, align_corners: bool
) -> Iterator[Corner]:
    """Yield sixteen elements, to each of which padding applies on its own."""
    lows = [np.floor(axis.place) for axis in axes]
    weights = [cubic_weights(axis.place - low) for axis, low in zip(axes, lows, strict=True)]
    for number in itertools.product(range(4), repeat=2):
        places = [
            padded(low + (i - 1), low, axis.size, padding_mode, align_corners)[0]
            for i, low, axis in zip(number, lows, axes, strict=True)
        ]
        yield _corner(number, axes, places, weights[0][number[0]] * weights[1][number[1]])


def _corner(
    number: tuple[int, ...], axes: Sequence[Axis], places: Sequence[Array], weight: Array
) -> Corner:
    inside = np.ones(weight.shape, bool)
    index = np.zeros(weight.shape, np.int64)
    for axis, place in zip(axes, places, strict=True):
        here = (place >= 0) & (place <= axis.size - 1)
        inside &= here
        index *= axis.size
        index += np.where(here, place, 0).astype(np.int64)
    return Corner(number, index, None if inside.all() else inside, weight)
