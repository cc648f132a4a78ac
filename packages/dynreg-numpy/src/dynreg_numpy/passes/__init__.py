"""Passes: functions from a program to a program, in the order in which they run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynreg_numpy.passes.cse import eliminate_common_subexpressions
from dynreg_numpy.passes.dce import eliminate_dead_code
from dynreg_numpy.passes.reuse import reuse_buffers

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from dynreg_numpy.ir import Program

__all__ = ["PASSES", "run_passes"]

PASSES: dict[str, Callable[[Program], Program]] = {
    "cse": eliminate_common_subexpressions,
    "dce": eliminate_dead_code,
    "reuse": reuse_buffers,
}
"""Name, as in ``options={"disable_passes": [...]}``, to pass."""


def run_passes(program: Program, *, disable: Collection[str] = ()) -> Program:
    """Run every pass that is not disabled.

    Raises:
        ValueError: A name is not that of a pass.
    """
    unknown = set(disable) - set(PASSES)
    if unknown:
        raise ValueError(f"no pass is named {', '.join(sorted(unknown))}: {', '.join(PASSES)}")
    for name, run in PASSES.items():
        if name not in disable:
            program = run(program)
    return program
