"""Pointwise ops: most of them one row of a table."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import torch

from dynreg_numpy._dtypes import numpy_dtype
from dynreg_numpy.ir import Argument, ArrayType, Value
from dynreg_numpy.lowering import Builder, Promotion, lowers

aten = torch.ops.aten
prims = torch.ops.prims

#: Promotion kind, then overloads with the function each is lowered to.
ROWS: dict[Promotion, dict[Any, str]] = {
    Promotion.DEFAULT: {
        aten.neg.default: "neg",
        aten.maximum.default: "maximum",
        aten.minimum.default: "minimum",
        aten.fmax.default: "fmax",
        aten.fmin.default: "fmin",
        aten.fmod.Tensor: "fmod",
        aten.fmod.Scalar: "fmod",
        aten.remainder.Tensor: "remainder",
        aten.remainder.Scalar: "remainder",
        aten.remainder.Scalar_Tensor: "remainder",
        aten.mul.Tensor: "mul",
        aten.mul.Scalar: "mul",
        aten.sign.default: "sign",
        aten.square.default: "square",
        aten.hypot.default: "hypot",
        aten.nextafter.default: "nextafter",
        aten.gcd.default: "gcd",
        aten.lcm.default: "lcm",
        aten.bitwise_and.Tensor: "bitwise_and",
        aten.bitwise_and.Scalar: "bitwise_and",
        aten.bitwise_and.Scalar_Tensor: "bitwise_and",
        aten.bitwise_or.Tensor: "bitwise_or",
        aten.bitwise_or.Scalar: "bitwise_or",
        aten.bitwise_or.Scalar_Tensor: "bitwise_or",
        aten.bitwise_xor.Tensor: "bitwise_xor",
        aten.bitwise_xor.Scalar: "bitwise_xor",
        aten.bitwise_xor.Scalar_Tensor: "bitwise_xor",
        aten.bitwise_not.default: "bitwise_not",
        aten.logaddexp.default: "logaddexp",
        aten.logaddexp2.default: "logaddexp2",
        aten._conj.default: "conj",
        aten._conj_physical.default: "conj",
    },
    Promotion.INT_TO_FLOAT: {
        aten.exp.default: "exp",
        aten.exp2.default: "exp2",
        aten.expm1.default: "expm1",
        aten.log.default: "log",
        aten.log2.default: "log2",
        aten.log10.default: "log10",
        aten.log1p.default: "log1p",
        aten.sqrt.default: "sqrt",
        aten.rsqrt.default: "rsqrt",
        aten.reciprocal.default: "reciprocal",
        aten.sin.default: "sin",
        aten.cos.default: "cos",
        aten.tan.default: "tan",
        aten.asin.default: "asin",
        aten.acos.default: "acos",
        aten.atan.default: "atan",
        aten.sinh.default: "sinh",
        aten.cosh.default: "cosh",
        aten.tanh.default: "tanh",
        aten.asinh.default: "asinh",
        aten.acosh.default: "acosh",
        aten.atanh.default: "atanh",
        aten.atan2.default: "atan2",
        aten.copysign.Tensor: "copysign",
        aten.copysign.Scalar: "copysign",
        aten.sigmoid.default: "sigmoid",
        aten.erf.default: "erf",
        aten.erfc.default: "erfc",
        aten.div.Tensor: "true_divide",
        aten.div.Scalar: "true_divide",
        aten.true_divide.Tensor: "true_divide",
        aten.true_divide.Scalar: "true_divide",
        aten.deg2rad.default: "deg2rad",
        aten.rad2deg.default: "rad2deg",
    },
    Promotion.COMPLEX_TO_FLOAT: {aten.abs.default: "abs"},
    Promotion.ALWAYS_BOOL: {
        **{
            getattr(getattr(aten, name), overload): name
            for name in ("eq", "ne", "lt", "le", "gt", "ge")
            for overload in ("Tensor", "Scalar")
        },
        aten.isnan.default: "isnan",
        aten.isinf.default: "isinf",
        aten.isfinite.default: "isfinite",
        aten.signbit.default: "signbit",
        aten.logical_and.default: "logical_and",
        aten.logical_or.default: "logical_or",
        aten.logical_xor.default: "logical_xor",
        aten.logical_not.default: "logical_not",
    },
}


def _row(b: Builder, *args: Argument, name: str, kind: Promotion) -> Argument:
    return b.elementwise(name, *args, kind=kind)


for _kind, _names in ROWS.items():
    for _overload, _name in _names.items():
        lowers(_overload)(partial(_row, name=_name, kind=_kind))


@lowers(aten.add.Tensor, aten.add.Scalar)
def add(b: Builder, x: Argument, y: Argument, alpha: Argument = 1) -> Argument:
    return _scaled(b, "add", x, y, alpha)


@lowers(aten.sub.Tensor, aten.sub.Scalar)
def sub(b: Builder, x: Argument, y: Argument, alpha: Argument = 1) -> Argument:
    return _scaled(b, "sub", x, y, alpha)


def _scaled(b: Builder, name: str, x: Argument, y: Argument, alpha: Argument) -> Argument:
    """``x ± alpha · y``; booleans add as a logical or, which is what NumPy does too."""
    (x, y), result = b.promote(x, y)
    if alpha != 1:
        y = b.pointwise("mul", y, b.cast(alpha, y.dtype)) if isinstance(y, Value) else y * alpha
    return b.cast(b.pointwise(name, x, y), result)


@lowers(aten.addcmul.default)
def addcmul(b: Builder, x: Value, y: Value, z: Value, *, value: Argument = 1) -> Argument:
    return _add_scaled(b, "mul", x, y, z, value)


@lowers(aten.addcdiv.default)
def addcdiv(b: Builder, x: Value, y: Value, z: Value, *, value: Argument = 1) -> Argument:
    return _add_scaled(b, "true_divide", x, y, z, value)


def _add_scaled(b: Builder, name: str, x: Value, y: Value, z: Value, scale: Argument) -> Argument:
    """``x + scale · y ∘ z``, rounded once."""
    (x, y, z), result = b.promote(x, y, z)
    if scale != 1:
        y = b.pointwise("mul", y, b.cast(scale, y.dtype))
    return b.cast(b.pointwise("add", x, b.pointwise(name, y, z)), result)


@lowers(aten.addr.default)
def addr(
    b: Builder, x: Value, y: Value, z: Value, *, beta: Argument = 1, alpha: Argument = 1
) -> Argument:
    (x, y, z), result = b.promote(x, y, z)

    def times(value: Value, factor: Argument) -> Any:  # rounded as torch does, after each step
        product = b.pointwise("mul", value, factor)
        return b.cast(b.cast(product, result), product.dtype)

    column = b.reshape(y, (y.shape[0], 1))
    if alpha != 1:
        column = times(column, b.cast(alpha, y.dtype))
    product = times(column, z)
    if beta == 0:
        return b.cast(product, result)
    if beta != 1:
        x = times(x, b.cast(beta, x.dtype))
    return b.cast(b.pointwise("add", x, product), result)


@lowers(aten.div.Tensor_mode, aten.div.Scalar_mode)
def div_mode(b: Builder, x: Argument, y: Argument, *, rounding_mode: str | None = None) -> Argument:
    if rounding_mode is None:
        return b.elementwise("true_divide", x, y, kind=Promotion.INT_TO_FLOAT)
    (x, y), result = b.promote(x, y)
    dtype = next(arg.dtype for arg in (x, y) if isinstance(arg, Value))
    if rounding_mode == "floor":
        name = "integer_floor_divide" if dtype.kind in "iub" else "floor_divide"
        return b.cast(b.pointwise(name, x, y), result)
    if dtype.kind in "iub":
        return b.cast(b.pointwise("integer_trunc_divide", x, y), result)
    return b.cast(b.pointwise("trunc", b.pointwise("true_divide", x, y)), result)


@lowers(aten.floor_divide.default)
def floor_divide(b: Builder, x: Argument, y: Argument) -> Argument:
    return div_mode(b, x, y, rounding_mode="floor")


@lowers(aten.pow.Tensor_Tensor, aten.pow.Tensor_Scalar, aten.pow.Scalar)
def pow_(b: Builder, x: Argument, y: Argument) -> Argument:
    if isinstance(y, (int, float)) and isinstance(x, Value) and x.dtype.kind in "fcV":
        # The exponents for which torch calls something faster and more exact than pow.
        name = {2: "square", 0.5: "sqrt", -0.5: "rsqrt", -1: "reciprocal"}.get(y)
        if name is not None:
            return b.elementwise(name, x)
    (x, y), result = b.promote(x, y)
    dtype = next(arg.dtype for arg in (x, y) if isinstance(arg, Value))
    name = "integer_power" if dtype.kind in "iub" else "pow"
    return b.cast(b.pointwise(name, x, y), result)


@lowers(aten.where.self, aten.where.ScalarOther, aten.where.ScalarSelf, aten.where.Scalar)
def where(b: Builder, condition: Value, x: Argument, y: Argument) -> Argument:
    (x, y), result = b.promote(x, y, kind=Promotion.NO_OPMATH)
    condition = b.cast(condition, np.dtype(np.bool_))
    # An array and not a number: formats that NumPy does not know have no say in its promotion.
    x = x if isinstance(x, Value) else b.full((), x, result)
    y = y if isinstance(y, Value) else b.full((), y, result)
    return b.cast(b.pointwise("where", condition, x, y, dtype=x.dtype), result)


@lowers(aten.masked_fill.Scalar, aten.masked_fill.Tensor)
def masked_fill(b: Builder, x: Value, mask: Value, fill: Argument) -> Argument:
    fill = b.cast(fill, x.dtype) if isinstance(fill, Value) else b.full((), fill, x.dtype)
    return b.pointwise("where", mask, fill, x, dtype=x.dtype)


@lowers(aten.clamp.default, aten.clamp.Tensor)
def clamp(b: Builder, x: Value, low: Argument = None, high: Argument = None) -> Argument:
    (x, low, high), result = b.promote(x, low, high)
    if low is not None:
        x = b.pointwise("maximum", x, low)
    if high is not None:
        x = b.pointwise("minimum", x, high)
    return b.cast(x, result)


@lowers(aten.clamp_min.default, aten.clamp_min.Tensor)
def clamp_min(b: Builder, x: Value, low: Argument) -> Argument:
    return clamp(b, x, low)


@lowers(aten.clamp_max.default, aten.clamp_max.Tensor)
def clamp_max(b: Builder, x: Value, high: Argument) -> Argument:
    return clamp(b, x, None, high)


@lowers(aten.relu.default)
def relu(b: Builder, x: Value) -> Argument:
    return b.elementwise("maximum", x, 0)


@lowers(aten.leaky_relu.default)
def leaky_relu(b: Builder, x: Value, slope: float = 0.01) -> Argument:
    (x,), result = b.promote(x)
    return b.cast(b.pointwise("where", _positive(b, x), x, b.pointwise("mul", x, slope)), result)


@lowers(aten.elu.default)
def elu(
    b: Builder, x: Value, alpha: float = 1, scale: float = 1, input_scale: float = 1
) -> Argument:
    (x,), result = b.promote(x)
    negative = b.pointwise("mul", b.pointwise("expm1", b.pointwise("mul", x, input_scale)), alpha)
    chosen = b.pointwise("where", _positive(b, x), x, negative, dtype=x.dtype)
    return b.cast(b.pointwise("mul", chosen, scale), result)


def _positive(b: Builder, x: Value) -> Value:
    return b.pointwise("gt", x, 0, dtype=np.dtype(np.bool_))


@lowers(aten.gelu.default)
def gelu(b: Builder, x: Value, approximate: str = "none") -> Argument:
    return b.elementwise("gelu" if approximate == "none" else "gelu_tanh", x)


@lowers(
    prims.shift_left.default,
    aten.__lshift__.Scalar,
    aten.__lshift__.Tensor,
    aten.bitwise_left_shift.Tensor,
    aten.bitwise_left_shift.Tensor_Scalar,
)
def left_shift(b: Builder, x: Value, y: Argument) -> Argument:
    return b.elementwise("left_shift", x, y)


@lowers(
    prims.shift_right_arithmetic.default,
    aten.__rshift__.Scalar,
    aten.__rshift__.Tensor,
    aten.bitwise_right_shift.Tensor,
    aten.bitwise_right_shift.Tensor_Scalar,
)
def right_shift(b: Builder, x: Value, y: Argument) -> Argument:
    return b.elementwise("right_shift", x, y)


def _to_whole(b: Builder, x: Value, *, name: str) -> Argument:
    return clone(b, x) if x.dtype.kind in "iub" else b.elementwise(name, x)


for _name in ("floor", "ceil", "trunc", "round"):
    lowers(getattr(aten, _name).default)(partial(_to_whole, name=_name))


@lowers(aten.heaviside.default)
def heaviside(b: Builder, x: Value, at_zero: Value) -> Argument:
    (x, at_zero), result = b.promote(x, at_zero)
    zero = b.pointwise("eq", x, 0, dtype=np.dtype(np.bool_))
    step = b.cast(_positive(b, x), x.dtype)
    return b.cast(b.pointwise("where", zero, at_zero, step, dtype=x.dtype), result)


@lowers(aten.round.decimals)
def round_decimals(b: Builder, x: Value, *, decimals: int = 0) -> Argument:
    (x,), result = b.promote(x)
    scale = float(10 ** abs(decimals))
    there, back = ("mul", "true_divide") if decimals >= 0 else ("true_divide", "mul")
    rounded = b.pointwise("round", b.pointwise(there, x, scale))
    return b.cast(b.pointwise(back, rounded, scale), result)


@lowers(prims.convert_element_type.default)
def convert_element_type(b: Builder, x: Value, dtype: torch.dtype) -> Argument:
    if x.dtype == numpy_dtype(dtype):
        return clone(b, x)
    return b.cast(x, numpy_dtype(dtype))


@lowers(aten._to_copy.default)
def to_copy(b: Builder, x: Value, *, dtype: torch.dtype | None = None, **_: Any) -> Argument:
    return convert_element_type(b, x, dtype) if dtype is not None else clone(b, x)


@lowers(aten.clone.default, aten.lift_fresh_copy.default)
def clone(b: Builder, x: Value, *, memory_format: Any = None) -> Value:
    """A copy; contiguous where torch's is, since that is often why it is made."""
    del memory_format
    order = "C" if is_contiguous(b.out) else "K"
    return b.call("np.array", x, order=order, dtype=x.dtype, shape=x.shape, unique=True)


