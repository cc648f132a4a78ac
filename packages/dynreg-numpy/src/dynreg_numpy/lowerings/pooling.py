"""Pooling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from dynreg_numpy.lowering import Builder, kernels, lowers

if TYPE_CHECKING:
    from dynreg_numpy.ir import Argument, Value

aten = torch.ops.aten

kernels(
    {
        aten.fractional_max_pool2d.default: "pooling.fractional_max_pool",
        aten.fractional_max_pool3d.default: "pooling.fractional_max_pool",
        aten.max_unpool2d.default: "pooling.max_unpool",
        aten.max_unpool3d.default: ("pooling.max_unpool", "self indices output_size"),
    }
)


@lowers(aten.fractional_max_pool2d_backward.default)
def fractional_max_pool2d_backward(b: Builder, grad: Value, x: Value, *args: Argument) -> Value:
    return b.call("pooling.fractional_max_pool_backward", grad, x, args[-1], 2)


@lowers(aten.fractional_max_pool3d_backward.default)
def fractional_max_pool3d_backward(b: Builder, grad: Value, x: Value, *args: Argument) -> Value:
    return b.call("pooling.fractional_max_pool_backward", grad, x, args[-1], 3)


@lowers(aten.max_pool2d_with_indices.default, aten.max_pool3d_with_indices.default)
def max_pool(b: Builder, *args: Argument) -> tuple[Any, ...]:
    return b.call_many("pooling.max_pool_with_indices", *args)


@lowers(
    aten.max_pool2d_with_indices_backward.default, aten.max_pool3d_with_indices_backward.default
)
def max_pool_backward(b: Builder, *args: Argument) -> Value:
    return b.call("pooling.max_pool_with_indices_backward", *args)


@lowers(aten.avg_pool1d.default, aten.avg_pool2d.default, aten.avg_pool3d.default)
def avg_pool(b: Builder, *args: Argument) -> Value:
    return b.call("pooling.avg_pool", *args)


@lowers(aten.avg_pool2d_backward.default, aten.avg_pool3d_backward.default)
def avg_pool_backward(b: Builder, *args: Argument) -> Value:
    return b.call("pooling.avg_pool_backward", *args)


@lowers(
    aten.adaptive_avg_pool1d.default,
    aten._adaptive_avg_pool2d.default,
    aten._adaptive_avg_pool3d.default,
)
def adaptive_avg_pool(b: Builder, x: Value, output_size: Argument) -> Value:
    return b.call("pooling.adaptive_avg_pool", x, output_size)


@lowers(aten._adaptive_avg_pool2d_backward.default)
def adaptive_avg_pool2d_backward(b: Builder, grad: Value, x: Value) -> Value:
    return b.call("pooling.adaptive_avg_pool_backward", grad, x, 2)


@lowers(aten._adaptive_avg_pool3d_backward.default)
def adaptive_avg_pool3d_backward(b: Builder, grad: Value, x: Value) -> Value:
    return b.call("pooling.adaptive_avg_pool_backward", grad, x, 3)


@lowers(aten.adaptive_max_pool2d.default, aten.adaptive_max_pool3d.default)
def adaptive_max_pool(b: Builder, x: Value, output_size: Argument) -> tuple[Any, ...]:
    return b.call_many("pooling.adaptive_max_pool", x, output_size)


@lowers(aten.adaptive_max_pool2d_backward.default)
def adaptive_max_pool2d_backward(b: Builder, grad: Value, x: Value, indices: Value) -> Value:
    return b.call("pooling.adaptive_max_pool_backward", grad, x, indices, 2)


@lowers(aten.adaptive_max_pool3d_backward.default)
def adaptive_max_pool3d_backward(b: Builder, grad: Value, x: Value, indices: Value) -> Value:
    return b.call("pooling.adaptive_max_pool_backward", grad, x, indices, 3)
