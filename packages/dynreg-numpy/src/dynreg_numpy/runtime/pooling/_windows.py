"""Sliding windows along one axis, which pooling applies axis by axis."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, NamedTuple

from dynreg_numpy.runtime._arrays import as_tuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dynreg_numpy.runtime._arrays import Array


class Tap(NamedTuple):
    """One tap of a window: its number, the inputs that it reads, and the outputs that it serves."""

    number: int
    outputs: slice
    inputs: slice


@dataclasses.dataclass(frozen=True)
class Windows:
    """The windows along one axis."""

    in_size: int
    out_size: int
    kernel: int
    stride: int
    padding: int
    dilation: int

    @property
    def overlap(self) -> bool:
        """Whether two windows share an element."""
        return self.stride < self.dilation * (self.kernel - 1) + 1

    def taps(self) -> tuple[Tap, ...]:
        """Return the taps that read anything, one that serves all outputs first if there is one."""
        return _taps(self)

    def counts(self, *, include_pad: bool) -> list[int]:
        """Return how many elements each window averages over, as torch counts them.

        Windows that ``ceil_mode`` lets stand out beyond the padding lose what stands out.
        """
        starts = [i * self.stride - self.padding for i in range(self.out_size)]
        last = self.in_size + (self.padding if include_pad else 0)
        first = -self.padding if include_pad else 0
        ends = [min(start + self.kernel, self.in_size + self.padding) for start in starts]
        return [min(end, last) - max(start, first) for start, end in zip(starts, ends, strict=True)]


@functools.lru_cache(maxsize=4096)
def _taps(w: Windows) -> tuple[Tap, ...]:
    taps = []
    for number in range(w.kernel):
        offset = number * w.dilation - w.padding
        first = max(0, -(offset // w.stride))
        last = min(w.out_size - 1, (w.in_size - 1 - offset) // w.stride)
        if first <= last:
            start = first * w.stride + offset
            stop = last * w.stride + offset + 1
            taps.append(Tap(number, slice(first, last + 1), slice(start, stop, w.stride)))
    taps.sort(key=lambda tap: tap.outputs != slice(0, w.out_size))
    return tuple(taps)


def pool_windows(
    x: Array,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: int | Sequence[int],
    dilation: int | Sequence[int],
    ceil_mode: bool,
) -> tuple[Windows, ...]:
    """Return the windows of each spatial axis; an empty ``stride`` means the kernel's size.

    Raises:
        RuntimeError: a window is larger than the padded input.
    """
    kernel = tuple(kernel_size)
    dims = len(kernel)
    return _pool_windows(
        x.shape[-dims:],
        kernel,
        as_tuple(tuple(stride) or kernel, dims),
        as_tuple(padding, dims),
        as_tuple(dilation, dims),
        ceil_mode,
    )


@functools.lru_cache(maxsize=1024)
def _pool_windows(
    size: tuple[int, ...],
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    ceil_mode: bool,
) -> tuple[Windows, ...]:
    axes = []
    for n, k, s, p, d in zip(size, kernel, stride, padding, dilation, strict=True):
        room = n + 2 * p - d * (k - 1) - 1
        out = (room + (s - 1 if ceil_mode else 0)) // s + 1
        if ceil_mode and (out - 1) * s >= n + p:
            out -= 1  # the last window has to start inside the input or the left padding
        if out < 1:
            raise RuntimeError(
                f"pooling of size {size} with kernel {kernel}, stride {stride}, padding {padding} "
                f"and dilation {dilation}: Output size is too small"
            )
        axes.append(Windows(n, out, k, s, p, d))
    return tuple(axes)
