"""Special functions of two arguments."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dynreg_numpy.runtime._arrays import narrow, widen
from dynreg_numpy.runtime.special._unary import _scipy, digamma

if TYPE_CHECKING:
    from dynreg_numpy.runtime._arrays import Array


def xlogy(x: Array, y: Array) -> Array:
    """Return x log(y), 0 where x is 0 and y is not NaN, as ``aten.xlogy`` does.

    Args:
        x: floating; broadcasts with ``y``.
        y: of the same dtype.

    Returns:
        An array of the broadcast shape.
    """
    return _call("xlogy", x, y)


def xlog1py(x: Array, y: Array) -> Array:
    """Return x log(1 + y), 0 where x is 0 and y is not NaN, as ``aten.special_xlog1py`` does.

    Args:
        x: floating; broadcasts with ``y``.
        y: of the same dtype.

    Returns:
        An array of the broadcast shape.
    """
    return _call("xlog1py", x, y)


def zeta(x: Array, q: Array) -> Array:
    """Return the Hurwitz zeta function, the sum of (k + q)^-x, as ``aten.special_zeta`` does.

    Args:
        x: the exponent, floating; broadcasts with ``q``.
        q: the offset, of the same dtype.

    Returns:
        An array of the broadcast shape; for an exponent above 1, NaN at the offset inf, and inf at
        -inf, as at all poles.
    """
    result = _call("zeta", x, q)
    infinite = np.isinf(widen(np.asarray(q))) & (widen(np.asarray(x)) > 1)
    kind = result.dtype.type
    return np.where(infinite, np.where(q > 0, kind(np.nan), kind(np.inf)), result)


def igamma(a: Array, x: Array) -> Array:
    """Return the regularised lower incomplete gamma function, as ``aten.igamma`` does.

    Args:
        a: the order, floating; broadcasts with ``x``.
        x: the limit, of the same dtype.

    Returns:
        An array of the broadcast shape; torch decides at the ends before it looks for NaN.
    """
    return _incomplete("gammainc", a, x, 0.0)


def igammac(a: Array, x: Array) -> Array:
    """Return the regularised upper incomplete gamma function, as ``aten.igammac`` does.

    Args:
        a: the order, floating; broadcasts with ``x``.
        x: the limit, of the same dtype.

    Returns:
        An array of the broadcast shape; torch decides at the ends before it looks for NaN.
    """
    return _incomplete("gammaincc", a, x, 1.0)


def _incomplete(name: str, a: Array, x: Array, start: float) -> Array:
    result = _call(name, a, x)
    a, x = widen(np.asarray(a)), widen(np.asarray(x))
    low = (np.isnan(a) & (x == 0)) | ((a == np.inf) & np.isnan(x))
    high = np.isnan(a) & (x == np.inf)
    kind = result.dtype.type
    return np.where(low, kind(start), np.where(high, kind(1 - start), result))


def _call(name: str, x: Array, y: Array) -> Array:
    x, y = np.asarray(x), np.asarray(y)
    result = np.asarray(_scipy(name)(widen(x), widen(y)))
    return narrow(result, np.result_type(x.dtype, y.dtype))


def polygamma(n: int, x: Array) -> Array:
    """Return the n-th derivative of digamma, as ``aten.polygamma`` does.

    Args:
        n: the order, not negative.
        x: floating, any shape.

    Returns:
        An array like ``x``.

    Raises:
        RuntimeError: the order is negative.
    """
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    if n == 0:
        return digamma(x)
    if n == 1:
        return _trigamma(x)
    wide = widen(np.asarray(x))
    sign = 1 if n % 2 else -1
    kind = wide.dtype.type
    return narrow(kind(sign * math.gamma(n + 1)) * zeta(kind(n + 1), wide), x.dtype)


def _trigamma(x: Array) -> Array:
    """Sum the asymptotic series (DLMF 5.15.8) six steps up, after a reflection below 1/2.

    In the array's own precision: at the poles torch's result is large, and not infinite, because
    sin(πx) is not zero there.
    """
    wide = widen(np.asarray(x))
    kind = wide.dtype.type
    reflect = wide < 0.5
    pole = (kind(math.pi) / np.sin(kind(math.pi) * wide)) ** 2
    result = np.where(reflect, -pole, kind(0))
    place = np.where(reflect, 1 - wide, wide)
    for _ in range(6):
        result += 1 / (place * place)
        place = place + 1
    inverse = 1 / (place * place)
    tail = 1 / kind(6) - inverse * (1 / kind(30) - inverse * (1 / kind(42)))
    result += (1 + 1 / (2 * place) + inverse * tail) / place
    return narrow(np.where(reflect, -result, result), x.dtype)
