"""Sorting, selecting and cumulative operations against torch."""

from __future__ import annotations

import operator
from unittest import mock

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dynreg_numpy.runtime import sorting
from dynreg_numpy.runtime.sorting import _selection as selection

aten = torch.ops.aten
DTYPES = [torch.float64, torch.float32, torch.bfloat16, torch.int64, torch.uint8]


@st.composite
def ranked(draw, longest=40):
    """A tensor with ties, perhaps NaN and infinities, and one of its dimensions."""
    shape = draw(st.sampled_from([(), (1,), (2, 1), (3,), (2, 3), (2, 3, 2), (3, 2)]))
    dim = draw(st.integers(-max(len(shape), 1), max(len(shape), 1) - 1))
    if shape:
        shape = list(shape)
        shape[dim] = draw(st.integers(1, longest))
    x = torch.randint(0, draw(st.sampled_from([2, 5, 200])), tuple(shape))
    dtype = draw(st.sampled_from(DTYPES))
    x = x.to(dtype)
    if dtype.is_floating_point and draw(st.booleans()):
        hit = torch.rand(x.shape) < 0.2
        special = torch.tensor([torch.nan, torch.inf, -torch.inf, -0.0], dtype=dtype)
        x = torch.where(hit, special[torch.randint(0, 4, x.shape)], x)
    return x, dim


@given(ranked(), st.booleans())
def test_sort_agrees(oracle, case, descending):
    x, dim = case
    expected = aten.sort(x, stable=True, dim=dim, descending=descending)
    oracle.agree(sorting.sort(oracle.array(x), dim, descending), expected)


def test_sort_of_booleans_agrees(oracle):
    oracle.same(aten.sort, sorting.sort, torch.rand(5, 6) > 0.5, 1)


@given(ranked(300), st.booleans(), st.booleans(), st.data())
def test_topk_agrees(oracle, case, largest, is_sorted, data):
    x, dim = case
    k = data.draw(st.integers(0, x.shape[dim] if x.ndim else 1))
    oracle.same(aten.topk, sorting.topk, x, k, dim, largest, is_sorted)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("k", [1, 70, 4999])
def test_topk_of_long_rows_has_torchs_values(oracle, largest, k):
    x = torch.randint(0, 50, (2, 5000)).float()
    x[0, 7] = torch.nan
    expected = aten.topk(x, k, largest=largest)[0]
    values, places = sorting.topk(x.numpy(), k, -1, largest)
    oracle.agree(values, expected)
    np.testing.assert_array_equal(np.take_along_axis(x.numpy(), places, -1), values)


@given(ranked(200), st.booleans(), st.data())
def test_kthvalue_agrees(oracle, case, keepdim, data):
    x, dim = case
    k = data.draw(st.integers(1, x.shape[dim] if x.ndim else 1))
    oracle.same(aten.kthvalue, sorting.kthvalue, x, k, dim, keepdim)


@given(ranked(200), st.booleans())
def test_medians_agree(oracle, case, keepdim):
    x, dim = case
    oracle.same(aten.median, sorting.median, x, dim, keepdim)
    oracle.same(aten.nanmedian, sorting.nanmedian, x, dim, keepdim)
    oracle.same(aten.median, sorting.full_median, x)
    oracle.same(aten.nanmedian, sorting.full_nanmedian, x)


@pytest.mark.parametrize("nans", [0, 3, 1400])
def test_ranks_in_long_rows_agree(oracle, nans):
    x = torch.randint(0, 300, (2, 1500)).float()
    x[0, torch.randperm(1500)[:nans]] = torch.nan
    oracle.same(aten.median, sorting.median, x, 1)
    oracle.same(aten.nanmedian, sorting.nanmedian, x, 1)
    values, places = sorting.kthvalue(x.numpy(), 1300, 1)
    oracle.agree(values, aten.kthvalue(x, 1300, 1)[0])
    np.testing.assert_array_equal(x.numpy()[[0, 1], places], values)


