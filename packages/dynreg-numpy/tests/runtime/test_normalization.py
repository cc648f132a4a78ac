"""Normalisation and its backwards against torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dynreg_numpy.runtime import normalization

aten = torch.ops.aten
DTYPES = [
    pytest.param(torch.float64, torch.float64, id="float64"),
    pytest.param(torch.float32, torch.float32, id="float32"),
    pytest.param(torch.bfloat16, torch.bfloat16, id="bfloat16"),
    pytest.param(torch.bfloat16, torch.float32, id="bfloat16 with float32 parameters"),
]
#: float32 sums, of up to 33,800 terms, in another order
SUMS = {torch.float32: {"rtol": 1e-5, "atol": 5e-4}}
#: results normalised by statistics that are rounded to bfloat16 first
ROUNDED = {torch.bfloat16: {"rtol": 0.016, "atol": 0.016}}
SHAPES = [(4, 6), (3, 6, 5), (2, 6, 4, 5), (2, 6, 3, 2, 2), (2, 6, 130, 130)]


def parameters(size, dtype, given=True):
    if not given:
        return None, None
    return torch.randn(size, dtype=dtype), torch.randn(size, dtype=dtype)


@pytest.mark.parametrize(("dtype", "parameter"), DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_agrees(oracle, shape, dtype, parameter, training):
    x = torch.randn(shape).to(dtype) * 2 + 1
    weight, bias = parameters(6, parameter)
    mean, var = torch.randn(6, dtype=parameter), torch.rand(6, dtype=parameter) + 0.5
    args = (x, weight, bias, mean, var, training, 0.1, 1e-5)
    # With narrow parameters torch keeps the batch's statistics in their dtype, and normalises
    # by what it keeps: the result in float32 is not what it approximates then.
    rounds = training and parameter is torch.bfloat16
    run = aten._native_batch_norm_legit_functional
    expected = run(*args) if rounds else oracle.exactly(run, *args)
    actual = normalization.batch_norm(*oracle.array(args))
    oracle.agree(actual, expected, ROUNDED if rounds else SUMS)
    grad = torch.randn(shape).to(dtype)
    args = (grad, x, weight, mean, var, *expected[1:3], training, 1e-5, [True, True, True])
    oracle.agree(
        normalization.batch_norm_backward(*oracle.array(args)),
        oracle.exactly(aten.native_batch_norm_backward, *args),
        SUMS,
    )


@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_keeps_channels_last(oracle, training):
    x = torch.randn(2, 6, 4, 5, dtype=torch.float64).contiguous(memory_format=torch.channels_last)
    mean, var = torch.zeros(6).double(), torch.ones(6).double()
    args = (x, None, None, mean, var, training, 0.1, 1e-5)
    expected = oracle.exactly(aten._native_batch_norm_legit_functional, *args)
    actual = normalization.batch_norm(*oracle.array(args))
    oracle.agree(actual, expected)
    assert actual[0].transpose(0, 2, 3, 1).flags.c_contiguous
    grad = torch.randn(2, 6, 4, 5, dtype=torch.float64)
    args = (grad, x, None, mean, var, *expected[1:3], training, 1e-5, [True, False, False])
    actual = normalization.batch_norm_backward(*oracle.array(args))
    oracle.agree(actual[0], oracle.exactly(aten.native_batch_norm_backward, *args)[0])
    assert actual[1] is actual[2] is None


def test_batch_norm_needs_statistics_to_evaluate():
    with pytest.raises(RuntimeError, match="running_mean and running_var must be defined"):
        normalization.batch_norm(np.ones((2, 3)), None, None, None, None, False, 0.1, 1e-5)


@pytest.mark.parametrize(("dtype", "parameter"), DTYPES)
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize(
    ("lead", "tail"), [((4,), (7,)), ((2, 3), (4, 5)), ((), (9,)), ((300,), (1000,))], ids=str
)
def test_layer_norm_agrees(oracle, lead, tail, affine, dtype, parameter):
    x = torch.randn(*lead, *tail).to(dtype) * 2 + 1
    weight, bias = parameters(tail, parameter, given=affine)
    expected = oracle.exactly(aten.native_layer_norm, x, tail, weight, bias, 1e-5)
    actual = normalization.layer_norm(*oracle.array((x, tail, weight, bias)), 1e-5)
    oracle.agree(actual, expected, SUMS)
    grad = torch.randn(*lead, *tail).to(dtype)
    args = (grad, x, tail, *expected[1:], weight, bias, [True, affine, affine])
    actual = normalization.layer_norm_backward(*oracle.array(args))
    expected = oracle.exactly(aten.native_layer_norm_backward, *args)
    wanted = 3 if affine else 1
    oracle.agree(actual[:wanted], expected[:wanted], SUMS)
    assert affine or actual[1:] == (None, None)


@pytest.mark.parametrize(("dtype", "parameter"), DTYPES)
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("shape", [(3, 6), (2, 6, 5), (2, 6, 4, 5), (3, 6, 120, 121)], ids=str)
@pytest.mark.parametrize("groups", [1, 3, 6])
def test_group_norm_agrees(oracle, shape, groups, affine, dtype, parameter):
    batch, channels, positions = shape[0], 6, int(np.prod(shape[2:]))
    x = torch.randn(shape).to(dtype) * 2 + 1
    weight, bias = parameters(6, parameter, given=affine)
    size = (batch, channels, positions, groups)
    expected = oracle.exactly(aten.native_group_norm, x, weight, bias, *size, 1e-3)
    actual = normalization.group_norm(*oracle.array((x, weight, bias)), *size, 1e-3)
    oracle.agree(actual, expected, SUMS)
    grad = torch.randn(shape).to(dtype)
    args = (grad, x, *expected[1:], weight, *size, [True, affine, affine])
    actual = normalization.group_norm_backward(*oracle.array(args))
    wanted = 3 if affine else 1
    expected = oracle.exactly(aten.native_group_norm_backward, *args)[:wanted]
    # Sums of 40,000 products each: torch's own error in float32 reaches the third digit.
    loose = {torch.float32: {"rtol": 1e-3, "atol": 1e-2}}
    oracle.agree(actual[:wanted], expected, loose)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("eps", [None, 1e-3])
def test_rms_norm_agrees(oracle, dtype, affine, eps):
    x = torch.randn(3, 4, 8).to(dtype)
    weight = parameters(8, dtype, given=affine)[0]
    expected = oracle.exactly(aten._fused_rms_norm, x, [8], weight, eps)
    actual = normalization.rms_norm(x=oracle.array(x), normalized_shape=[8],
                                    weight=oracle.array(weight), eps=eps)  # fmt: skip
    oracle.agree(actual, expected, SUMS)
    grad = torch.randn(3, 4, 8).to(dtype)
    x = x.requires_grad_()
    leaves = [x, weight.requires_grad_()] if affine else [x]
    expected = torch.autograd.grad(torch.rms_norm(x, [8], weight, eps), leaves, grad)
    args = (grad, x.detach(), [8], torch.from_numpy(actual[1]), leaves[-1].detach())
    args = args if affine else (*args[:4], None)
    got = normalization.rms_norm_backward(*oracle.array(args), [True, affine])
    oracle.agree(got[: len(leaves)], expected, SUMS)


@given(st.integers(1, 5), st.integers(50, 300), st.sampled_from([-1e4, 0.0, 1e4]))
def test_variance_does_not_cancel(rows, width, offset):
    x = np.random.default_rng(rows * width).standard_normal((rows, width)) + offset
    exact = torch.nn.functional.layer_norm(torch.from_numpy(x), [width], eps=1e-3)
    single = normalization.layer_norm(x.astype(np.float32), [width], None, None, 1e-3)[0]
    same_input = torch.nn.functional.layer_norm(
        torch.from_numpy(x.astype(np.float32)).double(), [width], eps=1e-3
    )
    assert exact.shape == single.shape
    # Four units in the last place of the offset, against a standard deviation of one.
    np.testing.assert_allclose(single, same_input, atol=4e-3 if offset else 1e-5)


def test_no_rows(oracle):
    x = torch.ones(0, 4)
    weight, bias = parameters(4, torch.float32)
    args = (x, [4], weight, bias, 1e-5)
    oracle.same(aten.native_layer_norm, normalization.layer_norm, *args)
    grads = normalization.layer_norm_backward(
        *oracle.array((x, x, [4], torch.ones(0, 1), torch.ones(0, 1), weight, bias)),
        [True, True, True],
    )
    assert [g.shape for g in grads] == [(0, 4), (4,), (4,)]
    assert not grads[1].any()


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_out_is_filled_and_returned(dtype):
    x = np.random.default_rng(0).standard_normal((3, 4, 5)).astype(dtype)
    for norm, args in (
        (normalization.layer_norm, ([5], None, None, 1e-5)),
        (normalization.rms_norm, ([5], None, 1e-5)),
        (normalization.group_norm, (None, None, 3, 4, 5, 2, 1e-5)),
        (normalization.batch_norm, (None, None, None, None, True, 0.1, 1e-5)),
    ):
        out = np.empty_like(x)
        assert norm(x, *args, out=out)[0] is out
        np.testing.assert_array_equal(out, norm(x, *args)[0])
