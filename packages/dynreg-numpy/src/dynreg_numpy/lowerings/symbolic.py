"""Sizes that data decide, and what torch asserts about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from dynreg_numpy.ir import Function, Kind
from dynreg_numpy.lowering import LOWERINGS, Builder, lowers

if TYPE_CHECKING:
    from dynreg_numpy.ir import Argument, Value

aten = torch.ops.aten

_ITEM = Function("{0}.item()", Kind.LIBRARY)


@lowers(aten._local_scalar_dense.default)
def local_scalar_dense(b: Builder, x: Value) -> Value:
    """Read the number of a 0-d array; its symbol is bound to it where the op is lowered."""
    return b.emit(_ITEM, x, result=None)


@lowers(aten._assert_scalar.default)
def assert_scalar(b: Builder, condition: Argument, message: str) -> None:
    if condition is not True:
        b.effect("checks.scalar", condition, message)


@lowers(aten._assert_async.msg)
def assert_async(b: Builder, condition: Value, message: str) -> None:
    b.effect("checks.tensor", condition, message)


@lowers(aten._assert_async.default)
def assert_async_without_message(b: Builder, condition: Value) -> None:
    b.effect("checks.tensor", condition, "Expected Tensor with single nonzero value, but got zero")


@lowers(aten.sym_constrain_range_for_size.default, aten.sym_constrain_range.default)
def constrain_range(
    b: Builder,
    size: Argument,
    *,
    min: Argument = None,  # noqa: A002 - the schema's name
    max: Argument = None,  # noqa: A002 - as above
) -> None:
    b.effect("checks.bounds", size, min, max)


@lowers(aten._assert_tensor_metadata.default)
def assert_metadata(b: Builder, *_: Argument, **__: Any) -> None:
    """Torch has checked this of its fake tensors, which is what our types are."""
    del b


@lowers(torch.ops.higher_order.with_effects)
def with_effects(b: Builder, token: Argument, op: Any, *args: Argument, **keywords: Any) -> Any:
    """An op in the order of the graph; the token that says so has no value."""
    del token
    kinds = b.out
    b.out = kinds[1] if len(kinds) == 2 else kinds[1:] or None
    result = LOWERINGS[op](b, *args, **keywords)
    results = result if isinstance(result, tuple) else (result,)
    return (None, *results)
