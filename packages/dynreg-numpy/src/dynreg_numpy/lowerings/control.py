"""Higher-order ops: control flow over subgraphs, and random numbers that are drawn again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from dynreg_numpy._generator import GENERATOR
from dynreg_numpy.ir import Function, Kind
from dynreg_numpy.lowering import LOWERINGS, Builder, lowers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dynreg_numpy.ir import Argument, Value

hops = torch.ops.higher_order


def _call(b: Builder, name: str, *args: Argument) -> Any:
    # A subgraph may draw random numbers or assert: it runs as often as the graph says.
    function = Function(f"control.{name}", Kind.LIBRARY, effect=True, unique=True)
    return b.items(b.emit(function, *args, result=tuple(b.out)))


@lowers(hops.cond)
def cond(
    b: Builder, predicate: Argument, if_true: Any, if_false: Any, operands: Sequence[Argument] = ()
) -> Any:
    return _call(b, "cond", predicate, if_true, if_false, tuple(operands))


@lowers(hops.while_loop)
def while_loop(
    b: Builder, condition: Any, body: Any, carried: Sequence[Argument], others: Sequence[Argument]
) -> Any:
    return _call(b, "while_loop", condition, body, tuple(carried), tuple(others))


@lowers(hops.scan)
def scan(
    b: Builder,
    combine: Any,
    initial: Sequence[Argument],
    arrays: Sequence[Value],
    others: Sequence[Argument] = (),
) -> Any:
    return _call(b, "scan", combine, tuple(initial), tuple(arrays), tuple(others))


@lowers(hops.map_impl)
def map_impl(
    b: Builder, function: Any, arrays: Sequence[Value], others: Sequence[Argument] = ()
) -> Any:
    return _call(b, "map_over", function, tuple(arrays), tuple(others))


@lowers(hops.associative_scan)
def associative_scan(
    b: Builder, combine: Any, arrays: Sequence[Value], others: Sequence[Argument] = ()
) -> Any:
    return _call(b, "associative_scan", combine, tuple(arrays), tuple(others))


@lowers(hops.invoke_subgraph)
def invoke_subgraph(b: Builder, subgraph: Any, _: str, *operands: Argument) -> Any:
    return _call(b, "call", subgraph, operands)


# --- random numbers of a checkpoint --------------------------------------------------------------


def _generator(b: Builder, name: str, *args: Argument, result: Any = None) -> Value:
    function = Function(f"random.{name}", Kind.LIBRARY, effect=True, unique=True)
    return b.emit(function, GENERATOR, *args, result=result)


@lowers(hops.run_and_save_rng_state)
def run_and_save_rng_state(b: Builder, op: Any, *args: Argument, **keywords: Any) -> Any:
    state_type, b.out = b.out
    state = _generator(b, "state", result=state_type)
    return state, LOWERINGS[op](b, *args, **keywords)


@lowers(hops.run_with_rng_state)
def run_with_rng_state(b: Builder, state: Value, op: Any, *args: Argument, **keywords: Any) -> Any:
    now = _generator(b, "state", result=state.type)
    _generator(b, "set_state", state)
    result = LOWERINGS[op](b, *args, **keywords)
    _generator(b, "set_state", now)
    return result
