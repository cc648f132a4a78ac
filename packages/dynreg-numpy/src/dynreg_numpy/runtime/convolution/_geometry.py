"""Shapes and cache-sized tiles of one convolution."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

Ints: TypeAlias = tuple[int, ...]

#: Bytes of unfolded input that one matmul reads: about an L2 cache. Measured on AVX2 machines,
#: times are flat from 0.5 to 1 MiB, and rise on both sides.
TILE_BYTES = 1 << 20


@dataclasses.dataclass(frozen=True, eq=False)
class Geometry:
    r"""A cross-correlation from (N, C, \*in_size) to (N, O, \*out_size); all sizes in elements.

    A transposed convolution is described by the correlation of which it is the adjoint. Plans are
    cached by geometry; it hashes by identity, because hashing ten tuples costs as much as a small
    convolution.
    """

    batch: int
    in_channels: int
    out_channels: int
    groups: int
    in_size: Ints
    out_size: Ints
    kernel: Ints
    stride: Ints
    padding: Ints
    dilation: Ints

    @functools.cached_property
    def depth(self) -> int:
        """Rows of the unfolded input per group: input channels of the group times taps."""
        return self.in_channels // self.groups * math.prod(self.kernel)

    @functools.cached_property
    def positions(self) -> int:
        """Output positions per sample."""
        return math.prod(self.out_size)

    @functools.cached_property
    def padded_size(self) -> Ints:
        """The input's spatial size with its padding."""
        return tuple(n + 2 * p for n, p in zip(self.in_size, self.padding, strict=True))

    @functools.cached_property
    def is_pointwise(self) -> bool:
        """Whether each output position reads one input position: a matmul over channels."""
        return math.prod(self.kernel) == 1 and not any(self.padding)

    @functools.cached_property
    def is_whole(self) -> bool:
        """Whether there is one output position, which reads the whole input once: a matmul."""
        return (
            self.groups == 1
            and self.positions == 1
            and self.kernel == self.in_size
            and not any(self.padding)
            and all(d == 1 or k == 1 for d, k in zip(self.dilation, self.kernel, strict=True))
        )

    @functools.cached_property
    def first_tap(self) -> tuple[slice, ...]:
        """Slices of the padded input that the first tap reads."""
        return tuple(
            slice(0, (n - 1) * s + 1, s) for n, s in zip(self.out_size, self.stride, strict=True)
        )

    def tiles(self, itemsize: int, min_columns: int) -> tuple[Tile, ...]:
        """Return the tiles that cover the output; see :func:`tile_output`."""
        depth = self.depth * self.groups
        columns = max(TILE_BYTES // max(1, depth * itemsize), min_columns)
        return tile_output(self.batch, self.out_size, columns)


@dataclasses.dataclass(frozen=True)
class Tile:
    """A block of the output that is contiguous in (sample, flattened position)."""

    samples: slice
    spatial: tuple[slice, ...]
    flat: slice
    #: whether the tile spans the innermost dimension, so that rows can be copied whole
    whole_rows: bool


def _balanced(length: int, most: int) -> Iterator[slice]:
    """Cut ``range(length)`` into the fewest pieces of at most ``most``, of nearly equal size."""
    pieces = -(-length // max(1, most))
    step = -(-length // pieces)
    return (slice(start, min(start + step, length)) for start in range(0, length, step))


@functools.lru_cache(maxsize=1024)
def tile_output(batch: int, out_size: Ints, columns: int) -> tuple[Tile, ...]:
    r"""Cut (batch, \*out_size), which is not empty, into tiles of about ``columns`` positions.

    Inner dimensions are kept whole as long as they fit; the first that does not is cut, and the
    ones outside it are walked one index at a time, so that each tile is one run of memory.
    """
    sizes = (batch, *out_size)
    inner = 1
    cut = len(sizes)
    while cut > 0 and inner * sizes[cut - 1] <= columns:
        cut -= 1
        inner *= sizes[cut]
    axes: list[list[slice]] = [[slice(0, n)] for n in sizes]
    if cut > 0:
        axes[cut - 1] = list(_balanced(sizes[cut - 1], columns // inner))
        for axis in range(cut - 1):
            axes[axis] = [slice(i, i + 1) for i in range(sizes[axis])]
    weights = [math.prod(out_size[axis + 1 :]) for axis in range(len(out_size))]
    result = []
    for samples, *spatial in itertools.product(*axes):
        first = sum(s.start * w for s, w in zip(spatial, weights, strict=True))
        last = sum((s.stop - 1) * w for s, w in zip(spatial, weights, strict=True))
        whole = spatial[-1] == slice(0, out_size[-1])
        result.append(Tile(samples, tuple(spatial), slice(first, last + 1), whole))
    return tuple(result)
