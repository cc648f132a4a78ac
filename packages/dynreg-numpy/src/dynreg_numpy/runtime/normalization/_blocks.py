"""Cutting rows into blocks whose several passes stay in cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Bytes of one operand of a block: input, result and weights together fit into an L2 cache.
_BLOCK_BYTES = 1 << 18


def blocks(count: int, row_bytes: int) -> Iterator[slice]:
    """Yield slices that cover ``range(count)``, each of rows that together are about one block."""
    step = max(1, _BLOCK_BYTES // max(1, row_bytes))
    return (slice(start, start + step) for start in range(0, count, step))
