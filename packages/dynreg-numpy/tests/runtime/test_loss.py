"""Losses and their backwards against torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dynreg_numpy.runtime import loss

aten = torch.ops.aten
REDUCTIONS = st.sampled_from([0, 1, 2])


@st.composite
def classified(draw):
    lead = draw(st.sampled_from([(), (1,), (4,), (0,), (2, 3, 4)]))
    classes = draw(st.integers(1, 5))
    dtype = draw(st.sampled_from([torch.float64, torch.float32, torch.bfloat16]))
    x = torch.randn(*lead[:1], classes, *lead[1:], dtype=torch.float64).log_softmax(int(lead != ()))
    target = torch.randint(0, classes, lead)
    ignored = draw(st.sampled_from([-100, 0, 1]))
    if ignored == -100 and target.ndim:
        target[torch.rand(lead) < 0.3] = -100
    weight = torch.rand(classes, dtype=dtype) if draw(st.booleans()) else None
    return x.to(dtype), target, weight, draw(REDUCTIONS), ignored


@given(classified())
def test_nll_loss_agrees(oracle, case):
    two = case[0].ndim == 4
    forward = aten.nll_loss2d_forward if two else aten.nll_loss_forward
    backward = aten.nll_loss2d_backward if two else aten.nll_loss_backward
    expected = oracle.exactly(forward, *case)
    oracle.agree(loss.nll_loss(*oracle.array(case)), expected)
    args = (torch.randn_like(expected[0]), *case, expected[1])
    oracle.agree(loss.nll_loss_backward(*oracle.array(args)), oracle.exactly(backward, *args))


def test_nll_loss_refuses_a_class_that_is_not_there():
    x, target = torch.randn(2, 3), torch.tensor([0, 3])
    with pytest.raises(IndexError, match="Target 3 is out of bounds"):
        aten.nll_loss_forward(x, target, None, 1, -100)
    with pytest.raises(IndexError, match=r"Target 3 is out of bounds\."):
        loss.nll_loss(np.ones((2, 3)), target.numpy(), None, 1, -100)
