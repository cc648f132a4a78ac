"""Resampling and its backwards against torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from dynreg_numpy.runtime import resampling

aten = torch.ops.aten
BY_MODE = {
    "nearest": {d: f"upsample_nearest{d}d" for d in (1, 2, 3)},
    "nearest-exact": {d: f"_upsample_nearest_exact{d}d" for d in (1, 2, 3)},
    "linear": {1: "upsample_linear1d", 2: "upsample_bilinear2d", 3: "upsample_trilinear3d"},
    "cubic": {2: "upsample_bicubic2d"},
}
DTYPES = [torch.float64, torch.float32, torch.bfloat16]


@st.composite
def resamplings(draw, antialias=False):
    mode = draw(st.sampled_from(["linear", "cubic"] if antialias else list(BY_MODE)))
    dims = 2 if antialias else draw(st.sampled_from(sorted(BY_MODE[mode])))
    # torch's antialiasing takes one row for another in an image that is one element wide.
    least = 2 if antialias else 1
    size = draw(st.lists(st.integers(least, 9), min_size=dims, max_size=dims))
    output = draw(st.lists(st.integers(least, 12), min_size=dims, max_size=dims))
    align = draw(st.booleans()) and not mode.startswith("nearest")
    if draw(st.booleans()):
        factors = st.floats(0.3, 2.5)
        scales = draw(st.lists(factors, min_size=dims, max_size=dims))
        output = [max(least, int(n * s)) for n, s in zip(size, scales, strict=True)]
    else:
        scales = [None] * dims
    # torch antialiases no bfloat16.
    dtype = draw(st.sampled_from(DTYPES[:2] if antialias else DTYPES))
    return mode, size, output, align, scales, dtype


def overloads(mode, dims, suffix=""):
    name = BY_MODE[mode][dims]
    name = f"_{name}{suffix}" if suffix else name
    return getattr(aten, name), getattr(aten, f"{name}_backward")


def check_resampling(oracle, case, suffix=""):
    mode, size, output, align, scales, dtype = case
    forward, backward = overloads(mode, len(size), suffix)
    nearest = mode.startswith("nearest")
    rest = (*scales,) if nearest else (align, *scales)
    x = torch.randn(2, 3, *size).to(dtype)
    expected = oracle.exactly(forward, x, output, *rest)
    params = (mode, align, scales, suffix != "")
    oracle.agree(resampling.upsample(oracle.array(x), output, *params), expected)
    grad = torch.randn(expected.shape).to(dtype)
    expected = oracle.exactly(backward, grad, output, [2, 3, *size], *rest)
    actual = resampling.upsample_backward(oracle.array(grad), [2, 3, *size], *params)
    oracle.agree(actual, expected, {torch.float32: {"rtol": 1e-5, "atol": 2e-5}})


@given(resamplings())
def test_upsample_agrees(oracle, case):
    check_resampling(oracle, case)


@given(resamplings(antialias=True))
def test_antialiased_upsample_agrees(oracle, case):
    check_resampling(oracle, case, "_aa")


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_upsample_of_bytes_agrees(oracle, mode):
    x = torch.randint(0, 256, (2, 3, 5, 6), dtype=torch.uint8)
    expected = overloads(mode, 2)[0](x, [7, 11], None, None)
    oracle.agree(resampling.upsample(x.numpy(), [7, 11], mode), expected)


def test_interpolated_bytes_are_rounded(oracle):
    x = torch.randint(0, 256, (2, 3, 5, 6), dtype=torch.uint8)
    expected = aten.upsample_bilinear2d(x, [7, 11], False, None, None)
    # torch's integer weights are off by at most one.
    oracle.agree(resampling.upsample(x.numpy(), [7, 11], "linear"), expected, atol=1, rtol=0)


def test_infinities_touch_only_their_neighbours(oracle):
    x = torch.randn(1, 1, 6, 6)
    x[0, 0, 2, 3] = torch.inf
    expected = aten.upsample_bilinear2d(x, [9, 9], True, None, None)
    oracle.agree(resampling.upsample(x.numpy(), [9, 9], "linear", True), expected)


@st.composite
def grids(draw):
    dims = draw(st.sampled_from([2, 3]))
    size = draw(st.lists(st.integers(1, 5), min_size=dims, max_size=dims))
    output = draw(st.lists(st.integers(1, 4), min_size=dims, max_size=dims))
    interpolation = draw(st.sampled_from([0, 1, 2] if dims == 2 else [0, 1]))
    padding, align = draw(st.sampled_from([0, 1, 2])), draw(st.booleans())
    x = torch.randn(2, 3, *size, dtype=torch.float64)
    grid = torch.randn(2, *output, dims, dtype=torch.float64) * 1.5
    return x, grid, interpolation, padding, align


@given(grids())
def test_grid_sampler_agrees(oracle, case):
    two = case[0].ndim == 4
    forward = aten.grid_sampler_2d if two else aten.grid_sampler_3d
    backward = aten.grid_sampler_2d_backward if two else aten.grid_sampler_3d_backward
    expected = forward(*case)
    oracle.agree(resampling.grid_sampler(*oracle.array(case)), expected)
    args = (torch.randn_like(expected), *case, [True, True])
    oracle.agree(resampling.grid_sampler_backward(*oracle.array(args)), list(backward(*args)))


@pytest.mark.parametrize("mask", [[True, False], [False, True]])
def test_only_masked_grid_gradients_are_computed(mask):
    x, grid = np.ones((1, 2, 4, 4)), np.zeros((1, 3, 3, 2))
    grads = resampling.grid_sampler_backward(np.ones((1, 2, 3, 3)), x, grid, 0, 0, True, mask)
    assert [g is not None for g in grads] == mask


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_grid_sampler_of_other_dtypes_agrees(oracle, dtype):
    x, grid = torch.randn(2, 3, 5, 6).to(dtype), (torch.rand(2, 4, 4, 2) * 2 - 1).to(dtype)
    # Narrow formats are rounded after each step, so the float32 result is not what is wanted.
    expected = aten.grid_sampler_2d(x, grid, 0, 0, False)
    oracle.agree(resampling.grid_sampler(*oracle.array((x, grid)), 0, 0, False), expected)


@pytest.mark.parametrize("padding", [0, 1])
def test_points_at_infinity_agree(oracle, padding):
    x = torch.randn(1, 2, 4, 4)
    grid = torch.tensor([[[[torch.inf, 0.0], [0.0, -torch.inf], [1e20, -1e20]]]])
    for interpolation in (0, 1):
        oracle.same(
            aten.grid_sampler_2d, resampling.grid_sampler, x, grid, interpolation, padding, True
        )


@pytest.mark.parametrize("align", [True, False])
@pytest.mark.parametrize("size", [[2, 1, 4, 5], [2, 1, 1, 3], [2, 1, 3, 4, 5]], ids=str)
def test_affine_grid_agrees(oracle, size, align):
    dims = len(size) - 2
    theta = torch.randn(2, dims, dims + 1)
    oracle.same(aten.affine_grid_generator, resampling.affine_grid, theta, size, align)


@given(st.sampled_from([1, 2, 3]), st.booleans(), st.data())
def test_pads_agree(oracle, dims, batched, data):
    size = data.draw(st.lists(st.integers(2, 6), min_size=dims, max_size=dims))
    edges = [data.draw(st.integers(-1, n - 1)) for n in reversed(size) for _ in range(2)]
    assume(all(n + b + a > 0 for n, b, a in zip(size[::-1], edges[::2], edges[1::2], strict=True)))
    x = torch.randn(*([2] if batched else []), 3, *size, dtype=torch.float64)
    for kind in ("reflection", "replication"):
        forward = getattr(aten, f"{kind}_pad{dims}d")
        oracle.same(forward, getattr(resampling, f"{kind}_pad"), x, edges)
        grad = torch.randn_like(forward(x, edges))
        oracle.same(
            getattr(aten, f"{kind}_pad{dims}d_backward"),
            getattr(resampling, f"{kind}_pad_backward"), grad, x, edges,
        )  # fmt: skip


def test_shuffles_agree(oracle):
    x = torch.randn(2, 12, 4, 6)
    oracle.same(aten.pixel_shuffle, resampling.pixel_shuffle, x, 2)
    oracle.same(aten.pixel_unshuffle, resampling.pixel_unshuffle, x, 2)
    oracle.same(aten.pixel_shuffle, resampling.pixel_shuffle, x[0], 2)
    oracle.same(aten.channel_shuffle, resampling.channel_shuffle, x, 3)


def pairs(low, high):
    return st.lists(st.integers(low, high), min_size=2, max_size=2)


@given(st.booleans(), pairs(1, 3), pairs(1, 2), pairs(0, 2), pairs(1, 3), pairs(5, 8))
def test_columns_agree(oracle, batched, kernel, dilation, padding, stride, size):
    x = torch.randn(*([2] if batched else []), 3, *size, dtype=torch.float64)
    params = (kernel, dilation, padding, stride)
    columns = aten.im2col(x, *params)
    oracle.same(aten.im2col, resampling.im2col, x, *params)
    oracle.same(aten.col2im, resampling.col2im, columns, size, *params)


@pytest.mark.parametrize(
    ("shape", "dim", "size", "step"),
    [((), 0, 1, 1), ((9,), 0, 3, 2), ((4, 7), 1, 3, 1), ((5, 4), 0, 2, 3)],
)
def test_unfold_backward_agrees(oracle, shape, dim, size, step):
    grad = torch.randn_like(torch.empty(shape).unfold(dim, size, step))
    oracle.same(
        aten.unfold_backward, resampling.unfold_backward, grad, list(shape), dim, size, step
    )
