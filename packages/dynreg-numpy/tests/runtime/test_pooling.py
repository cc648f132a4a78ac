"""Pooling and its backwards against torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from dynreg_numpy.runtime import pooling

aten = torch.ops.aten
MAX = {2: aten.max_pool2d_with_indices, 3: aten.max_pool3d_with_indices}
MAX_BACKWARD = {
    2: aten.max_pool2d_with_indices_backward,
    3: aten.max_pool3d_with_indices_backward,
}
AVG = {1: aten.avg_pool1d, 2: aten.avg_pool2d, 3: aten.avg_pool3d}
AVG_BACKWARD = {2: aten.avg_pool2d_backward, 3: aten.avg_pool3d_backward}


@st.composite
def windows(draw, min_dims=1):
    """An input with ties, NaN and infinities, and the parameters of its windows."""
    dims = draw(st.integers(min_dims, 3))

    def per_dim(low, high):
        return draw(st.lists(st.integers(low, high), min_size=dims, max_size=dims))

    kernel = per_dim(1, 4)
    stride = draw(st.one_of(st.just([]), st.just(per_dim(1, 4))))
    padding = [draw(st.integers(0, k // 2)) for k in kernel]
    shape = [*draw(st.sampled_from([[2], [2, 3], [1, 2]])), *per_dim(1, 9)]
    x = torch.randint(-3, 4, shape).to(draw(st.sampled_from([torch.float64, torch.float32])))
    if draw(st.booleans()):
        special = torch.tensor([torch.nan, torch.inf, -torch.inf, 1.0], dtype=x.dtype)
        hit = torch.rand(shape) < 0.2
        x[hit] = special[torch.randint(0, 4, (int(hit.sum()),))]
    return x, kernel, stride, padding, per_dim(1, 2), draw(st.booleans())


def accepted(function, *args):
    try:
        return function(*args)
    except RuntimeError:
        assume(False)  # torch refuses: the result would be empty
    return None


@given(windows(min_dims=2))
def test_max_pool_agrees(oracle, case):
    dims = len(case[1])
    values, indices = accepted(MAX[dims], *case)
    args = oracle.array(case)
    oracle.agree(pooling.max_pool_with_indices(*args), (values, indices))
    oracle.agree(pooling.max_pool(*args), values)
    # A window that misses the input has a position outside it; torch's backward writes there.
    assume(int(indices.max()) < case[0].shape[-dims:].numel())
    grad = torch.randn_like(values)
    params = (case[0], case[1], case[2] or case[1], *case[3:])
    expected = MAX_BACKWARD[dims](grad, *params, indices)
    actual = pooling.max_pool_with_indices_backward(*oracle.array((grad, *params, indices)))
    oracle.agree(actual, expected)


@given(windows())
def test_one_dimension_agrees(oracle, case):
    x, kernel, stride, padding, dilation, ceil_mode = case
    params = (kernel[:1], stride[:1], padding[:1], dilation[:1], ceil_mode)
    x = x.reshape(-1, x.shape[-1])
    values, indices = accepted(torch.nn.functional.max_pool1d_with_indices, x, *params)
    oracle.agree(pooling.max_pool_with_indices(x.numpy(), *params), (values, indices))


@given(windows(), st.booleans(), st.sampled_from([None, 1, 7]))
def test_avg_pool_agrees(oracle, case, include_pad, divisor):
    x, kernel, stride, padding, _, ceil_mode = case
    dims = len(kernel)
    extra = (include_pad,) if dims == 1 else (include_pad, divisor)
    params = (kernel, stride, padding, ceil_mode, *extra)
    expected = accepted(AVG[dims], x, *params)
    oracle.agree(pooling.avg_pool(x.numpy(), *params), expected)
    if dims > 1:
        grad = torch.randn_like(expected)
        params = (kernel, stride or kernel, *params[2:])
        expected = AVG_BACKWARD[dims](grad, x, *params)
        oracle.agree(pooling.avg_pool_backward(grad.numpy(), x.numpy(), *params), expected)


def test_avg_pool_of_integers_divides_towards_zero(oracle):
    x = torch.randint(-9, 10, (2, 3, 8, 8))
    oracle.same(aten.avg_pool2d, pooling.avg_pool, x, [3, 3], [2, 2], [1, 1], True, False)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_narrow_floats_agree(oracle, dtype):
    x = torch.randn(2, 3, 9, 9).to(dtype)
    oracle.same(aten.avg_pool2d, pooling.avg_pool, x, [3, 3])
    oracle.same(
        aten.max_pool2d_with_indices, pooling.max_pool_with_indices, x, [3, 3], [1, 1], [1, 1]
    )
    oracle.same(aten._adaptive_avg_pool2d, pooling.adaptive_avg_pool, x, [4, 2])


@given(
    st.lists(st.integers(1, 9), min_size=2, max_size=3),
    st.lists(st.integers(1, 9), min_size=3, max_size=3),
    st.booleans(),
)
def test_adaptive_pools_agree(oracle, size, output, special):
    dims = len(size)
    output = output[:dims]
    x = torch.randint(-3, 4, (2, 3, *size)).double()
    if special:
        x[torch.rand(x.shape) < 0.2] = torch.nan
    average = {2: aten._adaptive_avg_pool2d, 3: aten._adaptive_avg_pool3d}[dims]
    backward = {2: aten._adaptive_avg_pool2d_backward, 3: aten._adaptive_avg_pool3d_backward}[dims]
    expected = average(x, output)
    oracle.agree(pooling.adaptive_avg_pool(x.numpy(), output), expected)
    grad = torch.randn_like(expected)
    actual = pooling.adaptive_avg_pool_backward(grad.numpy(), x.numpy(), dims)
    oracle.agree(actual, backward(grad, x))

    maximum = {2: aten.adaptive_max_pool2d, 3: aten.adaptive_max_pool3d}[dims]
    backward = {2: aten.adaptive_max_pool2d_backward, 3: aten.adaptive_max_pool3d_backward}[dims]
    values, indices = maximum(x, output)
    oracle.agree(pooling.adaptive_max_pool(x.numpy(), output), (values, indices))
    actual = pooling.adaptive_max_pool_backward(grad.numpy(), x.numpy(), indices.numpy(), dims)
    oracle.agree(actual, backward(grad, x, indices))


@pytest.mark.parametrize("dims", [2, 3])
@pytest.mark.parametrize("output", [1, 3, 4])
def test_fractional_max_pool_agrees(oracle, dims, output):
    pool = {2: aten.fractional_max_pool2d, 3: aten.fractional_max_pool3d}[dims]
    x = torch.randn(2, 3, *(7, 9, 8)[:dims])
    samples = torch.rand(2, 3, dims)
    kernel, size = [2, 3, 2][:dims], [output] * dims
    values, indices = pool(x, kernel, size, samples)
    actual = pooling.fractional_max_pool(x.numpy(), kernel, size, samples.numpy())
    oracle.agree(actual, (values, indices))
    backward = {2: aten.fractional_max_pool2d_backward, 3: aten.fractional_max_pool3d_backward}
    grad = torch.randn_like(values)
    expected = backward[dims](grad, x, kernel, size, indices)
    actual = pooling.fractional_max_pool_backward(grad.numpy(), x.numpy(), indices.numpy(), dims)
    oracle.agree(actual, expected)


@pytest.mark.parametrize("batch", [(), (2,)])
def test_max_unpool_agrees(oracle, batch):
    x = torch.randn(*batch, 3, 8, 10)
    values, indices = aten.max_pool2d_with_indices(x, [2, 2])
    oracle.same(aten.max_unpool2d, pooling.max_unpool, values, indices, [8, 10])
    x = torch.randn(*batch, 3, 4, 6, 8)
    values, indices = aten.max_pool3d_with_indices(x, [2, 2, 2])
    expected = aten.max_unpool3d(values, indices, [4, 6, 8], [2, 2, 2], [0, 0, 0])
    oracle.agree(pooling.max_unpool(values.numpy(), indices.numpy(), [4, 6, 8]), expected)


def test_max_unpool_refuses_an_index_outside(oracle):
    values, indices = torch.ones(1, 1, 1, 1), torch.tensor([[[[16]]]])
    with pytest.raises(RuntimeError, match="Found an invalid max index: 16"):
        aten.max_unpool2d(values, indices, [4, 4])
    with pytest.raises(RuntimeError, match=r"Found an invalid max index: 16 \(.* 4x4\)"):
        pooling.max_unpool(values.numpy(), indices.numpy(), [4, 4])


def test_no_samples():
    x = np.ones((0, 3, 6, 6))
    values, indices = pooling.max_pool_with_indices(x, [2, 2])
    assert values.shape == indices.shape == (0, 3, 3, 3)
    assert pooling.avg_pool(x, [2, 2]).shape == (0, 3, 3, 3)
    grad = pooling.max_pool_with_indices_backward(values, x, [2, 2], [2, 2], 0, 1, False, indices)
    assert grad.shape == x.shape


def test_out_is_filled_and_returned():
    x = np.random.default_rng(0).standard_normal((2, 3, 6, 6)).astype(np.float16)
    for pool in (pooling.max_pool, pooling.avg_pool):
        out = np.empty((2, 3, 3, 3), np.float16)
        assert pool(x, [2, 2], out=out) is out
        np.testing.assert_array_equal(out, pool(x, [2, 2]))


def test_bad_windows_are_refused():
    with pytest.raises(RuntimeError, match="Output size is too small"):
        pooling.max_pool(np.ones((1, 2, 2)), [5, 5])
    with pytest.raises(RuntimeError, match="divisor must be not zero"):
        pooling.avg_pool(np.ones((1, 2, 2)), [1, 1], divisor_override=0)
