"""Which ops ran natively and which with torch's kernels, counted as graphs are compiled."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass

__all__ = ["OpCounts", "get_op_counts", "record", "reset_op_counts"]


@dataclass(frozen=True)
class OpCounts:
    """Ops of the graphs compiled so far, by overload name.

    Attributes:
        native: Ops that were lowered to NumPy.
        fallback: Ops that run with torch's kernel.
        graphs: Number of graphs compiled, forward, backward and inference each counting as one.
    """

    native: dict[str, int]
    fallback: dict[str, int]
    graphs: int


_lock = threading.Lock()
_native: Counter[str] = Counter()
_fallback: Counter[str] = Counter()
_graphs = 0


def get_op_counts() -> OpCounts:
    """Return the counts since the process started, or since the last reset."""
    with _lock:
        return OpCounts(dict(_native), dict(_fallback), _graphs)


def reset_op_counts() -> None:
    """Set all counts to zero."""
    global _graphs  # noqa: PLW0603 - the counters are the process's, like torch._dynamo's
    with _lock:
        _native.clear()
        _fallback.clear()
        _graphs = 0


def record(native: Counter[str], fallback: Counter[str]) -> None:
    """Add one compiled graph."""
    global _graphs  # noqa: PLW0603 - as above
    with _lock:
        _native.update(native)
        _fallback.update(fallback)
        _graphs += 1
