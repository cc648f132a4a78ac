"""Convolutions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from dynreg_numpy.lowering import Builder, lowers

if TYPE_CHECKING:
    from dynreg_numpy.ir import Argument, Value

aten = torch.ops.aten


@lowers(aten.convolution.default)
def convolution(b: Builder, x: Value, weight: Value, bias: Value | None, *args: Argument) -> Value:
    return b.call("convolution.convolution", x, weight, bias, *args)


@lowers(aten.convolution_backward.default)
def convolution_backward(b: Builder, *args: Argument) -> tuple[Any, ...]:
    return b.call_many("convolution.convolution_backward", *args)
