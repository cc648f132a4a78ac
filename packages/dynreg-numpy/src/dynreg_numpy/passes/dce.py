"""Dead code: assignments that nothing reads."""

from __future__ import annotations

from dataclasses import replace

from dynreg_numpy.ir import Kind, Program, Value, uses

__all__ = ["eliminate_dead_code"]


def eliminate_dead_code(program: Program) -> Program:
    """Drop every assignment that no output, effect or input depends on."""
    live: set[Value] = {value for value in program.outputs if isinstance(value, Value)}
    kept: list[Value] = []
    for value in reversed(program.body):
        function = value.function
        if value in live or function.effect or function.kind is Kind.INPUT or value.binds:
            kept.append(value)
            live.update(uses(value))
    return replace(program, body=kept[::-1])
