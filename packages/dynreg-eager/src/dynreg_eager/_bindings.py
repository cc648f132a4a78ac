"""Functions of ``torch.nn.functional`` that only check and pass on: what they pass on to.

What a row calls is what the function itself calls, so that the result is the same bit for bit; the
checks have been made when Dynamo traced it, and its guards hold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import fx
from torch.nn import functional

from dynreg_eager._code import Call, call_of

__all__ = ["KERNELS", "bind"]

KERNELS: Any = torch._C._nn  # noqa: SLF001 - where torch.nn.functional has its kernels from

Row = Callable[..., Call | None]
_ROWS: dict[Any, Row] = {}


def _binds(function: Any) -> Callable[[Row], Row]:
    def enter(row: Row) -> Row:
        _ROWS[function] = row
        return row

    return enter


def bind(module: fx.GraphModule, node: fx.Node) -> Call | None:
    """Return what to call for a node; ``None`` for a node that is its first argument."""
    row = _ROWS.get(node.target) if node.op == "call_function" else None
    if row is None:
        return call_of(module, node)
    try:
        return row(*node.args, **node.kwargs)
    except _NotHere:
        return call_of(module, node)


class _NotHere(Exception):  # noqa: N818 - it says that a row does not apply
    """A function does more than pass on, with these arguments."""


def _only(condition: bool) -> None:
    if not condition:
        raise _NotHere


def _activation(function: Any, plain: Any, in_place: Any) -> None:
    @_binds(function)
    def row(input: Any, inplace: bool = False) -> Call:  # noqa: A002 - torch's name
        return Call(in_place if inplace else plain, (input,), {})


_activation(functional.relu, torch.relu, torch.relu_)
_activation(functional.silu, KERNELS.silu, KERNELS.silu_)
_activation(functional.mish, KERNELS.mish, KERNELS.mish_)
_activation(functional.hardswish, KERNELS.hardswish, KERNELS.hardswish_)
_activation(functional.hardsigmoid, KERNELS.hardsigmoid, KERNELS.hardsigmoid_)
_activation(functional.relu6, KERNELS.relu6, KERNELS.relu6_)


@_binds(functional.layer_norm)
def _layer_norm(
    input: Any,  # noqa: A002 - torch's name
    normalized_shape: Any,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
) -> Call:
    enabled = torch.backends.cudnn.enabled
    return Call(torch.layer_norm, (input, normalized_shape, weight, bias, eps, enabled), {})


@_binds(functional.batch_norm)
def _batch_norm(
    input: Any,  # noqa: A002 - torch's name
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Call:
    _only(training is False)  # in training it looks at the batch's size first
    statistics = (weight, bias, running_mean, running_var)
    enabled = torch.backends.cudnn.enabled
    return Call(torch.batch_norm, (input, *statistics, training, momentum, eps, enabled), {})


def _softmax_row(function: Any, plain: Any) -> None:
    @_binds(function)
    def row(input: Any, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Call:  # noqa: A002
        _only(isinstance(dim, int))
        return Call(plain, (input, dim), {} if dtype is None else {"dtype": dtype})


_softmax_row(functional.softmax, torch.softmax)
_softmax_row(functional.log_softmax, torch.log_softmax)


@_binds(functional.dropout)
def _dropout(
    input: Any,  # noqa: A002 - torch's name
    p: Any = 0.5,
    training: bool = True,
    inplace: bool = False,
) -> Call | None:
    if training is False:
        return None
    _only(isinstance(p, (int, float)) and 0 <= p <= 1)
    return Call(torch.dropout_ if inplace else torch.dropout, (input, p, training), {})


@_binds(functional.embedding)
def _embedding(
    input: Any,  # noqa: A002 - torch's name
    weight: Any,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Call:
    del norm_type
    _only(max_norm is None and (padding_idx is None or padding_idx >= 0))
    place = -1 if padding_idx is None else padding_idx
    return Call(torch.embedding, (weight, input, place, scale_grad_by_freq, sparse), {})


@_binds(functional.leaky_relu)
def _leaky_relu(input: Any, negative_slope: float = 0.01, inplace: bool = False) -> Call:  # noqa: A002
    return Call(KERNELS.leaky_relu_ if inplace else KERNELS.leaky_relu, (input, negative_slope), {})


@_binds(functional.max_pool2d)
def _max_pool2d(
    input: Any,  # noqa: A002 - torch's name
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Call:
    _only(return_indices is False)
    steps = [] if stride is None else stride
    return Call(torch.max_pool2d, (input, kernel_size, steps, padding, dilation, ceil_mode), {})
