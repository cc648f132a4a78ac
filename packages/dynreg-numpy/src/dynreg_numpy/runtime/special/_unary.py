"""Special functions of one argument: SciPy's, with torch's values where the two differ."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dynreg_numpy.runtime._arrays import narrow, widen, workspace
from dynreg_numpy.runtime._blocks import by_block
from dynreg_numpy.runtime.special._erf import erf32

if TYPE_CHECKING:
    from collections.abc import Callable

    from dynreg_numpy.runtime._arrays import Array


class Unary(Protocol):
    """An elementwise function of a floating array."""

    def __call__(self, x: Array, *, out: Array | None = None) -> Array:
        """Return an array like ``x``, or fill ``out``."""


@functools.cache
def _scipy(name: str) -> Callable[..., Any]:
    import scipy.special

    function: Callable[..., Any] = getattr(scipy.special, name)
    return function


def _from_scipy(name: str, scipy_name: str, summary: str) -> Unary:
    """Return SciPy's function as a kernel: narrow floats are computed in float32."""

    def kernel(x: Array, *, out: Array | None = None) -> Array:
        return _on_wide(_scipy(scipy_name), x, out)

    kernel.__name__ = kernel.__qualname__ = name
    kernel.__doc__ = (
        f"Return {summary}.\n\nArgs:\n    x: floating, any shape.\n"
        "    out: where to put the result.\n\nReturns:\n    An array like ``x``."
    )
    return kernel


def _on_wide(function: Callable[..., Any], x: Array, out: Array | None) -> Array:
    wide = widen(np.asarray(x))
    return narrow(np.asarray(function(wide)).astype(wide.dtype, copy=False), x.dtype, out)


bessel_j0 = _from_scipy("bessel_j0", "j0", "the Bessel function of the first kind, order 0")
bessel_j1 = _from_scipy("bessel_j1", "j1", "the Bessel function of the first kind, order 1")
bessel_y0 = _from_scipy("bessel_y0", "y0", "the Bessel function of the second kind, order 0")
bessel_y1 = _from_scipy("bessel_y1", "y1", "the Bessel function of the second kind, order 1")
digamma = _from_scipy("digamma", "digamma", "the derivative of the logarithm of gamma")
entr = _from_scipy("entr", "entr", "-x log(x): 0 at 0, and -inf below")
erfc = _from_scipy("erfc", "erfc", "1 - erf(x)")
erfcx = _from_scipy("erfcx", "erfcx", "exp(x²) erfc(x)")
erfinv = _from_scipy("erfinv", "erfinv", "the inverse of the error function")
i0 = _from_scipy("i0", "i0", "the modified Bessel function of the first kind, order 0")
i0e = _from_scipy("i0e", "i0e", "exp(-|x|) i0(x)")
i1 = _from_scipy("i1", "i1", "the modified Bessel function of the first kind, order 1")
i1e = _from_scipy("i1e", "i1e", "exp(-|x|) i1(x)")
k0 = _from_scipy("k0", "k0", "the modified Bessel function of the second kind, order 0")
k0e = _from_scipy("k0e", "k0e", "exp(x) k0(x)")
k1 = _from_scipy("k1", "k1", "the modified Bessel function of the second kind, order 1")
k1e = _from_scipy("k1e", "k1e", "exp(x) k1(x)")
log_ndtr = _from_scipy("log_ndtr", "log_ndtr", "the logarithm of the normal distribution")
ndtr = _from_scipy("ndtr", "ndtr", "the normal distribution")
ndtri = _from_scipy("ndtri", "ndtri", "the inverse of the normal distribution")


def erf(x: Array, *, out: Array | None = None) -> Array:
    """Return the error function; see :mod:`dynreg_numpy.runtime.special._erf` for float32.

    Args:
        x: floating, any shape.
        out: where to put the result.

    Returns:
        An array like ``x``.
    """
    x = np.asarray(x)
    if x.dtype == np.float64:
        return _on_wide(_scipy("erf"), x, out)
    result = workspace(out, x.shape, np.dtype(np.float32))
    return narrow(by_block(erf32, (widen(x),), result), x.dtype, out)


def lgamma(x: Array, *, out: Array | None = None) -> Array:
    """Return the logarithm of the absolute value of gamma, inf at both infinities.

    Args:
        x: floating, any shape.
        out: where to put the result.

    Returns:
        An array like ``x``.
    """
    return _on_wide(lambda x: np.where(np.isinf(x), np.inf, _scipy("gammaln")(x)), x, out)


def airy_ai(x: Array, *, out: Array | None = None) -> Array:
    """Return the Airy function Ai.

    Args:
        x: floating, any shape.
        out: where to put the result.

    Returns:
        An array like ``x``.
    """
    return _on_wide(_airy_ai, x, out)


def _airy_ai(x: Array) -> Array:
    result = np.asarray(_scipy("airy")(x)[0])
    # SciPy gives up on large arguments; there, DLMF 9.7.5 and 9.7.9 are exact.
    result = np.where((x > 104) & np.isfinite(x), 0, result)
    far = (x < -1e4) & np.isfinite(x)
    if far.any():
        z = np.where(far, -x, 1).astype(np.float64)
        wave = np.sin(2 / 3 * z**1.5 + math.pi / 4) / (math.sqrt(math.pi) * z**0.25)
        result = np.where(far, wave, result)
    return result


def spherical_bessel_j0(x: Array, *, out: Array | None = None) -> Array:
    """Return sin(x) / x: 1 at 0, and 0 at both infinities.

    Args:
        x: floating, any shape.
        out: where to put the result.

    Returns:
        An array like ``x``.
    """

    def function(x: Array) -> Array:
        small = np.abs(x) < 1e-4
        ratio = np.sin(x) / np.where(small, 1, x)
        return np.where(np.isinf(x), 0, np.where(small, 1 - x * x / 6, ratio))

    return _on_wide(function, x, out)


def sinc(x: Array, *, out: Array | None = None) -> Array:
    """Return sin(πx) / (πx), 1 at 0, as ``aten.sinc`` does.

    Args:
        x: floating or complex, any shape.
        out: where to put the result.

    Returns:
        An array like ``x``.
    """

    def function(x: Array) -> Array:
        scaled = x * x.dtype.type(math.pi)
        return np.where(x == 0, 1, np.sin(scaled) / np.where(x == 0, 1, scaled))

    return _on_wide(function, x, out)


def logit(x: Array, eps: float | None = None, *, out: Array | None = None) -> Array:
    """Return log(x / (1 - x)), as ``aten.logit`` does.

    Args:
        x: floating, any shape.
        eps: clamp ``x`` to [eps, 1 - eps]; None not to.
        out: where to put the result.

    Returns:
        An array like ``x``; NaN outside of [0, 1].
    """

    def function(x: Array) -> Array:
        kept = x if eps is None else np.clip(x, x.dtype.type(eps), x.dtype.type(1 - eps))
        return np.asarray(np.log(kept / (1 - kept)))

    return _on_wide(function, x, out)
