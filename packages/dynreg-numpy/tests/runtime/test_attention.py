"""Attention and its backward against torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dynreg_numpy.runtime import attention

aten = torch.ops.aten
SUMS = {torch.float32: {"rtol": 1e-5, "atol": 2e-5}}


@st.composite
def heads(draw):
    batch, count = draw(st.integers(1, 2)), draw(st.integers(1, 3))
    queries, keys = draw(st.integers(1, 70)), draw(st.integers(1, 70))
    dtype = draw(st.sampled_from([torch.float64, torch.float32, torch.bfloat16]))
    causal = draw(st.booleans())
    shapes = [(batch, count, n, 8) for n in (queries, keys, keys)]
    tensors = [torch.randn(shape).to(dtype) for shape in shapes]
    mask = None
    if not causal and draw(st.booleans()):
        lead = draw(st.sampled_from([(1, 1), (batch, 1), (1, count), (batch, count)]))
        mask = torch.randn(*lead, queries, keys).to(dtype)
        mask[torch.rand(mask.shape) < 0.3] = -torch.inf
    return *tensors, mask, causal, draw(st.sampled_from([None, 0.7]))


def forward(query, key, value, mask, causal, scale):
    return aten._scaled_dot_product_flash_attention_for_cpu(
        query, key, value, 0.0, causal, attn_mask=mask, scale=scale
    )


def backward(grad, query, key, value, out, logsumexp, mask, causal, scale):
    return aten._scaled_dot_product_flash_attention_for_cpu_backward(
        grad, query, key, value, out, logsumexp, 0.0, causal, attn_mask=mask, scale=scale
    )


@given(heads())
def test_attention_agrees(oracle, case):
    expected = oracle.exactly(forward, *case)
    oracle.agree(attention.forward(*oracle.array(case)), expected, SUMS)
    query, key, value, *rest = case
    args = (torch.randn_like(expected[0]), query, key, value, *expected, *rest)
    oracle.agree(attention.backward(*oracle.array(args)), oracle.exactly(backward, *args), SUMS)


@pytest.mark.parametrize("causal", [False, True])
def test_long_sequences_are_cut_into_blocks(oracle, causal):
    query, key, value = torch.randn(3, 2, 3, 700, 16)
    expected = forward(query, key, value, None, causal, None)
    actual = attention.forward(*oracle.array((query, key, value)), None, causal, None)
    oracle.agree(actual, expected, SUMS)
    grad = torch.randn_like(expected[0])
    args = (grad, query, key, value, *expected, None, causal, None)
    loose = {torch.float32: {"rtol": 1e-4, "atol": 1e-4}}
    oracle.agree(attention.backward(*oracle.array(args)), backward(*args), loose)


def test_boolean_mask_means_what_is_seen(oracle):
    query, key, value = torch.randn(3, 1, 2, 5, 8)
    mask = torch.rand(5, 5) > 0.3
    mask[0] = False
    numbers = torch.zeros(5, 5).masked_fill(~mask, -torch.inf)
    arrays = oracle.array((query, key, value))
    by_mask = attention.forward(*arrays, mask.numpy(), False, None)
    by_number = attention.forward(*arrays, numbers.numpy(), False, None)
    np.testing.assert_array_equal(by_mask[0], by_number[0])
    oracle.agree(by_mask[0], forward(query, key, value, numbers, False, None)[0])
    assert not by_mask[0][:, :, 0].any()
