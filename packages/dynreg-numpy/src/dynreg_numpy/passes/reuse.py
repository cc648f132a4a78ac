"""Buffers: a pointwise result is written over an operand that nothing reads any more."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dynreg_numpy.ir import ArrayType, Kind, Program, Value, operands, root, uses

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["reuse_buffers"]

_OWNED = {Kind.POINTWISE, Kind.REDUCTION, Kind.LIBRARY}


def reuse_buffers(program: Program) -> Program:
    """Let ``out=`` of pointwise functions be an operand of equal type that dies there.

    An operand can be taken where it owns its memory (it is no input, no constant, no view), and
    no view of it is read later. A value with no dimensions is not worth it: NumPy gives a scalar.
    """
    last = _last_reads(program)
    for position, value in enumerate(program.body):
        if not value.function.out or not isinstance(value.type, ArrayType) or not value.ndim:
            continue
        value.out = next(_reusable(value, position, last), None)
        if value.out is not None:
            owner = root(value.out)
            last[owner] = max(last[owner], last.get(value, -1))
    return replace(program)


def _reusable(value: Value, position: int, last: dict[Value, int]) -> Iterator[Value]:
    for operand in operands(value.args):
        same = (operand.shape, operand.dtype) == (value.shape, value.dtype)
        owner = root(operand)
        owned = owner.function.kind in _OWNED and not owner.function.effect
        # Only the owner itself: a view of equal shape may be broadcast, or cover part of it.
        direct = operand is owner or operand.out is not None
        if (
            same
            and direct
            and owned
            and isinstance(owner.type, ArrayType)
            and last[owner] == position
        ):
            yield operand


def _last_reads(program: Program) -> dict[Value, int]:
    """For each owner of memory, the position of the last assignment that reads the memory."""
    last: dict[Value, int] = {}
    for position, value in enumerate(program.body):
        last.setdefault(root(value), position)
        for operand in uses(value):
            last[root(operand)] = position
        if value.function.kind is Kind.VIEW:
            last[root(value)] = position
    for output in program.outputs:
        if isinstance(output, Value):
            last[root(output)] = len(program.body)
    return last
