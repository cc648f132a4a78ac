"""The adjoint of a correlation as correlations of its own, one per phase of the stride.

Positions of the input that are congruent modulo the stride form a phase. A phase is read by every
stride-th tap only, and by these at unit stride: its sums are a correlation over the output with
those taps, mirrored. (W. Shi et al., "Is the deconvolution layer the same as a convolutional
layer?", 2016, arXiv:1609.07009, shows the same for a transposed convolution.)
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from typing import TYPE_CHECKING

import numpy as np

from dynreg_numpy.runtime.convolution._correlate import correlate
from dynreg_numpy.runtime.convolution._geometry import Geometry

if TYPE_CHECKING:
    from dynreg_numpy.runtime._arrays import Array
    from dynreg_numpy.runtime.convolution._geometry import Ints


@dataclasses.dataclass(frozen=True, eq=False)
class Phase:
    """One phase: the taps that read it, their correlation, and where its sums go.

    ``into`` are slices of the input, ``taken`` of the correlation's result; ``is_whole`` says that
    both are everything.
    """

    taps: tuple[slice, ...]
    geometry: Geometry
    into: tuple[slice, ...]
    taken: tuple[slice, ...]
    is_whole: bool


@dataclasses.dataclass(frozen=True, eq=False)
class Mirror:
    """All phases, and whether they leave nothing of the input unwritten."""

    phases: tuple[Phase, ...]
    is_complete: bool


def correlate_mirrored(y: Array, weight: Array, g: Geometry, mirror: Mirror, out: Array) -> Array:
    """Fill ``out`` with the adjoint of the correlation ``g``; see ``input_adjoint``."""
    if not mirror.is_complete:
        out[...] = 0
    every = (slice(None), slice(None))
    for phase in mirror.phases:
        taps = _mirror_weight(weight[(*every, *phase.taps)], g)
        inner = phase.geometry
        if phase.is_whole:
            return correlate(y, taps, None, inner, out)
        sums = np.empty((g.batch, g.in_channels, *inner.out_size), out.dtype)
        correlate(y, taps, None, inner, sums)
        out[(*every, *phase.into)] = sums[(*every, *phase.taken)]
    return out


@functools.lru_cache(maxsize=1024)
def mirror(g: Geometry) -> Mirror | None:
    """Return the phases of the adjoint of ``g``, or None where folding is faster.

    Measured, per element: unfolding costs about a third of mirroring a weight, and folding twice
    as much. Spread taps of a strided correlation do not part into phases that are correlations.
    """
    if any(s > 1 and d > 1 for s, d in zip(g.stride, g.dilation, strict=True)):
        return None
    positions = g.batch * g.positions
    unfolding = g.out_channels * (positions / 3 + g.in_channels / g.groups)
    if unfolding > 2 * g.in_channels * positions:
        return None
    dims = range(len(g.kernel))
    phases = []
    is_complete = True
    for index in itertools.product(*map(range, g.stride)):
        lines = [_phase_along(g, dim, index[dim]) for dim in dims]
        is_complete &= all(line.is_complete for line in lines)
        if all(line.taps for line in lines):
            phases.append(_phase(g, index, lines))
    return Mirror(tuple(phases), is_complete)


@dataclasses.dataclass(frozen=True)
class _Line:
    """One phase along one dimension."""

    taps: int
    padding: int
    size: int
    into: slice
    taken: slice
    is_complete: bool
    is_exact: bool = False


def _phase_along(g: Geometry, dim: int, index: int) -> _Line:
    n, size = g.out_size[dim], g.in_size[dim]
    step, spread, before = g.stride[dim], g.dilation[dim], g.padding[dim]
    taps = len(range(index, g.kernel[dim], step))
    reach = spread * (taps - 1)
    if step == 1 and reach >= before and n + 2 * (reach - before) - reach == size:
        # The padding takes away exactly what would be cut off.
        whole = slice(0, size)
        return _Line(taps, reach - before, size, whole, whole, is_complete=True, is_exact=True)
    total = n + reach
    start = (index - before) % step
    first = (start + before - index) // step
    wanted = max(0, -(-(size - start) // step))
    count = max(0, min(wanted, total - first)) if taps else 0
    into = slice(start, start + count * step, step)
    taken = slice(first, first + count)
    return _Line(taps, reach, total, into, taken, count == wanted)


def _phase(g: Geometry, index: Ints, lines: list[_Line]) -> Phase:
    return Phase(
        taps=tuple(slice(i, None, s) for i, s in zip(index, g.stride, strict=True)),
        geometry=dataclasses.replace(
            g,
            in_channels=g.out_channels,
            out_channels=g.in_channels,
            in_size=g.out_size,
            out_size=tuple(line.size for line in lines),
            kernel=tuple(line.taps for line in lines),
            stride=(1,) * len(lines),
            padding=tuple(line.padding for line in lines),
        ),
        into=tuple(line.into for line in lines),
        taken=tuple(line.taken for line in lines),
        is_whole=all(line.is_exact for line in lines),
    )


def _mirror_weight(weight: Array, g: Geometry) -> Array:
    """Swap the channels of each group and reverse every tap axis."""
    kernel = weight.shape[2:]
    per_group = weight.reshape(g.groups, g.out_channels // g.groups, -1, *kernel)
    swapped = np.flip(per_group.swapaxes(1, 2), tuple(range(3, 3 + len(kernel))))
    # BLAS takes no negative strides, which reshaping alone could leave.
    return np.ascontiguousarray(swapped).reshape(g.in_channels, -1, *kernel)
