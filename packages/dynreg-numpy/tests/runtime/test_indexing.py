"""Reading and writing at indices against torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dynreg_numpy.runtime import indexing

aten = torch.ops.aten
DTYPES = [torch.float64, torch.float32, torch.bfloat16, torch.int64, torch.uint8, torch.bool]


def tensor(shape, dtype):
    if dtype.is_floating_point:
        return torch.randint(-4, 5, tuple(shape)).to(dtype)
    return torch.randint(0, 2 if dtype is torch.bool else 9, tuple(shape)).to(dtype)


@st.composite
def along(draw, dtypes=tuple(DTYPES)):
    """A tensor, a dimension, an index for it, and a source at least as large."""
    shape = draw(st.lists(st.integers(1, 5), max_size=3))
    dim = draw(st.integers(-max(len(shape), 1), max(len(shape), 1) - 1))
    size = shape[dim] if shape else 1
    index_shape = [draw(st.integers(0, n)) for n in shape]
    if shape:
        index_shape[dim] = draw(st.integers(0, 6))
    dtype = draw(st.sampled_from(dtypes))
    index = torch.randint(0, size, index_shape)
    source = tensor([n + draw(st.integers(0, 1)) for n in index_shape], dtype)
    return tensor(shape, dtype), dim, index, source


@st.composite
def rows(draw):
    """A tensor, a dimension, a list of entries of it, and that many slices."""
    shape = draw(st.lists(st.integers(1, 12), min_size=1, max_size=3))
    dim = draw(st.integers(-len(shape), len(shape) - 1))
    count = draw(st.integers(0, 9))
    index = torch.randint(0, shape[dim], (count,))
    dtype = draw(st.sampled_from([torch.float64, torch.float32, torch.int64]))
    source = list(shape)
    source[dim] = count
    return tensor(shape, dtype), dim, index, tensor(source, dtype)


@given(along())
def test_gather_and_scatter_agree(oracle, case):
    x, dim, index, source = case
    oracle.same(aten.gather, indexing.gather, x, dim, index)
    oracle.same(aten.scatter, indexing.scatter, x, dim, index, 1)
    oracle.same(aten.scatter_add, indexing.scatter_add, x, dim, index, source)
    if index.ndim == 0 or index.shape[dim] == 0:
        oracle.same(aten.scatter, indexing.scatter, x, dim, index, source)
        return
    # Of repeated entries, torch keeps any one: leave one of each.
    oracle.same(aten.scatter, indexing.scatter, x, dim, index.narrow(dim, 0, 1), source)


@given(rows(), st.integers(0, 2))
def test_expanded_index_agrees(oracle, case, less):
    x, dim, index, source = case
    shape = [1] * x.ndim
    shape[dim] = len(index)
    index = index.reshape(shape).expand(source.shape)
    for other in range(x.ndim):
        if other != dim % x.ndim:
            index = index.narrow(other, 0, max(1, index.shape[other] - less))
    oracle.same(aten.gather, indexing.gather, x, dim, index)
    oracle.same(aten.scatter_add, indexing.scatter_add, x, dim, index, source)


@given(
    along([torch.float64, torch.float32, torch.int64]),
    st.sampled_from(["sum", "prod", "mean", "amax", "amin"]),
    st.booleans(),
)
def test_scatter_reduce_agrees(oracle, case, reduce, include_self):
    x, dim, index, source = case
    oracle.same(
        aten.scatter_reduce, indexing.scatter_reduce, x, dim, index, source, reduce,
        include_self=include_self,
    )  # fmt: skip


@pytest.mark.parametrize("reduce", ["add", "multiply"])
def test_scatter_with_a_reduction_agrees(oracle, reduce):
    x, index = torch.randn(4, 5), torch.randint(0, 4, (3, 5))
    expected = aten.scatter(x, 0, index, torch.ones(3, 5) * 2, reduce=reduce)
    actual = indexing.scatter_reduce(x.numpy(), 0, index.numpy(), np.full((3, 5), 2.0), reduce)
    oracle.agree(actual, expected)


def test_amax_keeps_nan(oracle):
    x, source = torch.tensor([1.0, 2.0, torch.nan]), torch.tensor([torch.nan, 5.0, 3.0])
    index = torch.tensor([0, 1, 2])
    for reduce in ("amax", "amin"):
        oracle.same(aten.scatter_reduce, indexing.scatter_reduce, x, 0, index, source, reduce)


@given(rows())
def test_row_operations_agree(oracle, case):
    x, dim, index, source = case
    oracle.same(aten.index_select, indexing.index_select, x, dim, index)
    oracle.same(aten.index_add, indexing.index_add, x, dim, index, source)
    oracle.same(aten.index_add, indexing.index_add, x, dim, index, source, alpha=2)
    oracle.same(aten.index_fill, indexing.index_fill, x, dim, index, 7)
    oracle.same(aten.index_fill, indexing.index_fill, x, dim, index - x.shape[dim], 7)
    unique = index.unique()
    source = source.index_select(dim, torch.arange(len(unique)))
    oracle.same(aten.index_copy, indexing.index_copy, x, dim, unique, source)


@pytest.mark.filterwarnings("ignore:index_reduce")
@given(rows(), st.sampled_from(["prod", "mean", "amax", "amin"]), st.booleans())
def test_index_reduce_agrees(oracle, case, reduce, include_self):
    oracle.same(aten.index_reduce, indexing.index_reduce, *case, reduce, include_self=include_self)


@pytest.mark.filterwarnings("ignore:index_reduce")
def test_zero_dimensional_rows_agree(oracle):
    x, index, source = torch.tensor(3.0), torch.tensor([0]), torch.tensor(5.0)
    oracle.same(aten.index_select, indexing.index_select, x, 0, index)
    oracle.same(aten.index_add, indexing.index_add, x, 0, index, source)
    oracle.same(aten.index_copy, indexing.index_copy, x, 0, index, source)
    oracle.same(aten.index_fill, indexing.index_fill, x, 0, index, 2.0)
    oracle.same(aten.index_reduce, indexing.index_reduce, x, 0, index, source, "prod")
    oracle.same(aten.index_select, indexing.index_select, torch.ones(3, 2), 0, torch.tensor(1))


def test_repeated_wide_rows_are_all_added(oracle):
    x, source = torch.zeros(5, 64), torch.randn(400, 64)
    index = torch.randint(0, 5, (400,))
    tolerances = {"rtol": 1e-5, "atol": 1e-4}
    oracle.same(aten.index_add, indexing.index_add, x, 0, index, source, tolerances=tolerances)
    oracle.same(aten.index_put, indexing.index_put, x, [index], source, True, tolerances=tolerances)


SUBSCRIPTS = {
    "first": lambda: [torch.tensor([1, 0, -1])],
    "second": lambda: [None, torch.tensor([[1, 0], [2, -2]])],
    "together": lambda: [torch.tensor([1, 0]), torch.tensor([2, 1])],
    "apart": lambda: [torch.tensor([1, 0]), None, torch.tensor([2, 1])],
    "broadcast": lambda: [torch.tensor([[1], [0]]), torch.tensor([2, 1, 0])],
    "mask": lambda: [torch.rand(4, 5) > 0.5],
    "mask and index": lambda: [torch.tensor([True, False, True, False]), torch.tensor([1, 2])],
    "mask of one": lambda: [None, torch.tensor([True, False, True, True, False])],
    "scalar": lambda: [torch.tensor(2)],
    "empty": lambda: [torch.empty(0, dtype=torch.int64)],
}


@pytest.mark.parametrize("make", SUBSCRIPTS.values(), ids=SUBSCRIPTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_subscripts_agree(oracle, make, dtype):
    x, subscript = tensor((4, 5, 3), dtype), make()
    expected = aten.index(x, subscript)
    actual = indexing.index(oracle.array(x), oracle.array(subscript))
    oracle.agree(actual, expected)
    assert not np.shares_memory(actual, oracle.array(x))
    values = tensor(expected.shape, dtype)
    for value in (values, values.reshape(-1)[:1].reshape(()) if values.numel() else values):
        oracle.same(aten.index_put, indexing.index_put, x, subscript, value)
        if dtype is not torch.bfloat16:
            oracle.same(aten.index_put, indexing.index_put, x, subscript, value, True)


@given(st.lists(st.integers(-24, 23), max_size=9), st.booleans())
def test_take_and_put_agree(oracle, entries, accumulate):
    x = torch.randn(2, 3, 4, dtype=torch.float64)
    index = torch.tensor(entries, dtype=torch.int64)
    oracle.same(aten.take, indexing.take, x, index)
    if not accumulate:
        index = (index % 24).unique()
    oracle.same(aten.put, indexing.put, x, index, torch.randn(len(index)).double(), accumulate)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (1,), (4, 1), (4, 5), (2, 4, 5)], ids=str)
def test_masks_agree(oracle, shape, dtype):
    x, mask = tensor((4, 5), dtype), torch.rand(shape) > 0.5
    oracle.same(aten.masked_fill, indexing.masked_fill, x, mask, 1)
    oracle.same(aten.masked_fill, indexing.masked_fill, x, mask, torch.tensor(1, dtype=dtype))
    oracle.same(aten.masked_select, indexing.masked_select, x, mask)
    if len(shape) < 3:
        source = tensor((30,), dtype)
        expected = aten.masked_scatter(x, mask.expand(4, 5), source)
        oracle.agree(indexing.masked_scatter(*oracle.array((x, mask, source))), expected)


def test_masked_scatter_backward_agrees(oracle):
    grad, mask = torch.randn(4, 5), torch.rand(4, 5) > 0.5
    oracle.same(aten.masked_scatter_backward, indexing.masked_scatter_backward, grad, mask, [5, 6])


@pytest.mark.parametrize("shape", [(), (0,), (7,), (3, 4), (2, 0, 3), (2, 3, 2)], ids=str)
def test_nonzero_agrees(oracle, shape):
    x = torch.randint(0, 2, shape)
    oracle.same(aten.nonzero, indexing.nonzero, x)
    for size in (0, 2, 20):
        oracle.same(aten.nonzero_static, indexing.nonzero_static, x, size=size)


# torch's type and wording, per operation that refuses the index.
OUTSIDE = {
    "gather": (indexing.gather, (0, np.array([[5]])), RuntimeError, "index 5 is out of bounds"),
    "scatter": (indexing.scatter, (1, np.array([[-1]]), 1), RuntimeError, "dimension 1 with"),
    "scatter_add": (
        indexing.scatter_add, (0, np.array([[3]]), np.ones((1, 1))), RuntimeError, "index 3 is out",
    ),
    "index_select": (indexing.index_select, (0, np.array([-1])), IndexError, "out of range in"),
    "embedding": (indexing.embedding, (np.array([3]),), IndexError, "index out of range in self"),
    "index": (indexing.index, ([None, np.array([4])],), IndexError, "dimension 1 with size 4"),
    "indices": (
        indexing.index, ([np.array([0]), np.array([-5])],), IndexError, "index -5 is out of bounds",
    ),
    "index_put": (
        indexing.index_put, ([np.array([3])], np.ones(4)), IndexError, "dimension 0 with size 3",
    ),
    "index_add": (
        indexing.index_add, (0, np.array([-1]), np.ones((1, 4))), RuntimeError, "index -1 is",
    ),
    "index_copy": (indexing.index_copy, (0, np.array([5]), np.ones((1, 4))), IndexError, "index"),
    "index_fill": (indexing.index_fill, (0, np.array([5]), 1), IndexError, "index 5 is out of"),
    "take": (indexing.take, (np.array([12]),), IndexError, "index 12 on a tensor of 12 elements"),
    "put": (indexing.put, (np.array([-13]), np.ones(1)), IndexError, "tried to access index -13"),
    "masked_scatter": (
        indexing.masked_scatter, (np.ones((3, 4), bool), np.ones(5)), RuntimeError, "of source <",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("kernel", "args", "error", "message"), OUTSIDE.values(), ids=OUTSIDE)
def test_indices_outside_are_refused(kernel, args, error, message):
    with pytest.raises(error, match=message):
        kernel(np.ones((3, 4)), *args)


@given(st.integers(1, 40), st.sampled_from([-1, 0, 2]), st.booleans(), st.sampled_from([3, 16]))
def test_embedding_agrees(oracle, count, padding, by_frequency, width):
    weight = torch.randn(6, width, dtype=torch.float64)
    indices = torch.randint(0, 6, (count, 2))
    oracle.same(aten.embedding, indexing.embedding, weight, indices)
    oracle.same(
        aten.embedding_dense_backward, indexing.embedding_dense_backward,
        torch.randn(count, 2, width, dtype=torch.float64), indices, 6, padding, by_frequency,
    )  # fmt: skip


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=5),
    st.sampled_from([0, 1, 2]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([-1, 2]),
    st.sampled_from([torch.float64, torch.float32]),
)
def test_embedding_bag_agrees(oracle, sizes, mode, weighted, last, padding, dtype):
    indices = torch.randint(0, 6, (sum(sizes),))
    offsets = torch.tensor([sum(sizes[:i]) for i in range(len(sizes) + last)])
    weight = torch.randn(6, 9, dtype=dtype)
    samples = torch.rand(len(indices), dtype=dtype) if weighted and mode == 0 else None
    args = (weight, indices, offsets, False, mode, False, samples, last, padding)
    expected = aten._embedding_bag(*args)
    oracle.agree(indexing.embedding_bag(*oracle.array(args)), expected)

    bags = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    grad = torch.randn(expected[0].shape, dtype=dtype)
    counts = torch.bincount(bags[indices != padding], minlength=len(sizes))
    winners = expected[3] if mode == 2 else counts
    for by_frequency in (False, True) if mode < 2 else (False,):
        args = (grad, indices, bags, counts, winners, 6, by_frequency, mode, samples, padding)
        oracle.same(
            aten._embedding_bag_dense_backward, indexing.embedding_bag_dense_backward, *args
        )
    if mode == 0:
        args = (grad, weight, indices, offsets, bags, mode, padding)
        oracle.same(
            aten._embedding_bag_per_sample_weights_backward,
            indexing.embedding_bag_weights_backward, *args,
        )  # fmt: skip


@given(
    st.lists(st.sampled_from([-2.0, 0.0, 1.0, 1.5, torch.nan, torch.inf]), max_size=9),
    st.sampled_from([torch.float64, torch.bfloat16]),
)
def test_unique_agrees(oracle, values, dtype):
    x = torch.tensor(values, dtype=dtype)
    oracle.same(aten._unique2, indexing.unique, x, True, True, True)
    oracle.same(aten._unique2, indexing.unique, x.reshape(1, -1), True, False, False)
    oracle.same(aten.unique_consecutive, indexing.unique_consecutive, x, True, True)
    oracle.same(aten.unique_consecutive, indexing.unique_consecutive, x.reshape(1, -1))


@given(st.integers(0, 1), st.integers(1, 6), st.integers(1, 6), st.sampled_from(DTYPES))
def test_unique_slices_agree(oracle, dim, height, width, dtype):
    x = (tensor((height, width, 2), dtype).int() % 2).to(dtype)
    if dtype is torch.bfloat16:
        x = x.float()  # torch sorts no slices of bfloat16
    oracle.same(aten.unique_dim, indexing.unique_dim, x, dim, True, True, True)
    oracle.same(aten.unique_dim_consecutive, indexing.unique_dim_consecutive, x, dim, True, True)
    oracle.same(aten.unique_consecutive, indexing.unique_consecutive, x, True, True, dim)


@given(st.booleans(), st.booleans(), st.sampled_from([torch.float64, torch.int64, torch.bfloat16]))
def test_search_agrees(oracle, right, int32, dtype):
    rows = tensor((2, 3, 6), dtype).sort().values
    values = tensor((2, 3, 4), dtype)
    if dtype.is_floating_point:
        values[0, 0, 0] = torch.nan
    for sequence, x in ((rows, values), (rows[0, 0], values), (rows[0, 0], values[0, 0, 1])):
        oracle.same(
            aten.searchsorted, indexing.searchsorted, sequence, x, right=right, out_int32=int32
        )
    oracle.same(
        aten.bucketize, indexing.bucketize, values, rows[0, 0], right=right, out_int32=int32
    )
    oracle.same(aten.searchsorted, indexing.searchsorted, rows[0, 0], 2.5, right=right)


def test_search_through_a_sorter_agrees(oracle):
    x = torch.randn(3, 7)
    oracle.same(
        aten.searchsorted, indexing.searchsorted, x, torch.randn(3, 4), side="right",
        sorter=x.argsort(),
    )  # fmt: skip


@pytest.mark.parametrize("weights", [None, torch.float32, torch.float64, torch.int64])
def test_bincount_agrees(oracle, weights):
    x = torch.tensor([3, 0, 3, 1])
    weight = None if weights is None else torch.tensor([1, 2, 3, 4]).to(weights)
    oracle.same(aten.bincount, indexing.bincount, x, weight, 6)
    oracle.same(aten.bincount, indexing.bincount, x[:0], None if weights is None else weight[:0], 2)
    for bad in (x.reshape(2, 2), -x):
        with pytest.raises(RuntimeError, match="1-d non-negative integral inputs"):
            indexing.bincount(bad.numpy())


@given(
    st.lists(st.floats(-4, 4, width=32), min_size=1, max_size=20),
    st.integers(1, 7),
    st.sampled_from([(0, 0), (-1, 2), (0, 1)]),
)
def test_histc_agrees(oracle, values, bins, limits):
    oracle.same(aten.histc, indexing.histc, torch.tensor(values), bins, *limits)
    oracle.same(aten.histc, indexing.histc, torch.tensor([1.0, torch.nan, 3.0]), bins, 0, 4)


def test_histc_refuses_what_torch_does():
    for args, message in (
        ((np.array([1, np.inf]),), "is not finite"),
        ((np.ones(2), 0), "bins must be > 0, but got 0"),
        ((np.ones(2), 4, 5, 1), "max must be larger than min"),
    ):
        with pytest.raises(RuntimeError, match=message):
            indexing.histc(*args)


@given(st.integers(1, 6), st.booleans(), st.booleans(), st.sampled_from([None, (-1.0, 2.0)]))
def test_histogram_agrees(oracle, bins, weighted, density, limits):
    x = torch.randn(3, 10, dtype=torch.float64)
    weight = torch.rand(3, 10, dtype=torch.float64) if weighted else None
    expected = aten.histogram(x, bins, range=limits, weight=weight, density=density)
    actual = indexing.histogram(x.numpy(), bins, limits, oracle.array(weight), density)
    oracle.agree(actual, expected)
    edges = torch.randn(bins + 1, dtype=torch.float64).sort().values
    expected = aten.histogram(x, edges, weight=weight, density=density)
    actual = indexing.histogram(x.numpy(), edges.numpy(), None, oracle.array(weight), density)
    oracle.agree(actual, expected)


def test_histograms_of_one_value_or_none_agree(oracle):
    for x in (torch.empty(0), torch.full((4,), 2.0)):
        expected = aten.histogram(x, 4)
        oracle.agree(indexing.histogram(x.numpy(), 4), list(expected))


def test_histograms_refuse_what_torch_does():
    for limits, message in (
        ((0.0, np.inf), "is not finite"),
        ((1.0, 0.0), "min should not exceed max"),
    ):
        with pytest.raises(RuntimeError, match=message):
            indexing.histogram(np.ones(3), 4, limits)


def test_histogramdd_agrees(oracle):
    x, weight = torch.randn(50, 3, dtype=torch.float64), torch.rand(50, dtype=torch.float64)
    for density in (False, True):
        expected, edges = torch.histogramdd(x, [2, 3, 4], weight=weight, density=density)
        actual_edges = indexing.histogram_bin_edges(x.numpy(), [2, 3, 4])
        oracle.agree(actual_edges, list(edges))
        actual = indexing.histogramdd(x.numpy(), actual_edges, weight.numpy(), density)
        oracle.agree(actual, expected)


@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=5),
    st.sampled_from(["sum", "mean", "max", "min", "prod"]),
    st.sampled_from([0, 1]),
    st.sampled_from([None, 2.0]),
)
def test_segment_reduce_agrees(oracle, sizes, reduce, axis, initial):
    data = tensor((sum(sizes), 2), torch.float64)
    lengths = torch.tensor(sizes)
    if axis:
        data, lengths = torch.stack([data, data * 2 + 1]), torch.stack([lengths, lengths])
    offsets = torch.nn.functional.pad(lengths.cumsum(-1), (1, 0))
    expected = aten.segment_reduce(data, reduce, lengths=lengths, axis=axis, initial=initial)
    by_length = {"axis": axis, "initial": initial, "lengths": lengths.numpy()}
    by_offset = {"axis": axis, "initial": initial, "offsets": offsets.numpy()}
    for where in (by_length, by_offset):
        oracle.agree(indexing.segment_reduce(data.numpy(), reduce, **where), expected)
    grad = torch.randn_like(expected)
    args = (grad, expected, data, reduce)
    slope = aten._segment_reduce_backward(*args, lengths=lengths, axis=axis, initial=initial)
    oracle.agree(indexing.segment_reduce_backward(*oracle.array(args), **by_length), slope)


def test_segment_reduce_refuses_lengths_that_do_not_fit():
    with pytest.raises(RuntimeError, match="Either lengths or offsets must be defined"):
        indexing.segment_reduce(np.ones(3), "sum")
    with pytest.raises(RuntimeError, match="Expected all rows of lengths along axis to sum to"):
        indexing.segment_reduce(np.ones(3), "sum", np.array([1, 1]))
    with pytest.raises(RuntimeError, match="lengths contains negative value"):
        indexing.segment_reduce(np.ones(3), "sum", np.array([-1, 4]))
