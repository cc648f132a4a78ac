"""Reductions, and scans along a dimension."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from dynreg_numpy.lowering import Builder, lowers

if TYPE_CHECKING:
    from dynreg_numpy.ir import Argument, Value

aten = torch.ops.aten
BOOL = np.dtype(np.bool_)
INT64 = np.dtype(np.int64)


def _axes(x: Value, dim: Any) -> tuple[int, ...]:
    """Return dimensions as a tuple; none, and the empty list, stand for all."""
    if dim is None or dim in ((), []):
        return tuple(range(x.ndim))
    return (dim,) if isinstance(dim, int) else tuple(dim)


def _accumulate(b: Builder, name: str, x: Value, dim: Any, keepdim: bool) -> Argument:
    """Reduce in the dtype of the result, or in float32 where that is narrower."""
    wide = b.widen(b.cast(x, b.out.dtype))
    return b.cast(b.reduction(name, wide, _axes(x, dim), keepdims=keepdim), b.out.dtype)


@lowers(aten.sum.dim_IntList)
def sum_(b: Builder, x: Value, dim: Any = None, keepdim: bool = False, **_: Any) -> Argument:
    return _accumulate(b, "sum", x, dim, keepdim)


@lowers(aten.sum.default)
def sum_all(b: Builder, x: Value, **_: Any) -> Argument:
    return _accumulate(b, "sum", x, None, False)


@lowers(aten.prod.default)
def prod(b: Builder, x: Value, **_: Any) -> Argument:
    return _accumulate(b, "prod", x, None, False)


@lowers(aten.prod.dim_int)
def prod_dim(b: Builder, x: Value, dim: int, keepdim: bool = False, **_: Any) -> Argument:
    return _accumulate(b, "prod", x, dim, keepdim)


@lowers(aten.mean.dim)
def mean(b: Builder, x: Value, dim: Any = None, keepdim: bool = False, **_: Any) -> Argument:
    axes = _axes(x, dim)
    wide = b.widen(b.cast(x, b.out.dtype))
    total = b.reduction("sum", wide, axes, keepdims=keepdim)
    count: Any = 1
    for axis in axes if x.ndim else ():
        count = count * x.shape[axis]
    return b.cast(b.pointwise("true_divide", total, count), b.out.dtype)


@lowers(aten.mean.default)
def mean_all(b: Builder, x: Value, **_: Any) -> Argument:
    return mean(b, x)


@lowers(aten.amax.default)
def amax(b: Builder, x: Value, dim: Any = (), keepdim: bool = False) -> Value:
    return b.reduction("amax", x, _axes(x, dim), keepdims=keepdim)


@lowers(aten.amin.default)
def amin(b: Builder, x: Value, dim: Any = (), keepdim: bool = False) -> Value:
    return b.reduction("amin", x, _axes(x, dim), keepdims=keepdim)


@lowers(aten.max.default)
def max_all(b: Builder, x: Value) -> Value:
    return b.reduction("amax", x, _axes(x, None))


@lowers(aten.min.default)
def min_all(b: Builder, x: Value) -> Value:
    return b.reduction("amin", x, _axes(x, None))


@lowers(aten.any.default, aten.any.dim, aten.any.dims)
def any_(b: Builder, x: Value, dim: Any = None, keepdim: bool = False) -> Argument:
    return _truth(b, "any", x, dim, keepdim)


@lowers(aten.all.default, aten.all.dim, aten.all.dims)
def all_(b: Builder, x: Value, dim: Any = None, keepdim: bool = False) -> Argument:
    return _truth(b, "all", x, dim, keepdim)


def _truth(b: Builder, name: str, x: Value, dim: Any, keepdim: bool) -> Argument:
    truth = b.cast(x, BOOL)
    return b.cast(b.reduction(name, truth, _axes(x, dim), keepdims=keepdim), b.out.dtype)


def _correction(correction: Any) -> float:
    """Torch's ``correction``: the number of degrees of freedom lost, 1 where it is not given."""
    return 1 if correction is None else correction


@lowers(aten.var.correction)
def var(
    b: Builder, x: Value, dim: Any = None, *, correction: Any = None, keepdim: bool = False
) -> Argument:
    axes = _axes(x, dim)
    wide = b.widen(x)
    dtype = b.out.dtype if x.dtype.kind == "c" else wide.dtype
    value = b.reduction(
        "var", wide, axes, keepdims=keepdim, dtype=dtype, correction=_correction(correction)
    )
    return b.cast(value, b.out.dtype)


@lowers(aten.var_mean.correction)
def var_mean(
    b: Builder, x: Value, dim: Any = None, *, correction: Any = None, keepdim: bool = False
) -> tuple[Argument, Argument]:
    kinds = b.out
    b.out = kinds[0]
    variance = var(b, x, dim, correction=correction, keepdim=keepdim)
    b.out = kinds[1]
    return variance, mean(b, x, dim, keepdim)


@lowers(aten.argmax.default)
def argmax(b: Builder, x: Value, dim: int | None = None, keepdim: bool = False) -> Value:
    return b.call("reductions.argmax", x, dim, keepdim)


@lowers(aten.argmin.default)
def argmin(b: Builder, x: Value, dim: int | None = None, keepdim: bool = False) -> Value:
    return b.call("reductions.argmin", x, dim, keepdim)


@lowers(aten.max.dim)
def max_dim(b: Builder, x: Value, dim: int, keepdim: bool = False) -> tuple[Argument, ...]:
    return b.call_many("reductions.max_dim", x, dim, keepdim)


@lowers(aten.min.dim)
def min_dim(b: Builder, x: Value, dim: int, keepdim: bool = False) -> tuple[Argument, ...]:
    return b.call_many("reductions.min_dim", x, dim, keepdim)


@lowers(aten.cumsum.default)
def cumsum(b: Builder, x: Value, dim: int, **_: Any) -> Argument:
    return _scan(b, "np.cumsum", x, dim)


@lowers(aten.cumprod.default)
def cumprod(b: Builder, x: Value, dim: int, **_: Any) -> Argument:
    return _scan(b, "np.cumprod", x, dim)


def _scan(b: Builder, source: str, x: Value, dim: int) -> Argument:
    cast = b.cast(x, b.out.dtype)
    if x.ndim == 0:
        return cast
    wide = b.widen(cast)
    return b.cast(b.call(source, wide, dim, wide.dtype, dtype=wide.dtype), b.out.dtype)


@lowers(aten.hash_tensor.default)
def hash_tensor(
    b: Builder, x: Value, dim: Any = (), *, keepdim: bool = False, mode: int = 0
) -> Value:
    del mode  # torch has this one
    return b.call("reductions.xor_of_bits", x, _axes(x, dim), keepdim)
