"""What a comparison found: data first, text from the data."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Literal

from dynreg_core.errors import DynregError

__all__ = [
    "Difference",
    "DifferenceError",
    "DifferenceWarning",
    "collect",
    "collected_differences",
]

Kind = Literal["output", "input mutation", "gradient"]


@dataclass(frozen=True)
class Difference:
    """One result of a graph that differs from eager's.

    Attributes:
        backend: The backend that was compared.
        kind: ``output``, ``input mutation`` or ``gradient``.
        index: Number of the output or input, from 0.
        detail: How the values differ, from ``torch.testing``.
        node: Name of the first node of the graph that differs; empty where none does when the
            values of all nodes are asked for.
        target: What that node calls.
        source: The user's ``file:line: code`` of that node; empty where it is not known.
        node_detail: How that node's values differ.
    """

    backend: str
    kind: Kind
    index: int
    detail: str
    node: str = ""
    target: str = ""
    source: str = ""
    node_detail: str = ""

    @property
    def sentence(self) -> str:
        """The finding in one sentence."""
        start = f"backend {self.backend!r} differs from eager in {self.kind} {self.index}"
        if not self.node:
            return f"{start}; no single node differs when all values are asked for"
        where = f", written at {self.source}" if self.source else ""
        return f"{start}; the first differing node is {self.node} ({self.target}){where}"

    def __str__(self) -> str:
        return "\n".join(part for part in (self.sentence, self.node_detail or self.detail) if part)


class DifferenceError(DynregError, AssertionError):
    """A backend's result differs from eager's.

    Args:
        difference: What was found.
    """

    def __init__(self, difference: Difference) -> None:
        self.difference = difference
        super().__init__(
            str(difference),
            hint="set rtol and atol in the options if this is rounding, or go on with "
            'options={"on_difference": "warn"}',
        )


class DifferenceWarning(UserWarning):
    """A backend's result differs from eager's, and ``on_difference`` is ``warn``."""


_collected: list[Difference] = []
_lock = threading.Lock()


def collect(difference: Difference) -> None:
    """Keep a difference for :func:`collected_differences`."""
    with _lock:
        _collected.append(difference)


def collected_differences(*, clear: bool = False) -> tuple[Difference, ...]:
    """Return what was found with ``on_difference="collect"`` since the last clearing.

    Args:
        clear: Forget them.
    """
    with _lock:
        found = tuple(_collected)
        if clear:
            _collected.clear()
    return found
