"""Random numbers of the runtime are torch's, number for number, and leave its generator there."""

import numpy as np
import pytest
import torch

from dynreg_numpy._generator import GENERATOR
from dynreg_numpy.runtime import random

FLOATS = {
    torch.float16: np.float16,
    torch.float32: np.float32,
    torch.float64: np.float64,
    torch.complex64: np.complex64,
}


def hold(theirs, ours, tolerance=0.0):
    torch.manual_seed(7)
    torch.randn(3)  # leaves half of a pair of normal numbers behind
    expected = theirs()
    after = torch.rand(3), torch.randn(3)
    torch.manual_seed(7)
    torch.randn(3)
    actual = ours()
    np.testing.assert_allclose(
        np.asarray(actual, np.complex128),
        expected.to(torch.complex128).numpy(),
        rtol=tolerance,
        atol=tolerance,
    )
    torch.testing.assert_close((torch.rand(3), torch.randn(3)), after)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("count", [0, 1, 3, 16, 17, 700])
def test_uniform_and_normal(dtype, count):
    numpy_dtype = np.dtype(FLOATS[dtype])
    hold(
        lambda: torch.rand(count, dtype=dtype),
        lambda: random.uniform(GENERATOR, (count,), 0, 1, numpy_dtype),
    )
    tolerance = 4e-3 if dtype is torch.float16 else 1e-4
    hold(
        lambda: torch.randn(count, dtype=dtype),
        lambda: random.normal(GENERATOR, (count,), 0, 1, numpy_dtype),
        tolerance,
    )


@pytest.mark.parametrize(("low", "high"), [(0, 10), (-3, 9), (0, 1 << 28), (-5, 1 << 40)])
def test_integers(low, high):
    hold(
        lambda: torch.randint(low, high, (50,)),
        lambda: random.integers(GENERATOR, (50,), low, high, np.dtype(np.int64)),
    )


@pytest.mark.parametrize("count", [0, 1, 2, 500])
def test_permutation(count):
    hold(
        lambda: torch.randperm(count),
        lambda: random.permutation(GENERATOR, count, np.dtype(np.int64)),
    )


def test_memory_order_decides_which_number_goes_where():
    x = torch.empty(4, 5).t()
    hold(
        lambda: torch.rand_like(x),
        lambda: random.uniform(GENERATOR, (5, 4), 0, 1, np.dtype(np.float32), (1, 0)),
    )


FLOAT32 = np.dtype(np.float32)
DISTRIBUTIONS = {
    "bernoulli": (
        lambda: torch.empty(90).bernoulli_(0.3),
        lambda: random.bernoulli_scalar(GENERATOR, (90,), 0.3, FLOAT32),
    ),
    "exponential": (
        lambda: torch.empty(90).exponential_(2),
        lambda: random.exponential(GENERATOR, (90,), 2, FLOAT32),
    ),
    "geometric": (
        lambda: torch.empty(90).geometric_(0.2),
        lambda: random.geometric(GENERATOR, (90,), 0.2, FLOAT32),
    ),
    "cauchy": (
        lambda: torch.empty(90).cauchy_(1, 2),
        lambda: random.cauchy(GENERATOR, (90,), 1, 2, FLOAT32),
    ),
    "log_normal": (
        lambda: torch.empty(90).log_normal_(1, 0.5),
        lambda: random.log_normal(GENERATOR, (90,), 1, 0.5, FLOAT32),
    ),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distributions(name):
    hold(*DISTRIBUTIONS[name], tolerance=1e-5)


@pytest.mark.parametrize(("count", "replacement"), [(1, False), (1, True), (4, False), (30, True)])
def test_multinomial(count, replacement):
    weights = torch.rand(3, 9)
    hold(
        lambda: torch.multinomial(weights, count, replacement=replacement),
        lambda: random.multinomial(GENERATOR, weights.numpy(), count, replacement),
    )


def test_dropout():
    x = torch.randn(40)
    hold(
        lambda: torch.nn.functional.dropout(x, 0.3),
        lambda: random.dropout(GENERATOR, x.numpy(), 0.3, True)[0],
        1e-6,
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: random.integers(GENERATOR, (2,), 3, 3, np.dtype(np.int64)), "less than 'to'"),
        (lambda: random.bernoulli_scalar(GENERATOR, (2,), 1.5, FLOAT32), "expects p"),
        (lambda: random.bernoulli(GENERATOR, np.array([2.0]), FLOAT32), "p_in"),
        (lambda: random.multinomial(GENERATOR, np.array([-1.0, 2.0]), 1, False), "element < 0"),
        (lambda: random.multinomial(GENERATOR, np.zeros(3), 1, False), "invalid multinomial"),
    ],
)
def test_bad_arguments_raise_what_torch_raises(call, message):
    with pytest.raises(RuntimeError, match=message):
        call()
