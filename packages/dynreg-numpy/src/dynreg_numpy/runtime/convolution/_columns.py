"""Unfolding (im2col): the input of each tap, copied tile by tile into one reused buffer.

K. Chellapilla, S. Puri, P. Simard, "High Performance Convolutional Neural Networks for Document
Processing", 2006, describes unfolding as a way to write convolution as a matrix product.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import TYPE_CHECKING

import numpy as np

from dynreg_numpy.runtime._arrays import DType
from dynreg_numpy.runtime.convolution._geometry import Ints

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dynreg_numpy.runtime._arrays import Array
    from dynreg_numpy.runtime.convolution._geometry import Geometry, Tile


@dataclasses.dataclass(frozen=True)
class Piece:
    """One tile of the output, and the part of the windows that it reads."""

    samples: slice
    flat: slice
    count: int
    source: tuple[slice, ...]
    shape: Ints
    columns: Ints


@dataclasses.dataclass(frozen=True)
class Unfolding:
    """Everything about unfolding inputs of one geometry and dtype that is known before the data.

    ``windows`` are a view of the padded input. Where adjacent elements are copied together, they
    form one opaque item: NumPy copies strided arrays element by element in its innermost loop,
    where short rows cost more in loop overhead than in copying, but an item is one ``memmove``.
    """

    to_order: Ints
    padded_shape: Ints | None
    inner: tuple[slice, ...]
    item: DType
    shape: Ints
    strides: Ints
    pieces: tuple[Piece, ...]
    scratch: int

    def __call__(self, x: Array) -> Iterator[tuple[Piece, Array]]:
        """Yield each piece with its columns, which are valid until the next piece."""
        windows = np.ndarray(self.shape, self.item, self.pad(x), 0, self.strides)
        scratch = np.empty(self.scratch, self.item)
        for piece in self.pieces:
            buffer = scratch[: math.prod(piece.shape)].reshape(piece.shape)
            np.copyto(buffer, windows[piece.source])
            yield piece, buffer.view(x.dtype).reshape(piece.columns)

    def pad(self, x: Array) -> Array:
        """Return ``x`` with zero padding, C-contiguous in this unfolding's order of axes."""
        ordered = x.transpose(self.to_order)
        if self.padded_shape is None:
            return np.ascontiguousarray(ordered)
        padded = np.zeros(self.padded_shape, x.dtype)
        padded[self.inner] = ordered
        return padded


@functools.lru_cache(maxsize=1024)
def unfold_channels_first(g: Geometry, dtype: DType, min_columns: int) -> Unfolding:
    r"""Plan columns (groups, K, samples * positions) with K = (C / groups, \*kernel)."""
    dims = len(g.kernel)
    padded = (g.batch, g.in_channels, *g.padded_size)
    batch, channel, *spatial = _strides(padded, dtype)
    taps = (s * d for s, d in zip(spatial, g.dilation, strict=True))
    steps = (s * d for s, d in zip(spatial, g.stride, strict=True))
    shape = (g.in_channels, *g.kernel, g.batch, *g.out_size)
    strides = (channel, *taps, batch, *steps)
    tiles = g.tiles(dtype.itemsize, min_columns)
    rows = g.stride[-1] == 1 and tiles[0].whole_rows
    item = row_dtype(dtype, g.out_size[-1]) if rows else dtype
    every = (slice(None),) * (1 + dims)
    return _unfolding(
        g,
        order=tuple(range(2 + dims)),
        padded=padded,
        inner_axes=2,
        item=item,
        shape=shape[:-1] if rows else shape,
        strides=strides[:-1] if rows else strides,
        sources=[(t, (*every, t.samples, *(t.spatial[:-1] if rows else t.spatial))) for t in tiles],
        columns=(g.groups, g.depth, -1),
    )


@functools.lru_cache(maxsize=1024)
def unfold_channels_last(g: Geometry, dtype: DType, min_columns: int) -> Unfolding:
    r"""Plan columns (samples * positions, K) with K = (\*kernel, C), for one group."""
    dims = len(g.kernel)
    padded = (g.batch, *g.padded_size, g.in_channels)
    batch, *spatial, _ = _strides(padded, dtype)
    taps = [s * d for s, d in zip(spatial, g.dilation, strict=True)]
    steps = [s * d for s, d in zip(spatial, g.stride, strict=True)]
    # The taps of one row lie side by side, unless they are spread: one item for them all.
    together = g.dilation[-1] == 1
    kernel = g.kernel[:-1] if together else g.kernel
    length = g.in_channels * (g.kernel[-1] if together else 1)
    return _unfolding(
        g,
        order=(0, *range(2, 2 + dims), 1),
        padded=padded,
        inner_axes=1,
        item=row_dtype(dtype, length),
        shape=(g.batch, *g.out_size, *kernel),
        strides=(batch, *steps, *taps[: len(kernel)]),
        sources=[(t, (t.samples, *t.spatial)) for t in g.tiles(dtype.itemsize, min_columns)],
        columns=(-1, g.depth),
    )


def _unfolding(
    g: Geometry,
    *,
    order: Ints,
    padded: Ints,
    inner_axes: int,
    item: DType,
    shape: Ints,
    strides: Ints,
    sources: list[tuple[Tile, tuple[slice, ...]]],
    columns: Ints,
) -> Unfolding:
    pieces = []
    for tile, source in sources:
        extents = tuple(
            n if s == slice(None) else s.stop - s.start for s, n in zip(source, shape, strict=False)
        )
        extents += shape[len(source) :]
        count = tile.samples.stop - tile.samples.start
        pieces.append(Piece(tile.samples, tile.flat, count, source, extents, columns))
    inner = tuple(slice(p, p + n) for p, n in zip(g.padding, g.in_size, strict=True))
    return Unfolding(
        to_order=order,
        padded_shape=padded if any(g.padding) else None,
        inner=(*(slice(None),) * inner_axes, *inner),
        item=item,
        shape=shape,
        strides=strides,
        pieces=tuple(pieces),
        scratch=max(math.prod(piece.shape) for piece in pieces),
    )


def _strides(shape: Ints, dtype: DType) -> Ints:
    """Return the strides of a C-contiguous array, in bytes."""
    return tuple(dtype.itemsize * math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


def row_dtype(dtype: DType, length: int) -> DType:
    """Return the opaque dtype of ``length`` adjacent items of ``dtype``."""
    return np.dtype((np.void, length * dtype.itemsize))