def is_contiguous(promised: Any) -> bool:
    """Whether torch promises C-contiguous memory."""
    if not isinstance(promised, ArrayType) or promised.strides is None:
        return False
    step: Any = 1
    for size, stride in zip(promised.shape[::-1], promised.strides[::-1], strict=True):
        if size != 1 and stride != step:
            return False
        step = step * size
    return True


@lowers(aten.copy.default)
def copy(b: Builder, x: Value, source: Value, non_blocking: bool = False) -> Argument:
    del non_blocking
    return b.cast(b.expand(clone(b, source), x.shape), x.dtype)


@lowers(aten.fill.Scalar)
def fill(b: Builder, x: Value, number: Argument) -> Value:
    return b.full(x.shape, number, x.dtype)


@lowers(aten.fill.Tensor)
def fill_tensor(b: Builder, x: Value, number: Value) -> Argument:
    return clone(b, b.expand(b.cast(number, x.dtype), x.shape))


@lowers(aten.logit.default)
def logit(b: Builder, x: Value, eps: float | None = None) -> Argument:
    (x,), result = b.promote(x, kind=Promotion.INT_TO_FLOAT)
    if eps is not None:
        x = b.pointwise("minimum", b.pointwise("maximum", x, eps), 1 - eps)

    def rounded(value: Value) -> Any:  # torch rounds narrow formats after each step here
        return b.cast(b.cast(value, result), value.dtype)

    rest = rounded(b.pointwise("add", b.pointwise("neg", x), 1.0))
    odds = rounded(b.pointwise("true_divide", x, rest))
    return b.cast(b.pointwise("log", odds), result)


