"""Random numbers, from torch's generator: the same seed gives the same numbers as eager mode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from dynreg_numpy._generator import GENERATOR
from dynreg_numpy.ir import ArrayType, Function, Kind
from dynreg_numpy.lowering import Builder, lowers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dynreg_numpy.ir import Argument, Size, Value

aten = torch.ops.aten


def _draw(b: Builder, name: str, *args: Argument, ordered: bool = False) -> Value:
    """Call a kernel of ``dynreg_numpy.runtime.random``, which moves the generator on."""
    function = Function(f"random.{name}", Kind.LIBRARY, effect=True, unique=True)
    keywords = {"order": _order(b.out)} if ordered and _order(b.out) else {}
    return b.emit(function, GENERATOR, *args, result=b.out, **keywords)


def _order(promised: ArrayType) -> tuple[int, ...] | None:
    """Return the dimensions from the outermost in memory, or None where that is as indexed."""
    strides = promised.strides
    if strides is None or not all(isinstance(step, int) for step in strides):
        return None
    order = sorted(range(len(strides)), key=lambda axis: (-strides[axis], axis))
    sizes = promised.shape
    moved = [axis for axis in order if sizes[axis] != 1]
    return tuple(order) if moved != sorted(moved) else None


@lowers(aten.rand.default, aten.rand_like.default)
def rand(b: Builder, *_: Argument, **__: Any) -> Value:
    return _draw(b, "uniform", b.out.shape, 0.0, 1.0, b.out.dtype, ordered=True)


@lowers(aten.uniform.default)
def uniform(b: Builder, _: Value, low: float = 0.0, high: float = 1.0, **__: Any) -> Value:
    return _draw(b, "uniform", b.out.shape, low, high, b.out.dtype, ordered=True)


@lowers(aten.randn.default, aten.randn_like.default)
def randn(b: Builder, *_: Argument, **__: Any) -> Value:
    return _draw(b, "normal", b.out.shape, 0.0, 1.0, b.out.dtype, ordered=True)


@lowers(aten.normal_functional.default)
def normal(b: Builder, _: Value, mean: float = 0.0, std: float = 1.0, **__: Any) -> Value:
    return _draw(b, "normal", b.out.shape, mean, std, b.out.dtype, ordered=True)


@lowers(aten.normal.float_float)
def normal_of(b: Builder, mean: float, std: float, _: Sequence[Size], **__: Any) -> Value:
    return _draw(b, "normal", b.out.shape, mean, std, b.out.dtype, ordered=True)


@lowers(aten.normal.Tensor_Tensor, aten.normal.Tensor_float, aten.normal.float_Tensor)
def normal_around(b: Builder, mean: Argument, std: Argument = 1.0, **_: Any) -> Argument:
    numbers = _draw(b, "normal", b.out.shape, 0.0, 1.0, b.out.dtype)
    wide = b.widen(numbers)
    scaled = b.pointwise("mul", wide, b.cast(std, wide.dtype))
    return b.cast(b.pointwise("add", scaled, b.cast(mean, wide.dtype)), b.out.dtype)


@lowers(aten.randint.default)
def randint(b: Builder, high: Size, _: Sequence[Size], **__: Any) -> Value:
    return _draw(b, "integers", b.out.shape, 0, high, b.out.dtype)


@lowers(aten.randint.low)
def randint_between(b: Builder, low: Size, high: Size, _: Sequence[Size], **__: Any) -> Value:
    return _draw(b, "integers", b.out.shape, low, high, b.out.dtype)


@lowers(aten.randint_like.default)
def randint_like(b: Builder, _: Value, high: Size, **__: Any) -> Value:
    return _draw(b, "integers", b.out.shape, 0, high, b.out.dtype, ordered=True)


@lowers(aten.randint_like.low_dtype)
def randint_like_between(b: Builder, _: Value, low: Size, high: Size, **__: Any) -> Value:
    return _draw(b, "integers", b.out.shape, low, high, b.out.dtype, ordered=True)


@lowers(aten.randperm.default)
def randperm(b: Builder, count: Size, **_: Any) -> Value:
    return _draw(b, "permutation", count, b.out.dtype)


@lowers(aten.bernoulli.p)
def bernoulli_scalar(b: Builder, _: Value, probability: float = 0.5, **__: Any) -> Value:
    return _draw(b, "bernoulli_scalar", b.out.shape, probability, b.out.dtype, ordered=True)


@lowers(aten.bernoulli.default)
def bernoulli(b: Builder, probability: Value, **_: Any) -> Value:
    return _draw(b, "bernoulli", probability, b.out.dtype)


@lowers(aten.bernoulli.Tensor)
def bernoulli_each(b: Builder, _: Value, probability: Value, **__: Any) -> Value:
    return _draw(b, "bernoulli", b.expand(probability, b.out.shape), b.out.dtype)


@lowers(aten.native_dropout.default)
def dropout(b: Builder, x: Value, probability: float, train: bool | None) -> Any:
    return b.items(_draw(b, "dropout", x, probability, train, _order(b.out[0])))


@lowers(aten.exponential.default)
def exponential(b: Builder, _: Value, rate: float = 1.0, **__: Any) -> Value:
    return _draw(b, "exponential", b.out.shape, rate, b.out.dtype, ordered=True)


@lowers(aten.geometric.default)
def geometric(b: Builder, _: Value, probability: float, **__: Any) -> Value:
    return _draw(b, "geometric", b.out.shape, probability, b.out.dtype, ordered=True)


@lowers(aten.cauchy.default)
def cauchy(b: Builder, _: Value, median: float = 0.0, sigma: float = 1.0, **__: Any) -> Value:
    return _draw(b, "cauchy", b.out.shape, median, sigma, b.out.dtype, ordered=True)


@lowers(aten.log_normal.default)
def log_normal(b: Builder, _: Value, mean: float = 1.0, std: float = 2.0, **__: Any) -> Value:
    return _draw(b, "log_normal", b.out.shape, mean, std, b.out.dtype, ordered=True)


@lowers(aten.multinomial.default)
def multinomial(
    b: Builder, weights: Value, count: Size, replacement: bool = False, **_: Any
) -> Value:
    return _draw(b, "multinomial", weights, count, replacement)


@lowers(aten.rrelu_with_noise_functional.default)
def rrelu(
    b: Builder,
    x: Value,
    noise: Value,
    lower: float = 0.125,
    upper: float = 1 / 3,
    training: bool = False,
    **_: Any,
) -> Any:
    del noise
    return b.items(_draw(b, "rrelu", x, lower, upper, training))
