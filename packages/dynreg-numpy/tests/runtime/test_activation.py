"""Softmax and activations against torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dynreg_numpy.runtime import activation

aten = torch.ops.aten
DTYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
SPECIAL = torch.tensor([0.0, -0.0, torch.inf, -torch.inf, torch.nan, 88.8, -104.0, 1e-30, 700.0])


@st.composite
def slices(draw):
    """A tensor, whose values may reach far from zero, and one of its dimensions."""
    shape = draw(st.lists(st.integers(1, 6), max_size=4))
    dim = draw(st.integers(-max(len(shape), 1), max(len(shape), 1) - 1))
    x = torch.randn(shape, dtype=torch.float64) * draw(st.sampled_from([1.0, 10.0, 1000.0]))
    if draw(st.booleans()):
        hit = torch.rand(shape) < 0.1
        x = torch.where(hit, draw(st.sampled_from([-torch.inf, torch.inf, torch.nan])), x)
    return x.to(draw(st.sampled_from(DTYPES))), dim


@given(slices())
def test_softmax_agrees(oracle, case):
    x, dim = case
    oracle.same(aten._softmax, activation.softmax, x, dim, False)
    oracle.same(aten._log_softmax, activation.log_softmax, x, dim, False)
    grad = torch.randn_like(x)
    for output, backward, kernel in (
        (x.softmax(dim), aten._softmax_backward_data, activation.softmax_backward),
        (x.log_softmax(dim), aten._log_softmax_backward_data, activation.log_softmax_backward),
    ):

        def reference(grad, output, dim, backward=backward):
            return backward(grad, output, dim, grad.dtype)

        expected = oracle.exactly(reference, grad, output, dim)
        oracle.agree(kernel(*oracle.array((grad, output)), dim), expected)


def test_logsumexp_of_nothing_agrees(oracle):
    oracle.same(aten.logsumexp, activation.logsumexp, torch.empty(2, 0), [1])


def test_softmax_of_long_rows_is_cut_into_blocks(oracle):
    oracle.same(aten._softmax, activation.softmax, torch.randn(70, 3000), 1, False)
    oracle.same(aten._softmax, activation.softmax, torch.randn(70, 30, 100), 1, False)


def test_no_elements(oracle):
    for shape, dim in (((0, 3), 1), ((3, 0), 1), ((3, 0), 0)):
        oracle.same(aten._softmax, activation.softmax, torch.ones(shape), dim, False)
        oracle.same(aten._log_softmax, activation.log_softmax, torch.ones(shape), dim, False)


def test_bad_dimension_is_refused():
    with pytest.raises(IndexError, match="Dimension out of range"):
        activation.softmax(np.ones((2, 3)), 2)


@given(slices(), st.booleans(), st.data())
def test_logsumexp_agrees(oracle, case, keepdim, data):
    x, _ = case
    dims = data.draw(st.lists(st.integers(0, max(x.ndim - 1, 0)), min_size=1, unique=True))
    oracle.same(aten.logsumexp, activation.logsumexp, x, dims, keepdim)


UNITS = {
    "sigmoid": (torch.sigmoid, activation.sigmoid),
    "silu": (aten.silu, activation.silu),
    "gelu": (aten.gelu, activation.gelu),
    "gelu tanh": (
        lambda x: aten.gelu(x, approximate="tanh"),
        lambda x: activation.gelu(x, "tanh"),
    ),
    "softplus": (aten.softplus, activation.softplus),
    "softplus steep": (
        lambda x: aten.softplus(x, 3.0, 5.0),
        lambda x: activation.softplus(x, 3.0, 5.0),
    ),
    "log_sigmoid": (lambda x: aten.log_sigmoid_forward(x)[0], activation.log_sigmoid),
    "mish": (aten.mish, activation.mish),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("reference", "kernel"), UNITS.values(), ids=UNITS)
@pytest.mark.parametrize("size", [(), (0,), (3, 5), (40_000,)], ids=str)
def test_units_agree(oracle, reference, kernel, dtype, size):
    oracle.same(reference, kernel, (torch.randn(size) * 4).to(dtype))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize(("reference", "kernel"), UNITS.values(), ids=UNITS)
def test_units_agree_at_the_extremes(oracle, reference, kernel, dtype):
    special = SPECIAL
    if reference is aten.gelu and dtype is torch.float32:
        # Of +inf, torch's AVX-512 kernel makes NaN, the other ones and float64 make +inf.
        special = special[~special.isinf()]
    x = torch.cat([special, torch.linspace(-30, 30, 301)]).to(dtype)
    oracle.same(reference, kernel, x)


@pytest.mark.parametrize("unit", ["softplus", "log_sigmoid"])
def test_small_results_keep_their_digits(unit):
    reference, kernel = UNITS[unit]
    x = torch.linspace(-30, -5, 101) * (1 if unit == "softplus" else -1)
    expected = reference(x.double()).numpy()
    np.testing.assert_allclose(kernel(x.numpy()), expected, rtol=1e-6)


BACKWARDS = {
    "silu": (aten.silu_backward, activation.silu_backward),
    "gelu": (aten.gelu_backward, activation.gelu_backward),
    "gelu tanh": (
        lambda grad, x: aten.gelu_backward(grad, x, approximate="tanh"),
        lambda grad, x: activation.gelu_backward(grad, x, "tanh"),
    ),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("reference", "kernel"), BACKWARDS.values(), ids=BACKWARDS)
def test_unit_backwards_agree(oracle, reference, kernel, dtype):
    for size in ((3, 5), (40_000,)):
        x, grad = (torch.randn(size) * 4).to(dtype), torch.randn(size).to(dtype)
        oracle.same(reference, kernel, grad, x)


def test_complex_sigmoid_agrees(oracle):
    oracle.same(torch.sigmoid, activation.sigmoid, torch.randn(9, dtype=torch.complex64))


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_out_is_filled_and_returned(dtype):
    x = np.random.default_rng(0).standard_normal((4, 9)).astype(dtype)
    for memory in (np.empty((4, 9), dtype), np.empty((9, 4), dtype).T):
        assert activation.softmax(x, 1, out=memory) is memory
        np.testing.assert_array_equal(memory, activation.softmax(x, 1))
        assert activation.gelu(x, out=memory) is memory
        np.testing.assert_array_equal(memory, activation.gelu(x))
