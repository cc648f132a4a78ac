"""Cutting arrays into blocks, so that several passes over memory find their data in cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dynreg_numpy.runtime._arrays import Array

#: Bytes of one operand of a block: input, result and scratch together fit into an L2 cache.
_ROW_BYTES = 1 << 18
#: Elements of an elementwise block; below, the cost of calling NumPy shows, above, the L2 misses.
_ELEMENTS = 1 << 14


def blocks(count: int, row_bytes: int) -> Iterator[slice]:
    """Yield slices that cover ``range(count)``, each of rows that together are about one block."""
    step = max(1, _ROW_BYTES // max(1, row_bytes))
    return (slice(start, start + step) for start in range(0, count, step))


def by_block(kernel: Callable[..., None], inputs: tuple[Array, ...], out: Array) -> Array:
    """Call ``kernel(*inputs, out)`` block by block, where every array has the shape of ``out``.

    A kernel never sees 0-d arrays, whose results NumPy turns into scalars that cannot be written.
    """
    if out.ndim == 0:
        kernel(*(np.reshape(array, 1) for array in inputs), out.reshape(1))
        return out
    if out.size <= _ELEMENTS or not out.flags.c_contiguous:
        kernel(*inputs, out)
        return out
    flat = [np.ascontiguousarray(array).reshape(-1) for array in inputs]
    target = out.reshape(-1)
    for start in range(0, out.size, _ELEMENTS):
        at = slice(start, start + _ELEMENTS)
        kernel(*(array[at] for array in flat), target[at])
    return out
