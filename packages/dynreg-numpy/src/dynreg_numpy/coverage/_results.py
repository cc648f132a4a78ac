"""What is measured, and what came out. Nothing here imports torch."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["AGREE", "MODES", "OUTCOMES", "Entry", "Result", "share", "summarize"]

JSON: TypeAlias = "dict[str, Any]"

MODES = {
    "inference": "forward, static shapes, without gradients",
    "dynamic": "forward, symbolic shapes, without gradients",
    "gradient": "forward and backward, static shapes",
    "train": "a module in training: forward and backward",
    "eval": "a module in evaluation: forward and backward",
}
"""How an entry is run: the first three are of ops, the last two of modules."""

OUTCOMES = {
    "native": "agrees with eager torch, all of it in NumPy",
    "fallback": "agrees, with at least one op on torch's own kernel",
    "mismatch": "a value, shape, dtype or stride differs from eager torch's",
    "error": "compiling or running it raised, or ended the process",
    "not captured": "torch.compile itself makes no whole graph of it",
    "torch differs": "as torch's own aot_eager gives it, which is not what eager mode gives",
    "undetermined": "the result is not determined: uninitialised memory, or random numbers",
    "no samples": "torch has no sample that runs in eager mode",
}
"""What can come out, with its meaning; of several samples the worst counts."""

AGREE = ("native", "fallback")


@dataclass(frozen=True)
class Entry:
    """One line of the report: an OpInfo or ModuleInfo, a dtype, and how it is run.

    Attributes:
        name: Name in torch's database, with the variant after a dot.
        dtype: Name of the dtype, as in ``float32``.
        mode: Key of :data:`MODES`.
    """

    name: str
    dtype: str
    mode: str

    def __str__(self) -> str:
        return f"{self.name} {self.dtype} {self.mode}"


@dataclass(frozen=True)
class Result:
    """What came out for an entry.

    Attributes:
        entry: What was run.
        outcome: Key of :data:`OUTCOMES`.
        samples: Number of samples that were compared.
        fallback: Overloads that ran with torch's kernel.
        detail: For a mismatch or an error, its first lines; for others empty.
    """

    entry: Entry
    outcome: str
    samples: int = 0
    fallback: tuple[str, ...] = ()
    detail: str = ""

    def to_json(self) -> JSON:
        """Return a flat mapping for JSON."""
        flat = asdict(self)
        return {**flat.pop("entry"), **flat}

    @classmethod
    def from_json(cls, flat: JSON) -> Result:
        """Read what :meth:`to_json` wrote."""
        entry = Entry(*(flat[key] for key in ("name", "dtype", "mode")))
        return cls(entry, flat["outcome"], flat["samples"], tuple(flat["fallback"]), flat["detail"])


def summarize(results: Iterable[Result]) -> dict[str, dict[str, int]]:
    """Count outcomes by mode: ``{"inference": {"native": 640, …}, …}``."""
    counts: dict[str, Counter[str]] = {}
    for result in results:
        counts.setdefault(result.entry.mode, Counter())[result.outcome] += 1
    return {mode: {key: count[key] for key in OUTCOMES} for mode, count in counts.items()}


def share(counts: dict[str, int], outcome: str) -> float:
    """Percentage of what Dynamo captures and is determined; 100 where there is nothing."""
    total = sum(counts[key] for key in ("native", "fallback", "mismatch", "error"))
    return 100 * counts[outcome] / total if total else 100.0
