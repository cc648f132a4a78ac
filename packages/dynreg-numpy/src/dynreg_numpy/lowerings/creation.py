"""Ops that make arrays from nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from dynreg_numpy.lowering import Builder, lowers

if TYPE_CHECKING:
    from dynreg_numpy.ir import Argument, Size, Value

aten = torch.ops.aten
prims = torch.ops.prims


@lowers(aten.full.default, aten.full_like.default, aten.new_full.default)
def full(b: Builder, _: Argument, *args: Argument, **__: Any) -> Value:
    # The fill is the last positional argument of all three.
    return b.full(b.out.shape, args[-1], b.out.dtype)


@lowers(
    aten.zeros.default,
    aten.zeros_like.default,
    aten.new_zeros.default,
    aten._efficientzerotensor.default,
)
def zeros(b: Builder, *_: Argument, **__: Any) -> Value:
    return b.full(b.out.shape, 0, b.out.dtype)


@lowers(aten.ones.default, aten.ones_like.default, aten.new_ones.default)
def ones(b: Builder, *_: Argument, **__: Any) -> Value:
    return b.full(b.out.shape, 1, b.out.dtype)


@lowers(
    aten.empty.memory_format,
    aten.empty_like.default,
    aten.new_empty.default,
    aten.empty_strided.default,
    aten.new_empty_strided.default,
    aten.empty_permuted.default,
)
def empty(b: Builder, *_: Argument, **__: Any) -> Value:
    return b.call("np.empty", b.out.shape, b.out.dtype, unique=True)


@lowers(aten.scalar_tensor.default)
def scalar_tensor(b: Builder, number: Argument, **_: Any) -> Value:
    return b.full((), number, b.out.dtype)


@lowers(aten.arange.default, aten.arange.start, aten.arange.start_step)
def arange(b: Builder, *args: Size, **_: Any) -> Value:
    start, _end, step = (0, *args, 1) if len(args) == 1 else (*args, 1)[:3]
    return iota(b, b.out.shape[0], start=start, step=step)


@lowers(prims.iota.default)
def iota(b: Builder, length: Size, *, start: Size = 0, step: Size = 1, **_: Any) -> Value:
    return b.call("layout.arange", length, start, step, b.out.dtype)


@lowers(aten.eye.default, aten.eye.m)
def eye(b: Builder, *_: Argument, **__: Any) -> Value:
    rows, columns = b.out.shape
    return b.call("np.eye", rows, columns, 0, b.out.dtype)


@lowers(aten.tril.default)
def tril(b: Builder, x: Value, diagonal: Size = 0) -> Value:
    return b.call("np.tril", x, diagonal)


@lowers(aten.triu.default)
def triu(b: Builder, x: Value, diagonal: Size = 0) -> Value:
    return b.call("np.triu", x, diagonal)