def test_median_of_nothing_agrees(oracle):
    oracle.same(aten.median, sorting.full_median, torch.empty(0))


@given(ranked(60), st.booleans())
def test_mode_agrees(oracle, case, keepdim):
    x, dim = case
    x = x.nan_to_num(0, 0, 0)  # torch sorts NaN by a comparison that it breaks
    oracle.same(aten.mode, sorting.mode, x, dim, keepdim)


@pytest.mark.parametrize("depth", [None, 0], ids=["quick", "heap"])
@given(st.lists(st.integers(0, 30), min_size=1, max_size=80), st.data())
def test_selections_select(depth, values, data):
    # With no depth left, introsort and introselect go over to heaps, against quadratic time.
    log2 = selection._log2 if depth is None else lambda n: depth
    rank = data.draw(st.integers(0, len(values) - 1))
    with mock.patch.object(selection, "_log2", log2):
        chosen = list(values)
        selection.nth_element(chosen, rank, operator.lt)
        assert chosen[rank] == sorted(values)[rank]
        assert max(chosen[:rank], default=0) <= chosen[rank] <= min(chosen[rank:])
        in_order = list(values)
        selection.sort(in_order, len(values), operator.lt)
        assert in_order == sorted(values)
    first = list(values)
    selection.partial_sort(first, rank, operator.lt)
    assert first[:rank] == sorted(values)[:rank]
    quick = list(values)
    selection.quickselect(quick, rank, operator.gt)
    assert quick[rank] == sorted(values)[rank]


def test_ranks_out_of_range_are_refused():
    with pytest.raises(RuntimeError, match="selected index k out of range"):
        sorting.topk(np.ones(3), 4)
    with pytest.raises(RuntimeError, match=r"kthvalue\(\): selected number k out of range"):
        sorting.kthvalue(np.ones(3), 4)


@given(ranked())
def test_cumulative_operations_agree(oracle, case):
    x, dim = case
    # Not rounded from float32, whose products overflow elsewhere.
    oracle.agree(sorting.cumsum(oracle.array(x), dim), aten.cumsum(x, dim))
    oracle.agree(sorting.cumprod(oracle.array(x), dim), aten.cumprod(x, dim))
    oracle.same(aten.cummax, sorting.cummax, x, dim)
    oracle.same(aten.cummin, sorting.cummin, x, dim)
    if x.dtype.is_floating_point:
        oracle.same(aten.logcumsumexp, sorting.logcumsumexp, x, dim)


def test_cumulative_sums_do_not_drift(oracle):
    x = torch.rand(20_000)
    oracle.same(aten.cumsum, sorting.cumsum, x, 0)
    oracle.same(aten.logcumsumexp, sorting.logcumsumexp, x, 0)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.int32])
def test_cumulative_dtype_agrees(oracle, dtype):
    x = torch.randint(0, 9, (4, 5))
    array = {torch.float64: np.float64, torch.float32: np.float32, torch.int32: np.int32}[dtype]
    oracle.agree(sorting.cumsum(x.numpy(), 1, np.dtype(array)), x.cumsum(1, dtype=dtype))
    oracle.agree(sorting.cumprod(x.numpy(), 1, np.dtype(array)), x.cumprod(1, dtype=dtype))


def test_complex_cumulative_operations_agree(oracle):
    x = torch.randn(4, 5, dtype=torch.complex64)
    oracle.same(aten.cumsum, sorting.cumsum, x, 1)
    oracle.same(aten.cumprod, sorting.cumprod, x, 1)
    oracle.same(aten.logcumsumexp, sorting.logcumsumexp, torch.randn(4, 5) * (0.1 + 0.2j), 1)


def test_no_elements(oracle):
    x = torch.empty(3, 0)
    oracle.same(aten.sort, sorting.sort, x, 1)
    oracle.same(aten.cumsum, sorting.cumsum, x, 1)
    oracle.same(aten.topk, sorting.topk, x, 0, 1)
    oracle.same(aten.logcumsumexp, sorting.logcumsumexp, x, 1)