@lowers(aten.sinc.default)
def sinc(b: Builder, x: Value) -> Argument:
    (x,), result = b.promote(x, kind=Promotion.INT_TO_FLOAT)
    angle = b.pointwise("mul", x, math.pi)
    quotient = b.pointwise("true_divide", b.pointwise("sin", angle), angle)
    zero = b.pointwise("eq", x, 0, dtype=np.dtype(np.bool_))
    return b.cast(b.pointwise("where", zero, 1.0, quotient, dtype=x.dtype), result)


@lowers(aten.angle.default)
def angle(b: Builder, x: Value) -> Argument:
    if x.dtype.kind == "c":
        return b.call("np.angle", x)
    (x,), result = b.promote(x, kind=Promotion.INT_TO_FLOAT)
    zero_or_nan = b.pointwise("mul", x, 0.0)
    return b.cast(
        b.pointwise(
            "where",
            b.pointwise("lt", x, 0, dtype=np.dtype(np.bool_)),
            math.pi,
            b.pointwise(
                "where",
                b.pointwise("isnan", x, dtype=np.dtype(np.bool_)),
                zero_or_nan,
                0.0,
                dtype=x.dtype,
            ),
            dtype=x.dtype,
        ),
        result,
    )


@lowers(aten.frexp.Tensor, prims.frexp.default)
def frexp(b: Builder, x: Value) -> tuple[Any, ...]:
    return b.call_many("elementwise.frexp", x)
