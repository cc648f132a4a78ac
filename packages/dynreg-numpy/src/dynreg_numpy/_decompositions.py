"""Which ops are taken apart before lowering."""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch._decomp import core_aten_decompositions, decomposition_table
from torch.nn import functional

from dynreg_numpy.lowering import LOWERINGS

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["decompositions"]

aten = torch.ops.aten

_OURS: dict[Any, Callable[..., Any]] = {}
"""Ops that torch fuses on a CPU and has no decomposition for."""


def _decomposes(overload: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def enter(rule: Callable[..., Any]) -> Callable[..., Any]:
        _OURS[overload] = rule
        return rule

    return enter


@_decomposes(aten.mkldnn_rnn_layer.default)
def _lstm_layer(
    x: Tensor,
    weight_ih: Tensor,
    weight_hh: Tensor,
    bias_ih: Tensor,
    bias_hh: Tensor,
    hidden: Tensor,
    cell: Tensor,
    reverse: bool,
    *_: Any,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """One layer of an LSTM in one direction; torch emits this op for LSTMs only.

    The gates lie in the order input, forget, cell, output, as in ``torch.nn.LSTM``.
    """
    gates_of_inputs = functional.linear(x, weight_ih, bias_ih + bias_hh)
    state, memory = hidden[0], cell[0]
    outputs = []
    steps = gates_of_inputs.unbind(0)
    for step in reversed(steps) if reverse else steps:
        gates = step + functional.linear(state, weight_hh)
        input_gate, forget_gate, candidate, output_gate = gates.chunk(4, 1)
        memory = forget_gate.sigmoid() * memory + input_gate.sigmoid() * candidate.tanh()
        state = output_gate.sigmoid() * memory.tanh()
        outputs.append(state)
    stacked = torch.stack(outputs[::-1] if reverse else outputs)
    workspace = x.new_empty(0, dtype=torch.uint8)
    return stacked, state.unsqueeze(0), memory.unsqueeze(0), workspace


@_decomposes(aten.mkldnn_rnn_layer_backward.default)
def _lstm_layer_backward(
    x: Tensor,
    weight_ih: Tensor,
    weight_hh: Tensor,
    bias_ih: Tensor,
    bias_hh: Tensor,
    hidden: Tensor,
    cell: Tensor,
    output: Tensor,
    _last_hidden: Tensor,
    _last_cell: Tensor,
    grad_output: Tensor | None,
    grad_hidden: Tensor | None,
    grad_cell: Tensor | None,
    reverse: bool,
    *_: Any,
) -> tuple[Tensor, ...]:
    """Gradients of :func:`_lstm_layer`, by backpropagation through time.

    The gates are computed anew: torch's kernel keeps them in a workspace only where it was told
    that it trains, which the op that torch emits never tells.
    """
    order = range(x.shape[0])[::-1] if reverse else range(x.shape[0])
    states = {before: output[at] for at, before in itertools.pairwise(order)}
    states[order[0]] = hidden[0]
    gates_of_inputs = functional.linear(x, weight_ih, bias_ih + bias_hh)
    gates, memories, memory = {}, {}, cell[0]
    for step in order:
        memories[step] = memory
        raw = gates_of_inputs[step] + functional.linear(states[step], weight_hh)
        i, f, c, o = raw.chunk(4, 1)
        gates[step] = i.sigmoid(), f.sigmoid(), c.tanh(), o.sigmoid()
        memory = gates[step][1] * memory + gates[step][0] * gates[step][2]

    grad_state = torch.zeros_like(hidden[0]) if grad_hidden is None else grad_hidden[0]
    grad_memory = torch.zeros_like(cell[0]) if grad_cell is None else grad_cell[0]
    grads = {}
    for step in reversed(order):
        if grad_output is not None:
            grad_state = grad_state + grad_output[step]
        i, f, c, o = gates[step]
        active = (f * memories[step] + i * c).tanh()
        grad_memory = grad_memory + grad_state * o * (1 - active * active)
        parts = (
            grad_memory * c * i * (1 - i),
            grad_memory * memories[step] * f * (1 - f),
            grad_memory * i * (1 - c * c),
            grad_state * active * o * (1 - o),
        )
        grads[step] = torch.cat(parts, 1)
        grad_memory = grad_memory * f
        grad_state = grads[step] @ weight_hh
    grad_gates = torch.stack([grads[step] for step in range(x.shape[0])])
    before = torch.stack([states[step] for step in range(x.shape[0])])
    flat = grad_gates.flatten(0, 1)
    grad_bias = flat.sum(0)
    return (
        grad_gates @ weight_ih,
        flat.t() @ x.flatten(0, 1),
        flat.t() @ before.flatten(0, 1),
        grad_bias,
        grad_bias.clone(),
        grad_state.unsqueeze(0),
        grad_memory.unsqueeze(0),
    )


@_decomposes(aten._transformer_encoder_layer_fwd.default)
def _transformer_encoder_layer(
    x: Tensor,
    width: int,
    heads: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    projection_weight: Tensor,
    projection_bias: Tensor,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: Tensor,
    norm_bias_1: Tensor,
    norm_weight_2: Tensor,
    norm_bias_2: Tensor,
    ffn_weight_1: Tensor,
    ffn_bias_1: Tensor,
    ffn_weight_2: Tensor,
    ffn_bias_2: Tensor,
    mask: Tensor | None = None,
    mask_type: int | None = None,
) -> Tensor:
    """The fast path of ``torch.nn.TransformerEncoderLayer`` in inference.

    ``mask`` is true where attention is forbidden: for mask type 0 of shape (queries, keys), for
    1 (batch, keys), else (batch, heads, queries, keys).
    """
    batch, length, _ = x.shape

    def norm_1(y: Tensor) -> Tensor:
        return functional.layer_norm(y, (width,), norm_weight_1, norm_bias_1, eps)

    def norm_2(y: Tensor) -> Tensor:
        return functional.layer_norm(y, (width,), norm_weight_2, norm_bias_2, eps)

    def attend(y: Tensor) -> Tensor:
        qkv = functional.linear(y, qkv_weight, qkv_bias).view(batch, length, 3, heads, -1)
        query, key, value = (part.transpose(1, 2) for part in qkv.unbind(2))
        allowed = None
        if mask is not None:
            shape = {0: (1, 1, length, length), 1: (batch, 1, 1, length)}
            forbidden = mask.view(shape[mask_type]) if mask_type in shape else mask
            allowed = forbidden.to(torch.bool).logical_not()
        y = functional.scaled_dot_product_attention(query, key, value, attn_mask=allowed)
        y = y.transpose(1, 2).reshape(batch, length, width)
        return functional.linear(y, projection_weight, projection_bias)

    def feed(y: Tensor) -> Tensor:
        y = functional.linear(y, ffn_weight_1, ffn_bias_1)
        y = functional.gelu(y) if use_gelu else functional.relu(y)
        return functional.linear(y, ffn_weight_2, ffn_bias_2)

    if norm_first:
        x = x + attend(norm_1(x))
        return x + feed(norm_2(x))
    x = norm_1(x + attend(x))
    return norm_2(x + feed(x))


@_decomposes(aten._trilinear.default)
def _trilinear(
    first: Tensor,
    second: Tensor,
    third: Tensor,
    expand_first: list[int],
    expand_second: list[int],
    expand_third: list[int],
    summed: list[int],
    unroll_dim: int = 1,
) -> Tensor:
    """Sum of products of three tensors, each first given the dimensions that it lacks."""
    del unroll_dim
    for dim in expand_first:
        first = first.unsqueeze(dim)
    for dim in expand_second:
        second = second.unsqueeze(dim)
    for dim in expand_third:
        third = third.unsqueeze(dim)
    product = first * second * third
    return product.sum(summed, dtype=product.dtype) if summed else product


@_decomposes(aten._unique.default)
def _unique(
    x: Tensor, is_sorted: bool = True, return_inverse: bool = False
) -> tuple[Tensor, Tensor]:
    values, inverse, _ = aten._unique2(x, is_sorted, return_inverse, False)
    return values, inverse


@_decomposes(aten._embedding_bag_backward.default)
def _embedding_bag_backward(
    grad: Tensor,
    indices: Tensor,
    offsets: Tensor,
    offset2bag: Tensor,
    bag_size: Tensor,
    maximum_indices: Tensor,
    num_weights: int,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Tensor | None,
    padding_idx: int = -1,
) -> Any:
    if sparse:
        raise NotImplementedError("the numpy backend has no sparse gradients: use sparse=False")
    if offset2bag.numel() == 0 != indices.numel():  # the forward pass had no need of it
        places = torch.arange(indices.numel(), dtype=offsets.dtype)
        offset2bag = torch.bucketize(places, offsets, right=True) - 1
    return aten._embedding_bag_dense_backward(
        *(grad, indices, offset2bag, bag_size, maximum_indices, num_weights),
        *(scale_grad_by_freq, mode, per_sample_weights, padding_idx),
    )


@functools.cache
def decompositions() -> dict[Any, Any]:
    """Return the table for AOTAutograd: all that torch can take apart, less what is lowered.

    Random ops stay whole: torch's decompositions of them draw other numbers than its kernels do.
    """
    import dynreg_numpy.lowerings  # noqa: F401 - fills the table that is read below

    table = {**decomposition_table, **core_aten_decompositions(), **_OURS}
    return {
        op: rule
        for op, rule in table.items()
        if op not in LOWERINGS and torch.Tag.nondeterministic_seeded not in getattr(op, "tags", ())
    }
