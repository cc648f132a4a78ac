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


@given(st.sampled_from([1, 2]), st.sampled_from([0.5, 1.0]), st.booleans(), REDUCTIONS)
def test_multi_margin_loss_agrees(oracle, p, margin, weighted, reduction):
    for shape in ((5, 4), (4,)):
        x = torch.randn(shape, dtype=torch.float64)
        target = torch.randint(0, 4, shape[:-1])
        weight = torch.rand(4, dtype=torch.float64) if weighted else None
        args = (x, target, p, margin, weight, reduction)
        oracle.same(aten.multi_margin_loss, loss.multi_margin_loss, *args)
        grad = torch.randn_like(aten.multi_margin_loss(*args))
        oracle.same(aten.multi_margin_loss_backward, loss.multi_margin_loss_backward, grad, *args)


@given(REDUCTIONS, st.sampled_from([(5, 4), (4,), (1, 1)]))
def test_multilabel_margin_loss_agrees(oracle, reduction, shape):
    x = torch.randn(shape, dtype=torch.float64)
    target = torch.stack([torch.randperm(shape[-1]) for _ in range(x[..., 0].numel())])
    target[torch.rand(target.shape) < 0.3] = -1
    target = target.reshape(shape)
    value, chosen = aten.multilabel_margin_loss_forward(x, target, reduction)
    actual = loss.multilabel_margin_loss(x.numpy(), target.numpy(), reduction)
    oracle.agree(actual, (value, chosen))
    args = (torch.randn_like(value), x, target, reduction, chosen)
    oracle.same(aten.multilabel_margin_loss_backward, loss.multilabel_margin_loss_backward, *args)


def test_margin_losses_refuse_a_class_that_is_not_there():
    with pytest.raises(RuntimeError, match="target out of range"):
        loss.multi_margin_loss(np.ones((1, 3)), np.array([3]))
    with pytest.raises(RuntimeError, match="target is out of range"):
        loss.multilabel_margin_loss(np.ones((1, 3)), np.array([[0, 3, -1]]), 1)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4)), min_size=1, max_size=4),
    st.booleans(),
    st.booleans(),
    st.sampled_from([0, 2]),
)
def test_ctc_loss_agrees(oracle, lengths, in_a_row, zero_infinity, blank):
    times, sizes = (list(column) for column in zip(*lengths, strict=True))
    log_probs = torch.randn(9, len(times), 5, dtype=torch.float64).log_softmax(2)
    labels = torch.tensor([label for label in range(5) if label != blank])
    targets = labels[torch.randint(0, 4, (len(times), 4))]
    if in_a_row:
        targets = torch.cat([row[:size] for row, size in zip(targets, sizes, strict=True)])
    args = (log_probs, targets, times, sizes, blank)
    expected, alpha = aten._ctc_loss(*args, zero_infinity)
    actual, ours = loss.ctc_loss(*oracle.array(args), zero_infinity)
    oracle.agree(actual, expected)
    if torch.isinf(expected).any() and not zero_infinity:
        return  # torch's gradient of an infinite loss is NaN or not by chance
    grad = torch.randn_like(expected)
    slope = aten._ctc_loss_backward(grad, *args[:4], expected, alpha, blank, zero_infinity)
    actual = loss.ctc_loss_backward(
        *oracle.array((grad, *args[:4])), actual, ours, blank, zero_infinity
    )
    oracle.agree(actual, slope)


def test_ctc_loss_takes_lengths_as_arrays(oracle):
    log_probs, targets = torch.randn(6, 2, 4).log_softmax(2), torch.randint(1, 4, (2, 3))
    times, sizes = torch.tensor([6, 5]), torch.tensor([3, 2])
    expected = aten._ctc_loss(log_probs, targets, times, sizes)[0]
    actual = loss.ctc_loss(*oracle.array((log_probs, targets, times, sizes)))[0]
    oracle.agree(actual, expected)


NORMS = st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, float("inf")])


@given(NORMS, st.integers(1, 40), st.integers(1, 40), st.sampled_from([None, 1, 2]))
def test_cdist_agrees(oracle, p, n, m, mode):
    x = torch.randint(-2, 3, (2, n, 3)).double()
    y = torch.randint(-2, 3, (2, m, 3)).double()
    loose = {"rtol": 1e-6, "atol": 1e-6}
    expected = aten._cdist_forward(x, y, p, mode)
    oracle.agree(loss.cdist(x.numpy(), y.numpy(), p, mode), expected, **loose)
    args = (torch.randn_like(expected), x, y, p, expected)
    oracle.same(aten._cdist_backward, loss.cdist_backward, *args, tolerances=loose)


def test_cdist_of_broadcast_and_empty_rows_agrees(oracle):
    x, y = torch.randn(3, 1, 4, 2).double(), torch.randn(2, 5, 2).double()
    oracle.agree(loss.cdist(x.numpy(), y.numpy()), torch.cdist(x, y))
    oracle.agree(loss.cdist(np.ones((3, 0)), np.ones((4, 0))), torch.zeros(3, 4).double())
    oracle.agree(loss.euclidean(x.numpy(), y.numpy()), torch.cdist(x, y))


@given(NORMS, st.integers(0, 12))
def test_pdist_agrees(oracle, p, n):
    x = torch.randint(-2, 3, (n, 3)).double()
    distance = torch.pdist(x, p)
    oracle.agree(loss.pdist(x.numpy(), p), distance)
    if n < 2:
        return  # torch's backward divides by the number of pairs
    args = (torch.randn_like(distance), x, p, distance)
    oracle.same(aten._pdist_backward, loss.pdist_backward, *args)
