"""Normalisation over batches, layers and groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from dynreg_numpy.lowering import Builder, lowers

if TYPE_CHECKING:
    from dynreg_numpy.ir import Argument, Value

aten = torch.ops.aten


@lowers(aten._native_batch_norm_legit_functional.default)
def batch_norm(b: Builder, *args: Argument) -> tuple[Any, ...]:
    return b.call_many("normalization.batch_norm", *args)


@lowers(aten._batch_norm_with_update_functional.default)
def batch_norm_with_update(
    b: Builder,
    x: Value,
    weight: Value | None,
    bias: Value | None,
    mean: Value,
    variance: Value,
    momentum: float,
    eps: float,
) -> tuple[Any, ...]:
    out, saved_mean, saved_rstd, reserve, *running = b.out
    b.out = (out, saved_mean, saved_rstd, *running)
    results = batch_norm(b, x, weight, bias, mean, variance, True, momentum, eps)
    empty = b.call(
        "np.empty", reserve.shape, reserve.dtype, shape=reserve.shape, dtype=reserve.dtype
    )
    return (*results[:3], empty, *results[3:])


@lowers(aten.native_batch_norm_backward.default)
def batch_norm_backward(b: Builder, *args: Argument) -> tuple[Any, ...]:
    return b.call_many("normalization.batch_norm_backward", *args)


@lowers(aten.native_layer_norm.default)
def layer_norm(b: Builder, *args: Argument) -> tuple[Any, ...]:
    return b.call_many("normalization.layer_norm", *args)


@lowers(aten.native_layer_norm_backward.default)
def layer_norm_backward(b: Builder, *args: Argument) -> tuple[Any, ...]:
    return b.call_many("normalization.layer_norm_backward", *args)


@lowers(aten.native_group_norm.default)
def group_norm(b: Builder, *args: Argument) -> tuple[Any, ...]:
    return b.call_many("normalization.group_norm", *args)


@lowers(aten.native_group_norm_backward.default)
def group_norm_backward(b: Builder, *args: Argument) -> tuple[Any, ...]:
    return b.call_many("normalization.group_norm_backward", *args)


@lowers(aten._fused_rms_norm.default)
def rms_norm(b: Builder, x: Value, *args: Argument) -> tuple[Any, ...]:
    return b.call_many("normalization.rms_norm", x, *args)


@lowers(aten._fused_rms_norm_backward.default)
def rms_norm_backward(b: Builder, *args: Argument) -> tuple[Any, ...]:
    return b.call_many("normalization.rms_norm_backward", *args)
