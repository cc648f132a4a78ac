"""Reading and writing at indices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from dynreg_numpy.lowering import Builder, kernels, lowers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dynreg_numpy.ir import Argument, Value

aten = torch.ops.aten

kernels(
    {
        aten.take.default: "indexing.take",
        aten.put.default: "indexing.put",
        aten.index_add.default: "indexing.index_add",
        aten.index_copy.default: "indexing.index_copy",
        aten.index_reduce.default: "indexing.index_reduce",
        aten.scatter_reduce.two: "indexing.scatter_reduce",
        aten.masked_select.default: "indexing.masked_select",
        aten.masked_scatter.default: "indexing.masked_scatter",
        aten.masked_scatter_backward.default: "indexing.masked_scatter_backward",
        aten.nonzero.default: "indexing.nonzero",
        aten.nonzero_static.default: ("indexing.nonzero_static", "self size fill_value"),
        aten._unique2.default: "indexing.unique",
        aten.unique_consecutive.default: "indexing.unique_consecutive",
        aten.unique_dim.default: "indexing.unique_dim",
        aten.unique_dim_consecutive.default: "indexing.unique_dim_consecutive",
        aten.searchsorted.Tensor: "indexing.searchsorted",
        aten.searchsorted.Scalar: "indexing.searchsorted",
        aten.bucketize.Tensor: "indexing.bucketize",
        aten.bucketize.Scalar: "indexing.bucketize",
        aten.bincount.default: "indexing.bincount",
        aten.histc.default: "indexing.histc",
        aten.histogram.bin_ct: "indexing.histogram",
        aten.histogram.bins_tensor: (
            "indexing.histogram",
            "self bins (weight) (density)",
        ),
        aten._histogramdd_bin_edges.default: ("indexing.histogram_bin_edges", "self bins range"),
        aten._histogramdd_from_bin_tensors.default: "indexing.histogramdd",
        aten.segment_reduce.default: "indexing.segment_reduce",
        aten._segment_reduce_backward.default: "indexing.segment_reduce_backward",
        aten._embedding_bag.default: "indexing.embedding_bag",
        aten._embedding_bag_forward_only.default: "indexing.embedding_bag",
        aten._embedding_bag_dense_backward.default: "indexing.embedding_bag_dense_backward",
        aten._embedding_bag_per_sample_weights_backward.default: (
            "indexing.embedding_bag_weights_backward"
        ),
    }
)


@lowers(aten._histogramdd_from_bin_cts.default)
def histogramdd_from_bin_cts(
    b: Builder,
    x: Value,
    bins: Sequence[int],
    *,
    range: Sequence[float] | None = None,  # noqa: A002 - the schema's name
    weight: Value | None = None,
    density: bool = False,
) -> Value:
    edges = b.call_list(
        "indexing.histogram_bin_edges", x, bins, range, count=len(bins), dtype=x.dtype
    )
    return b.call("indexing.histogramdd", x, edges, weight, density)


@lowers(aten.index_fill.int_Scalar, aten.index_fill.int_Tensor)
def index_fill(b: Builder, x: Value, dim: int, index: Value, value: Argument) -> Value:
    return b.call("indexing.index_fill", x, dim, index, b.cast(value, x.dtype))


@lowers(aten.scatter.reduce, aten.scatter.value_reduce)
def scatter_with_reduction(
    b: Builder, x: Value, dim: int, index: Value, source: Argument, *, reduce: str
) -> Value:
    kind = {"add": "sum", "multiply": "prod"}.get(reduce, reduce)
    return b.call("indexing.scatter_reduce", x, dim, index, b.cast(source, x.dtype), kind)


@lowers(aten.repeat_interleave.Tensor)
def repeat_interleave(b: Builder, repeats: Value, *, output_size: Argument = None) -> Value:
    del output_size
    return b.call("indexing.repeat_interleave", repeats)


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
