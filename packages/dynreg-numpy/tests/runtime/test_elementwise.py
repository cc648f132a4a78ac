"""Elementwise functions and reductions against torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dynreg_numpy.runtime import elementwise, matrix, reductions

INTEGERS = [torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8]
FLOATS = [torch.float64, torch.float32]
SPECIAL = [0.0, -0.0, 1.5, -2.5, torch.inf, -torch.inf, torch.nan, 1e10, -3e9, 255.5, 1e-40]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("target", [*INTEGERS, torch.bool, *FLOATS, torch.bfloat16])
def test_casts_agree_also_where_they_overflow(oracle, dtype, target):
    x = torch.tensor(SPECIAL * 5, dtype=torch.float64).to(dtype)
    kind = oracle.array(torch.empty(0, dtype=target)).dtype
    oracle.agree(elementwise.cast(oracle.array(x), kind), x.to(target))


def test_casts_of_integers_wrap(oracle):
    x = torch.tensor([300, -1, 70_000, -(2**40), 2**33 + 5])
    for target in INTEGERS:
        kind = torch.empty(0, dtype=target).numpy().dtype
        oracle.agree(elementwise.cast(x.numpy(), kind), x.to(target))


def test_complex_numbers_lose_their_imaginary_part(oracle):
    x = torch.tensor([1 + 2j, 0 + 3j, 0 + 0j])
    oracle.agree(elementwise.cast(x.numpy(), np.dtype(np.float64)), x.real.double())
    oracle.agree(elementwise.cast(x.numpy(), np.dtype(bool)), x.bool())


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["sigmoid", "rsqrt", "erf", "erfc", "sign"])
def test_functions_agree(oracle, name, dtype):
    x = torch.cat([torch.tensor(SPECIAL, dtype=dtype), torch.linspace(-5, 5, 51, dtype=dtype)])
    expected = getattr(torch, name)(x)
    kernel = getattr(elementwise, name)
    oracle.agree(kernel(x.numpy()), expected)
    in_place = x.numpy().copy()
    kernel(in_place, in_place)
    oracle.agree(in_place, expected)
    oracle.agree(np.asarray(kernel(x.numpy()[3])), expected[3])


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu_agrees(oracle, approximate):
    x = torch.linspace(-5, 5, 51)
    kernel = {"none": elementwise.gelu, "tanh": elementwise.gelu_tanh}[approximate]
    expected = torch.nn.functional.gelu(x, approximate=approximate)
    in_place = x.numpy().copy()
    oracle.agree(kernel(in_place), expected)
    kernel(in_place, in_place)
    oracle.agree(in_place, expected)


@pytest.mark.parametrize("dtype", [*INTEGERS, torch.bool])
def test_sign_of_integers_agrees(oracle, dtype):
    x = torch.tensor([3, 0, 1, 5]).to(dtype)
    oracle.same(torch.sign, elementwise.sign, x)


@st.composite
def integers(draw):
    dtype = draw(st.sampled_from(INTEGERS))
    limits = torch.iinfo(dtype)
    values = st.integers(limits.min, limits.max) | st.integers(max(limits.min, -4), 4)
    pairs = draw(st.lists(st.tuples(values, values), min_size=1, max_size=20))
    x, y = zip(*pairs, strict=True)
    return torch.tensor(x, dtype=dtype), torch.tensor(y, dtype=dtype)


@given(integers())
def test_division_of_integers_agrees(oracle, case):
    x, y = case
    lowest = x == torch.iinfo(x.dtype).min
    y = torch.where((y == 0) | (lowest & (y == -1)), 3, y).to(x.dtype)
    for mode, kernel in (
        ("floor", elementwise.integer_floor_divide),
        ("trunc", elementwise.integer_trunc_divide),
    ):
        expected = torch.div(x, y, rounding_mode=mode)
        oracle.agree(kernel(x.numpy(), y.numpy()), expected)
        out = np.empty_like(x.numpy())
        kernel(x.numpy(), y.numpy(), out)
        oracle.agree(out, expected)


@pytest.mark.parametrize(
    "kernel", [elementwise.integer_floor_divide, elementwise.integer_trunc_divide]
)
def test_division_by_zero_is_refused(kernel):
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        torch.div(torch.tensor([1]), torch.tensor([0]), rounding_mode="floor")
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        kernel(np.array([1, 2]), np.array([1, 0]))


@given(integers())
def test_powers_of_integers_agree(oracle, case):
    x, y = case
    y = y.clamp(max=70) if x.dtype is torch.uint8 else y.clamp(-3, 70)
    oracle.same(torch.pow, elementwise.integer_power, x, y)


@given(integers())
def test_shifts_agree(oracle, case):
    x, y = case
    bits = x.element_size() * 8
    y = y.clamp(max=bits + 2) if x.dtype is torch.uint8 else y.clamp(-2, bits + 2)
    oracle.same(torch.bitwise_left_shift, elementwise.left_shift, x, y)
    oracle.same(torch.bitwise_right_shift, elementwise.right_shift, x, y)


@st.composite
def reducible(draw):
    shape = draw(st.lists(st.integers(1, 5), max_size=3))
    x = torch.randint(-3, 4, tuple(shape)).double()
    if draw(st.booleans()):
        x[torch.rand(x.shape) < 0.2] = torch.nan
    dim = draw(st.integers(0, max(len(shape) - 1, 0)))
    return x, dim, draw(st.booleans())


@given(reducible())
def test_extrema_agree(oracle, case):
    oracle.agree(reductions.argmax(*oracle.array(case)), torch.argmax(*case))
    oracle.agree(reductions.argmin(*oracle.array(case)), torch.argmin(*case))
    oracle.agree(reductions.max_dim(*oracle.array(case)), tuple(torch.max(*case)))
    oracle.agree(reductions.min_dim(*oracle.array(case)), tuple(torch.min(*case)))
    x = case[0]
    oracle.agree(reductions.argmax(x.numpy(), None, False), torch.argmax(x))


@pytest.mark.filterwarnings("ignore:.*degrees of freedom is <= 0")
@given(reducible(), st.sampled_from([0, 1, 2.5]))
def test_variance_agrees(oracle, case, correction):
    x, dim, keepdim = case
    dims = tuple(range(dim, x.ndim))
    if not dims:
        return
    expected = torch.var(x, dims, correction=correction, keepdim=keepdim)
    oracle.agree(reductions.var(x.numpy(), dims, correction, keepdim), expected)


def test_variance_of_complex_numbers_agrees(oracle):
    x = torch.randn(4, 5, dtype=torch.complex128)
    oracle.agree(reductions.var(x.numpy(), (1,), 1), torch.var(x, 1))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_products_of_integers_wrap(oracle, dtype):
    limits = torch.iinfo(dtype)
    x = torch.randint(limits.min // 2, limits.max // 2, (3, 4)).to(dtype)
    oracle.agree(matrix.integer_matmul(x.numpy(), x.numpy().T), x @ x.T)
