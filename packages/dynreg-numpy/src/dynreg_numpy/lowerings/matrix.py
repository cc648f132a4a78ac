"""Products of matrices, and attention."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from dynreg_numpy.lowering import Builder, lowers

if TYPE_CHECKING:
    from dynreg_numpy.ir import Argument, Value

aten = torch.ops.aten


def _product(b: Builder, x: Value, y: Value) -> Value:
    """``x @ y``, accumulated in float32 where the format is narrower."""
    x, y = b.widen(x), b.widen(y)
    if x.dtype.kind == "b" or x.dtype.kind in "iu":
        return b.call("matrix.integer_matmul", x, y, dtype=x.dtype)
    return b.call("np.matmul", x, y, dtype=x.dtype)


@lowers(aten.mm.default, aten.bmm.default, aten.mv.default, aten.dot.default)
def mm(b: Builder, x: Value, y: Value) -> Argument:
    return b.cast(_product(b, x, y), b.out.dtype)


@lowers(aten.vdot.default)
def vdot(b: Builder, x: Value, y: Value) -> Argument:
    return b.cast(_product(b, b.pointwise("conj", x), y), b.out.dtype)


@lowers(aten.addmm.default, aten.baddbmm.default, aten.addmv.default)
def addmm(
    b: Builder, x: Value, y: Value, z: Value, *, beta: Argument = 1, alpha: Argument = 1
) -> Argument:
    product = _product(b, y, z)
    if alpha != 1:
        product = b.pointwise("mul", product, b.cast(alpha, product.dtype))
    if beta == 0:  # torch does not even read x then: NaN in it does not count
        return b.cast(product, b.out.dtype)
    term = b.widen(x)
    if beta != 1:
        term = b.pointwise("mul", term, b.cast(beta, term.dtype))
    return b.cast(b.pointwise("add", product, term), b.out.dtype)


@lowers(aten.addbmm.default)
def addbmm(
    b: Builder, x: Value, y: Value, z: Value, *, beta: Argument = 1, alpha: Argument = 1
) -> Argument:
    return b.call("matrix.addbmm", x, y, z, beta, alpha)


@lowers(aten._scaled_dot_product_flash_attention_for_cpu.default)
def attention(
    b: Builder,
    query: Value,
    key: Value,
    value: Value,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Value | None = None,
    scale: float | None = None,
) -> tuple[Any, ...]:
    del dropout_p  # torch takes this overload only where it is zero
    return b.call_many("attention.forward", query, key, value, attn_mask, is_causal, scale)


@lowers(aten._scaled_dot_product_flash_attention_for_cpu_backward.default)
def attention_backward(
    b: Builder,
    grad: Value,
    query: Value,
    key: Value,
    value: Value,
    out: Value,
    logsumexp: Value,
    dropout_p: float,
    is_causal: bool,
    *,
    attn_mask: Value | None = None,
    scale: float | None = None,
) -> tuple[Any, ...]:
    del dropout_p
    return b.call_many(
        "attention.backward",
        *(grad, query, key, value, out, logsumexp, attn_mask, is_causal, scale),
    )
