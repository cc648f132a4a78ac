"""Reading and writing at indices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from dynreg_numpy.lowering import Builder, lowers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dynreg_numpy.ir import Argument, Value

aten = torch.ops.aten


@lowers(aten.index.Tensor, aten._unsafe_index.Tensor)
def index(b: Builder, x: Value, indices: Sequence[Value | None]) -> Value:
    return b.call("indexing.index", x, tuple(indices))


@lowers(aten.index_put.default, aten._unsafe_index_put.default)
def index_put(
    b: Builder, x: Value, indices: Sequence[Value | None], values: Value, accumulate: bool = False
) -> Value:
    return b.call("indexing.index_put", x, tuple(indices), values, accumulate)


@lowers(aten.index_select.default)
def index_select(b: Builder, x: Value, dim: int, index: Value) -> Value:
    return b.call("indexing.index_select", x, dim, index)


@lowers(aten.gather.default)
def gather(b: Builder, x: Value, dim: int, index: Value, *, sparse_grad: bool = False) -> Argument:
    del sparse_grad
    return b.call("indexing.gather", x, dim, index)


@lowers(aten.scatter.src)
def scatter(b: Builder, x: Value, dim: int, index: Value, source: Value) -> Value:
    return b.call("indexing.scatter", x, dim, index, source)


@lowers(aten.scatter.value)
def scatter_value(b: Builder, x: Value, dim: int, index: Value, value: Argument) -> Value:
    return b.call("indexing.scatter", x, dim, index, b.cast(value, x.dtype))


@lowers(aten.scatter_add.default)
def scatter_add(b: Builder, x: Value, dim: int, index: Value, source: Value) -> Value:
    return b.call("indexing.scatter_add", x, dim, index, source)


@lowers(aten.embedding.default)
def embedding(b: Builder, weight: Value, index: Value, *_: Argument) -> Value:
    return b.call("indexing.embedding", weight, index)


@lowers(aten.embedding_dense_backward.default)
def embedding_dense_backward(b: Builder, *args: Argument) -> Value:
    return b.call("indexing.embedding_dense_backward", *args)
