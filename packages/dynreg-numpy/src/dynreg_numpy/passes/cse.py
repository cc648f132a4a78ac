"""Common subexpressions: the same function of the same arguments is called once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dynreg_numpy.ir import Argument, Kind, Program, Value

__all__ = ["eliminate_common_subexpressions", "substitute"]

_KEPT = {Kind.INPUT, Kind.CONSTANT, Kind.FALLBACK}


def eliminate_common_subexpressions(program: Program) -> Program:
    """Replace an assignment that repeats an earlier one by the earlier one."""
    first: dict[Any, Value] = {}
    stands_for: dict[Value, Value] = {}
    body: list[Value] = []
    for value in program.body:
        value.args = substitute(value.args, stands_for)
        value.keywords = {k: substitute(v, stands_for) for k, v in value.keywords.items()}
        function = value.function
        if (
            function.kind not in _KEPT
            and not function.effect
            and not function.unique
            and not value.binds
        ):
            key = (function, _key(value.args), _key(tuple(value.keywords.items())))
            earlier = first.setdefault(key, value)
            if earlier is not value:
                stands_for[value] = earlier
                continue
        body.append(value)
    outputs = [substitute(value, stands_for) for value in program.outputs]
    return replace(program, body=body, outputs=outputs)


def substitute(argument: Argument, stands_for: dict[Value, Value]) -> Any:
    """Replace values inside an argument."""
    if isinstance(argument, Value):
        return stands_for.get(argument, argument)
    if isinstance(argument, (tuple, list)):
        return type(argument)(substitute(part, stands_for) for part in argument)
    if isinstance(argument, slice):
        parts = (argument.start, argument.stop, argument.step)
        return slice(*(substitute(part, stands_for) for part in parts))
    return argument


def _key(argument: Argument) -> Any:
    """Something hashable that is equal for equal arguments: 1, 1.0 and True are not, nor ±0."""
    if isinstance(argument, (tuple, list)):
        return tuple(_key(part) for part in argument)
    if isinstance(argument, slice):
        return ("slice", _key(argument.start), _key(argument.stop), _key(argument.step))
    if isinstance(argument, (bool, int, float, complex)):
        return (type(argument).__name__, repr(argument))
    if isinstance(argument, (Value, str, np.dtype)) or argument is None:
        return argument
    return (type(argument).__name__, str(argument))
