"""Pooling."""

from __future__ import annotations

from typing import Any

import torch

from dynreg_numpy.ir import Argument, Value
from dynreg_numpy.lowering import Builder, lowers

aten = torch.ops.aten


@lowers(aten.max_pool2d_with_indices.default)
def max_pool2d(b: Builder, *args: Argument) -> tuple[Any, ...]:
    return b.call_many("pooling.max_pool_with_indices", *args)


@lowers(aten.max_pool2d_with_indices_backward.default)
def max_pool2d_backward(b: Builder, *args: Argument) -> Value:
    return b.call("pooling.max_pool_with_indices_backward", *args)
