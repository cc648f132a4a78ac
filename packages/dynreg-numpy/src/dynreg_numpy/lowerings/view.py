"""Ops that look at the same memory in another shape, and those that only move memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from dynreg_numpy.lowering import Builder, lowers
from dynreg_numpy.lowerings.pointwise import clone

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dynreg_numpy.ir import Argument, Size, Value

aten = torch.ops.aten
prims = torch.ops.prims


@lowers(
    aten.view.default,
    aten._unsafe_view.default,
    aten.reshape.default,
    aten.unsqueeze.default,
    aten.squeeze.default,
    aten.squeeze.dim,
    aten.squeeze.dims,
    aten.flatten.using_ints,
)
def view(b: Builder, x: Value, *_: Argument) -> Value:
    return b.reshape(x, b.out.shape)


@lowers(aten._reshape_copy.default, aten.view_copy.default)
def reshape_copy(b: Builder, x: Value, *_: Argument) -> Value:
    return clone(b, b.reshape(x, b.out.shape))


@lowers(aten.alias.default, aten.detach.default, aten.lift_fresh.default, prims.view_of.default)
def alias(b: Builder, x: Value) -> Value:
    del b
    return x


@lowers(aten.permute.default)
def permute(b: Builder, x: Value, order: Sequence[int]) -> Value:
    return b.transpose(x, order)


@lowers(aten.t.default)
def t(b: Builder, x: Value) -> Value:
    return b.transpose(x, range(x.ndim)[::-1])


@lowers(aten.transpose.int)
def transpose(b: Builder, x: Value, first: int, second: int) -> Value:
    order = list(range(x.ndim))
    if order:
        order[first], order[second] = order[second], order[first]
    return b.transpose(x, order)


@lowers(aten.expand.default)
def expand(b: Builder, x: Value, shape: Sequence[Size], *, implicit: bool = False) -> Value:
    del shape, implicit
    return b.expand(x, b.out.shape)


def indexed(b: Builder, x: Value, dim: int, index: Argument, shape: Sequence[Size]) -> Value:
    """View ``x[:, …, index]`` with the index at one dimension."""
    index = (*(slice(None),) * (dim % x.ndim), index)
    return b.view("{0}[{1}]", x, index, shape=shape)


@lowers(aten.slice.Tensor)
def slice_(
    b: Builder,
    x: Value,
    dim: int = 0,
    start: Size | None = None,
    end: Size | None = None,
    step: Size = 1,
) -> Value:
    # Torch clamps start and end as Python does; the largest int64 stands for "to the end".
    stop = None if isinstance(end, int) and end >= 2**63 - 1 else end
    return indexed(b, x, dim, slice(start, stop, step), b.out.shape)


@lowers(aten.select.int)
def select(b: Builder, x: Value, dim: int, index: Size) -> Value:
    return indexed(b, x, dim, index, b.out.shape)


@lowers(aten.split.Tensor, aten.split_with_sizes.default)
def split(b: Builder, x: Value, sizes: Argument, dim: int = 0) -> tuple[Value, ...]:
    del sizes
    parts, start = [], 0
    for part in b.out:
        stop = start + part.shape[dim]
        parts.append(indexed(b, x, dim, slice(start, stop), part.shape))
        start = stop
    return tuple(parts)


@lowers(aten.unbind.int)
def unbind(b: Builder, x: Value, dim: int = 0) -> tuple[Value, ...]:
    return tuple(indexed(b, x, dim, i, part.shape) for i, part in enumerate(b.out))


@lowers(aten.diagonal.default)
def diagonal(b: Builder, x: Value, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Value:
    return b.view("np.diagonal", x, offset, dim1, dim2, shape=b.out.shape)


@lowers(aten.view_as_real.default)
def view_as_real(b: Builder, x: Value) -> Value:
    real = b.view("layout.view_as_real", x, shape=b.out.shape)
    real.type = b.out
    return real


@lowers(aten.view_as_complex.default)
def view_as_complex(b: Builder, x: Value) -> Value:
    value = b.view("layout.view_as_complex", x, shape=b.out.shape)
    value.type = b.out
    return value


@lowers(aten.real.default)
def real(b: Builder, x: Value) -> Value:
    value = b.view("{0}.real", x, shape=x.shape)
    value.type = b.out
    return value


@lowers(aten.imag.default)
def imag(b: Builder, x: Value) -> Value:
    value = b.view("{0}.imag", x, shape=x.shape)
    value.type = b.out
    return value


# --- moving memory -----------------------------------------------------------------------------


@lowers(aten.cat.default)
def cat(b: Builder, tensors: Sequence[Value], dim: int = 0) -> Value:
    # Torch skips empty vectors of one dimension whatever the rank of the others.
    kept = [x for x in tensors if x.ndim == len(b.out.shape)]
    return b.call("np.concatenate", tuple(b.cast(x, b.out.dtype) for x in kept), dim)


@lowers(aten.flip.default)
def flip(b: Builder, x: Value, dims: Sequence[int]) -> Value:
    if not x.ndim:
        return clone(b, x)
    return clone(b, b.view("np.flip", x, tuple(dims), shape=x.shape))


@lowers(aten.roll.default)
def roll(b: Builder, x: Value, shifts: Argument, dims: Argument = ()) -> Value:
    if not dims or not x.ndim:
        return b.call("np.roll", x, shifts[0] if x.ndim else 0)
    return b.call("np.roll", x, tuple(shifts), tuple(dims))


@lowers(aten.repeat.default)
def repeat(b: Builder, x: Value, repeats: Sequence[Size]) -> Value:
    return b.call("np.tile", x, tuple(repeats))


@lowers(aten.constant_pad_nd.default)
def constant_pad_nd(b: Builder, x: Value, pad: Sequence[Size], value: Argument = 0) -> Value:
    return b.call("layout.constant_pad", x, tuple(pad), b.cast(value, x.dtype))


@lowers(aten.slice_scatter.default)
def slice_scatter(
    b: Builder,
    x: Value,
    source: Value,
    dim: int = 0,
    start: Size | None = None,
    end: Size | None = None,
    step: Size = 1,
) -> Value:
    stop = None if isinstance(end, int) and end >= 2**63 - 1 else end
    return _put(b, x, dim, slice(start, stop, step), source)


@lowers(aten.select_scatter.default)
def select_scatter(b: Builder, x: Value, source: Value, dim: int, index: Size) -> Value:
    return _put(b, x, dim, index, source)


def _put(b: Builder, x: Value, dim: int, index: Argument, source: Value) -> Value:
    where = (*(slice(None),) * (dim % x.ndim), index)
    return b.call("layout.put", x, where, source)


@lowers(aten.as_strided.default, aten.as_strided_copy.default)
def as_strided(
    b: Builder,
    x: Value,
    shape: Sequence[Size],
    strides: Sequence[Size],
    offset: Size | None = None,
) -> Value:
    # The strides count from the start of the memory as torch lays it out, which is that of the
    # type; layouts inside a program are free.
    return b.call(
        "layout.as_strided_copy", x, x.array.strides, tuple(shape), tuple(strides), offset or 0
    )


@lowers(aten.as_strided_scatter.default)
def as_strided_scatter(
    b: Builder,
    x: Value,
    source: Value,
    shape: Sequence[Size],
    strides: Sequence[Size],
    offset: Size | None = None,
) -> Value:
    base = x.array.strides
    return b.call(
        "layout.as_strided_put", x, base, source, tuple(shape), tuple(strides), offset or 0
    )


@lowers(aten.diagonal_scatter.default)
def diagonal_scatter(
    b: Builder, x: Value, source: Value, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Value:
    return b.call("layout.put_diagonal", x, source, offset, dim1, dim2)


@lowers(aten.complex.default)
def complex_(b: Builder, real: Value, imaginary: Value) -> Value:
    return b.call("layout.complex_of", real, imaginary, b.out.dtype)


@lowers(aten.polar.default)
def polar(b: Builder, radius: Value, angle: Value) -> Value:
    parts = (b.pointwise("mul", radius, b.pointwise(part, angle)) for part in ("cos", "sin"))
    return b.call("layout.complex_of", *parts, b.out.dtype)
