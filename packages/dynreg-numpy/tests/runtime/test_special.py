"""Special functions against torch."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dynreg_numpy.runtime import special

aten = torch.ops.aten
_SAME = [
    *("airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "digamma", "entr", "erf"),
    *("erfc", "erfcx", "erfinv", "i0", "i0e", "i1", "i1e", "log_ndtr", "logit", "ndtr", "ndtri"),
    *("sinc", "spherical_bessel_j0"),
]
#: Name here to name in ``torch.special``, where it is another.
UNARY = {
    **dict(zip(_SAME, _SAME, strict=True)),
    "lgamma": "gammaln",
    "k0": "modified_bessel_k0",
    "k1": "modified_bessel_k1",
    "k0e": "scaled_modified_bessel_k0",
    "k1e": "scaled_modified_bessel_k1",
}
#: torch's float64 results have six digits at some places, where SciPy's are right to fifteen.
INEXACT_IN_TORCH = {"airy_ai", "bessel_j0", "bessel_j1", "bessel_y1"}
POINTS = torch.cat(
    [
        torch.tensor([0.0, -0.0, 1, -1, -2, 2, torch.inf, -torch.inf, torch.nan, 100, -100, 1e-30]),
        torch.linspace(-6, 6, 97),
        torch.linspace(0, 1, 33),
        torch.linspace(5, 60, 23),
    ]
)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_argument_agree(oracle, name, dtype):
    loose = {"rtol": 3e-5, "atol": 1e-5} if name in INEXACT_IN_TORCH else {}
    reference = getattr(torch.special, UNARY[name])
    oracle.same(reference, getattr(special, name), POINTS.to(dtype), tolerances=loose)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", ["digamma", "erf", "erfinv", "i0e", "lgamma", "ndtr", "sinc"])
def test_narrow_floats_agree(oracle, name, dtype):
    reference = getattr(torch.special, UNARY[name])
    oracle.same(reference, getattr(special, name), torch.randn(50).to(dtype))


def test_erf_in_float32_has_seven_digits():
    from scipy.special import erf

    x = np.concatenate([np.linspace(-6, 6, 100_001), np.logspace(-30, 0, 500)]).astype(np.float32)
    np.testing.assert_allclose(special.erf(x), erf(x.astype(np.float64)), rtol=4e-7)


def test_airy_far_out_agrees(oracle):
    x = torch.tensor([-2e4, -1e5, 103.0, 105.0, 1e10], dtype=torch.float64)
    oracle.same(torch.special.airy_ai, special.airy_ai, x, tolerances={"rtol": 1e-4, "atol": 1e-9})


@pytest.mark.parametrize("eps", [None, 0.1])
def test_logit_agrees(oracle, eps):
    oracle.same(torch.logit, special.logit, torch.linspace(-0.5, 1.5, 41), eps)


def test_complex_sinc_agrees(oracle):
    x = torch.randn(9, dtype=torch.complex128)
    x[0] = 0
    oracle.same(torch.sinc, special.sinc, x)


BINARY = {
    "xlogy": torch.special.xlogy,
    "xlog1py": torch.special.xlog1py,
    "zeta": torch.special.zeta,
    "igamma": torch.igamma,
    "igammac": torch.igammac,
}


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_arguments_agree(oracle, name, dtype):
    x = torch.cat([POINTS[:11], torch.tensor([0.5, 1.5, 3.0, 7.25, -0.5, -2.5, 20.0])]).to(dtype)
    loose = {"rtol": 1e-5, "atol": 1e-5} if dtype is torch.float32 else {}
    oracle.same(BINARY[name], getattr(special, name), x[:, None], x, tolerances=loose)


@pytest.mark.parametrize("n", range(5))
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_polygamma_agrees(oracle, n, dtype):
    x = torch.cat([torch.linspace(-3.3, 9, 50), torch.tensor([torch.inf, torch.nan])]).to(dtype)
    loose = {"rtol": 1e-5, "atol": 1e-5} if dtype is torch.float32 else {}
    oracle.same(torch.polygamma, special.polygamma, n, x, tolerances=loose)


def test_trigamma_at_its_poles_agrees(oracle):
    for dtype in (torch.float64, torch.float32):
        x = torch.tensor([0.0, -1.0, -2.0], dtype=dtype)
        oracle.same(torch.polygamma, special.polygamma, 1, x, tolerances={"rtol": 1e-3, "atol": 0})


def test_negative_order_is_refused():
    with pytest.raises(RuntimeError, match="does not support negative n"):
        special.polygamma(-1, np.ones(2))


POLYNOMIALS = [
    *(f"{s}chebyshev_polynomial_{kind}" for s in ("", "shifted_") for kind in "tuvw"),
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
]


@pytest.mark.parametrize("name", POLYNOMIALS)
@given(
    st.lists(st.floats(-1.5, 1.5) | st.sampled_from([0.0, 1.0, -1.0]), min_size=1, max_size=6),
    st.lists(st.integers(-2, 14), min_size=1, max_size=4),
)
def test_polynomials_agree(oracle, name, xs, degrees):
    x = torch.tensor(xs, dtype=torch.float64)[:, None]
    n = torch.tensor(degrees, dtype=torch.float64)
    # A shifted polynomial is evaluated at 2x - 1, where torch sums in another order.
    loose = {"rtol": 1e-6, "atol": 1e-6}
    oracle.same(getattr(torch.special, name), getattr(special, name), x, n, tolerances=loose)


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_high_degrees_agree(oracle, name):
    x = torch.tensor([0.3, 0.7], dtype=torch.float64)
    degrees = [60.0] if "herm" in name else [60.0, 1000.0]
    for degree in degrees:
        oracle.same(
            getattr(torch.special, name), getattr(special, name), x,
            torch.tensor(degree, dtype=torch.float64), tolerances={"rtol": 1e-6, "atol": 1e-6},
        )  # fmt: skip


@pytest.mark.parametrize("name", ["hermite_polynomial_h", "hermite_polynomial_he"])
def test_hermite_degrees_that_overflow_give_nan(oracle, name):
    for dtype, degree in ((torch.float32, 129.0), (torch.float64, 513.0)):
        x = torch.tensor([0.5], dtype=dtype)
        oracle.same(
            getattr(torch.special, name), getattr(special, name), x,
            torch.tensor([degree], dtype=dtype),
        )  # fmt: skip


def test_scipy_is_loaded_when_needed():
    program = (
        "import sys; from dynreg_numpy.runtime import special; "
        "assert 'scipy' not in sys.modules; assert 'torch' not in sys.modules; "
        "import numpy as np; special.erf(np.ones(3, np.float32)); "
        "assert 'scipy' not in sys.modules; "
        "special.lgamma(np.ones(3)); assert 'scipy.special' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
