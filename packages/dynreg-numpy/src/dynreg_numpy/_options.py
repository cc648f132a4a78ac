"""Options of the numpy backend."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

__all__ = ["Options"]


@dataclass(frozen=True)
class Options:
    """What ``torch.compile(model, backend="numpy", options={...})`` takes.

    Attributes:
        fallback: What happens to an op that has no lowering: ``torch`` runs it with torch's own
            kernel, logged once and counted; ``error`` refuses to compile.
        dump: Folder that the generated source is written to, one file a graph; not written if
            empty.
        disable_passes: Names of passes to leave out, from ``dynreg_numpy.passes.PASSES``.
    """

    fallback: Literal["torch", "error"] = "torch"
    dump: str = ""
    disable_passes: list[str] = field(default_factory=list)
