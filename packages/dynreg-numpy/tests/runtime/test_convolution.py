"""Convolution and its backward against torch."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from dynreg_numpy.runtime.convolution import convolution, convolution_backward

aten = torch.ops.aten
#: float32 sums of some fifty products, in another order
ACCUMULATED = {"rtol": 1e-5, "atol": 1e-4}


@dataclasses.dataclass(frozen=True)
class Case:
    x: tuple[int, ...]
    weight: tuple[int, ...]
    bias: bool
    params: tuple  # stride, padding, dilation, transposed, output_padding, groups
    channels_last: bool

    def tensors(self, dtype=torch.float64):
        x, weight = torch.randn(self.x, dtype=dtype), torch.randn(self.weight, dtype=dtype)
        if self.channels_last and len(self.x) > 3:
            formats = {4: torch.channels_last, 5: torch.channels_last_3d}
            x = x.contiguous(memory_format=formats[len(self.x)])
        channels = self.weight[1] * self.params[5] if self.params[3] else self.weight[0]
        return x, weight, torch.randn(channels, dtype=dtype) if self.bias else None


@st.composite
def cases(draw):
    dims = draw(st.integers(1, 3))

    def per_dim(low, high):
        return draw(st.lists(st.integers(low, high), min_size=dims, max_size=dims))

    groups = draw(st.sampled_from([1, 1, 2, 3]))
    ins, outs = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    kernel, stride, dilation = per_dim(1, 3), per_dim(1, 3), per_dim(1, 2)
    transposed = draw(st.booleans())
    extra = [draw(st.integers(0, max(s, d) - 1)) for s, d in zip(stride, dilation, strict=True)]
    case = Case(
        x=(draw(st.integers(1, 3)), groups * ins, *per_dim(1, 7)),
        weight=(groups * (ins if transposed else outs), outs if transposed else ins, *kernel),
        bias=draw(st.booleans()),
        params=(
            stride,
            per_dim(0, 2),
            dilation,
            transposed,
            extra if transposed else [0] * dims,
            groups,
        ),
        channels_last=draw(st.booleans()),
    )
    try:
        aten.convolution(*case.tensors(), *case.params)
    except RuntimeError:
        assume(False)  # torch refuses: the result has no positions
    return case


@given(cases())
def test_forward_agrees(oracle, case):
    oracle.same(aten.convolution, convolution, *case.tensors(), *case.params)


@given(cases())
def test_backward_agrees(oracle, case):
    x, weight, bias = case.tensors()
    grad = torch.randn_like(aten.convolution(x, weight, bias, *case.params))
    oracle.same(
        aten.convolution_backward,
        convolution_backward,
        *(grad, x, weight, [grad.shape[1]], *case.params, [True, True, True]),
    )


PLAIN = ([1, 1], [1, 1], [1, 1], False, [0, 0], 1)
# Large enough that the unfolded input is cut: across samples, rows, and along one long row.
TILED = {
    "samples": ((40, 16, 14, 14), (8, 16, 3, 3), PLAIN),
    "rows": ((2, 32, 60, 60), (4, 32, 3, 3), PLAIN),
    "strided rows": ((1, 32, 121, 60), (4, 32, 3, 3), ([2, 2], *PLAIN[1:])),
    "one long row": ((2, 64, 20000), (4, 64, 3), ([1], [1], [1], False, [0], 1)),
    "depth": ((1, 16, 12, 30, 30), (4, 16, 3, 3, 3), ([1], [1], [1], False, [0], 1)),
    "depthwise": ((4, 64, 40, 40), (64, 1, 3, 3), (*PLAIN[:5], 64)),
    "pointwise": ((2, 64, 40, 40), (32, 64, 1, 1), (*PLAIN[:1], [0, 0], *PLAIN[2:])),
    "whole": ((5, 64, 3, 3), (32, 64, 3, 3), (*PLAIN[:1], [0, 0], *PLAIN[2:])),
    "transposed with gaps": (
        (2, 8, 9, 9), (8, 4, 1, 2), ([2, 3], [0, 1], [1, 1], True, [1, 2], 1),
    ),
    "transposed and cut": ((2, 8, 9, 9), (8, 4, 2, 2), ([1, 1], [2, 1], [1, 1], True, [0, 0], 1)),
    "transposed": ((4, 32, 40, 40), (32, 16, 4, 4), ([2, 2], [1, 1], [1, 1], True, [0, 0], 1)),
}  # fmt: skip


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize(("x", "weight", "params"), TILED.values(), ids=TILED)
def test_tiles_cover_the_result(oracle, x, weight, params, channels_last):
    dims = len(x) - 2
    params = tuple(p * dims if isinstance(p, list) and len(p) == 1 else p for p in params)
    tensors = Case(x, weight, True, params, channels_last).tensors()
    oracle.same(aten.convolution, convolution, *tensors, *params)
    grad = torch.randn_like(aten.convolution(*tensors, *params))
    oracle.same(
        aten.convolution_backward,
        convolution_backward,
        *(grad, *tensors[:2], [grad.shape[1]], *params, [True, True, True]),
    )


def test_volumetric_weight_gradient_is_summed_as_torchs():
    x, weight, _ = Case((2, 4, 3, 4, 5), (4, 5, 3, 3, 3), False, PLAIN, False).tensors(
        torch.float32
    )
    params = ((1,) * 3, (0,) * 3, (1,) * 3, True, (0,) * 3, 1)
    grad = torch.randn(2, 5, 5, 6, 7)
    mask = [False, True, False]
    _, expected, _ = aten.convolution_backward(grad, x, weight, None, *params, mask)
    arrays = (tensor.numpy() for tensor in (grad, x, weight))
    _, actual, _ = convolution_backward(*arrays, None, *params, mask)
    # Rounding in another order would leave a sum of 120 terms about 1e-6 off.
    torch.testing.assert_close(torch.from_numpy(actual), expected, rtol=1e-6, atol=1e-6)


def test_float32_agrees(oracle):
    params = (*PLAIN[:5], 2)
    x, weight, bias = Case((2, 6, 9, 9), (8, 3, 3, 3), True, params, False).tensors(torch.float32)
    oracle.same(aten.convolution, convolution, x, weight, bias, *params, tolerances=ACCUMULATED)
    grad = torch.randn(2, 8, 9, 9)
    oracle.same(
        aten.convolution_backward,
        convolution_backward,
        *(grad, x, weight, [8], *params, [True, True, True]),
        tolerances=ACCUMULATED,
    )


def test_complex_agrees(oracle):
    params = (*PLAIN[:5], 2)
    case = Case((2, 6, 9, 9), (8, 3, 3, 3), True, params, False)
    x, weight, bias = case.tensors(torch.complex64)
    expected = torch.nn.functional.conv2d(x, weight, bias, 1, 1, 1, 2)
    actual = convolution(*oracle.array((x, weight, bias)), *params)
    oracle.agree(actual, expected, **ACCUMULATED)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("transposed", [False, True])
def test_narrow_floats_round_once(oracle, dtype, transposed):
    params = ([1, 1], [1, 1], [1, 1], transposed, [0, 0], 1)
    x, weight, bias = Case((2, 64, 7, 7), (64, 64, 3, 3), True, params, False).tensors(dtype)
    # torch's own narrow kernels differ by machine; the float32 result, rounded once, does not.
    expected = aten.convolution(x.float(), weight.float(), bias.float(), *params).to(dtype)
    oracle.agree(convolution(*oracle.array((x, weight, bias)), *params), expected)


def test_integers_agree(oracle):
    x, weight = torch.randint(-9, 9, (2, 4, 6, 6)), torch.randint(-9, 9, (3, 4, 3, 3))
    oracle.same(aten.convolution, convolution, x, weight, None, *PLAIN)


@pytest.mark.parametrize(
    ("x", "weight"),
    [((0, 3, 5, 5), (4, 3, 3, 3)), ((2, 3, 5, 5), (0, 3, 3, 3)), ((2, 0, 5, 5), (4, 0, 3, 3))],
    ids=["no samples", "no output channels", "no input channels"],
)
def test_empty_arrays(x, weight):
    ones = np.ones(weight[0])
    result = convolution(np.ones(x), np.ones(weight), ones, *PLAIN)
    assert result.shape == (x[0], weight[0], 5, 5)
    assert (result == 1).all()
    grads = convolution_backward(
        result, np.ones(x), np.ones(weight), None, *PLAIN, [True, True, True]
    )
    assert [g.shape for g in grads] == [x, weight, (weight[0],)]


def test_any_strides(oracle):
    x = torch.randn(8, 9, 4, 6, dtype=torch.float64).permute(3, 2, 1, 0)[::2, :, 1:, :]
    weight = torch.randn(1, 1, 3, 3, dtype=torch.float64).expand(5, 4, 3, 3)
    oracle.same(aten.convolution, convolution, x, weight, None, *PLAIN)


def test_negative_strides_and_read_only_inputs(oracle):
    x, weight = np.random.default_rng(0).standard_normal((2, 3, 3, 9, 9))
    x, weight = x[:1, ::-1, ::-1], weight[:, :, :3, 2::-1]
    expected = aten.convolution(
        torch.from_numpy(x.copy()), torch.from_numpy(weight.copy()), None, *PLAIN
    )
    x.flags.writeable = weight.flags.writeable = False
    oracle.agree(convolution(x, weight, None, *PLAIN), expected)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_out_is_filled_and_returned(dtype, transposed):
    rng = np.random.default_rng(0)
    x, weight = rng.standard_normal((2, 4, 6, 6)), rng.standard_normal((4, 4, 3, 3))
    x, weight = x.astype(dtype), weight.astype(dtype)
    params = ([1, 1], [1, 1], [1, 1], transposed, [0, 0], 1)
    expected = convolution(x, weight, None, *params)
    for memory in (np.empty((2, 4, 6, 6), dtype), np.empty((2, 6, 6, 4), dtype)):
        out = memory if memory.shape == expected.shape else memory.transpose(0, 3, 1, 2)
        assert convolution(x, weight, None, *params, out=out) is out
        np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-5)


def test_channels_last_input_gives_channels_last_output():
    x = np.ones((2, 6, 6, 4)).transpose(0, 3, 1, 2)
    result = convolution(x, np.ones((5, 4, 3, 3)), None, *PLAIN)
    assert result.transpose(0, 2, 3, 1).flags.c_contiguous


@pytest.mark.parametrize("mask", [[True, False, False], [False, True, False], [False, False, True]])
def test_only_masked_gradients_are_computed(mask):
    x, weight = np.ones((1, 2, 4, 4)), np.ones((2, 2, 3, 3))
    grads = convolution_backward(x, x, weight, [2], *PLAIN, mask)
    assert [g is not None for g in grads] == mask


def test_kernel_larger_than_input_is_refused():
    with pytest.raises(RuntimeError, match="Kernel size can't be greater than actual input size"):
        convolution(np.ones((1, 1, 2, 2)), np.ones((1, 1, 5, 5)), None, *PLAIN)
