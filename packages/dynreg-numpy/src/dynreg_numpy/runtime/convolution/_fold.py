"""Folding (col2im): adding each tap's row where the tap reads, the adjoint of unfolding."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dynreg_numpy.runtime._arrays import Array
    from dynreg_numpy.runtime.convolution._geometry import Geometry, Ints, Tile

#: With fewer columns OpenBLAS spends its time on reading the weights.
_MIN_COLUMNS = 128
_ALL = slice(None)


def fold(y: Array, weight: Array, g: Geometry, out: Array) -> Array:
    r"""Fill ``out`` (N, C, \*in_size) with the adjoint of the correlation; see ``input_adjoint``.

    The sums are built in *phases*: positions that are congruent modulo the stride lie together, so
    that each tap adds unit-stride rows; one copy at the end puts the phases in order.
    """
    matrix = weight.reshape(g.groups, -1, g.depth).swapaxes(1, 2)
    rows = np.ascontiguousarray(y).reshape(g.batch, g.groups, -1, g.positions)
    steps = tuple(-(-n // s) for n, s in zip(g.padded_size, g.stride, strict=True))
    sums = np.zeros((*g.stride, g.batch, g.in_channels, *steps), out.dtype)
    for tile in g.tiles(y.itemsize, _MIN_COLUMNS):
        columns = np.matmul(matrix, rows[tile.samples, ..., tile.flat])
        extents = (s.stop - s.start for s in tile.spatial)
        columns = columns.reshape(-1, g.in_channels, *g.kernel, *extents)
        for tap, phase, place in _taps(g, tile):
            target = sums[phase][(tile.samples, _ALL, *place)]
            target += columns[(_ALL, _ALL, *tap)]
    for phase in itertools.product(*map(range, g.stride)):
        _place_phase(sums[phase], phase, g, out)
    return out


def _taps(g: Geometry, tile: Tile) -> Iterator[tuple[Ints, Ints, tuple[slice, ...]]]:
    """Yield each tap's index, its phase, and the slices of the phase that a tile adds to."""
    for tap in itertools.product(*map(range, g.kernel)):
        offsets = [i * d for i, d in zip(tap, g.dilation, strict=True)]
        phase = tuple(o % s for o, s in zip(offsets, g.stride, strict=True))
        place = tuple(
            slice(o // s + at.start, o // s + at.stop)
            for o, s, at in zip(offsets, g.stride, tile.spatial, strict=True)
        )
        yield tap, phase, place


def _place_phase(source: Array, phase: Ints, g: Geometry, out: Array) -> None:
    """Copy one phase of the padded sums to the positions of ``out`` that it holds."""
    into: list[slice] = []
    taken: list[slice] = []
    for r, s, p, n in zip(phase, g.stride, g.padding, g.in_size, strict=True):
        start = (r - p) % s
        first = (start + p - r) // s
        count = max(0, -(-(n - start) // s))
        into.append(slice(start, None, s))
        taken.append(slice(first, first + count))
    out[(_ALL, _ALL, *into)] = source[(_ALL, _ALL, *taken)]
