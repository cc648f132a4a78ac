"""Orthogonal polynomials of integer degree, by their three-term recurrences.

NIST Digital Library of Mathematical Functions, section 18.9, lists the recurrences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from dynreg_numpy.runtime._arrays import Array


def _recurrence(
    x: Array, degree: Array, first: Array, step: Callable[[Array, int, Array, Array], Array]
) -> Array:
    """Return the polynomials of each ``degree``, with 1 for 0, ``first`` for 1, 0 below.

    ``step(x, k, now, before)`` makes that of degree k + 1 from those of k and k - 1.
    """
    result = np.where(degree == 0, np.ones_like(x), np.zeros_like(x))
    result = np.where(degree == 1, first, result)
    before, now = np.ones_like(x), first
    for k in range(1, int(degree.max(initial=0))):
        before, now = now, step(x, k, now, before)
        result = np.where(degree == k + 1, now, result)
    return result


def _arguments(x: Any, n: Any) -> tuple[Array, Array]:
    """Broadcast the argument and the degree, which is truncated to an integer."""
    x, n = np.broadcast_arrays(np.asarray(x), np.asarray(n))
    return x, np.nan_to_num(np.trunc(n)).astype(np.int64)


def hermite_polynomial_h(x: Array, n: Array) -> Array:
    """Return the physicists' Hermite polynomial, as ``aten.special_hermite_polynomial_h`` does.

    Args:
        x: floating; broadcasts with ``n``.
        n: the degree, truncated to an integer.

    Returns:
        An array of the broadcast shape; 0 below degree 0, and NaN beyond the degree whose values
        overflow, 128 in float32 and 512 in float64.
    """
    x, degree = _arguments(x, n)

    def step(x: Array, k: int, now: Array, before: Array) -> Array:
        return np.asarray((x + x) * now - (k + k) * before)

    return _hermite(x, degree, x + x, step)


def hermite_polynomial_he(x: Array, n: Array) -> Array:
    """Return the probabilists' Hermite polynomial: ``aten.special_hermite_polynomial_he``.

    Args:
        x: floating; broadcasts with ``n``.
        n: the degree, truncated to an integer.

    Returns:
        An array of the broadcast shape; see :func:`hermite_polynomial_h` for large degrees.
    """
    x, degree = _arguments(x, n)

    def step(x: Array, k: int, now: Array, before: Array) -> Array:
        return np.asarray(x * now - k * before)

    return _hermite(x, degree, x, step)


def _hermite(
    x: Array, degree: Array, first: Array, step: Callable[[Array, int, Array, Array], Array]
) -> Array:
    limit = 512 if x.dtype == np.float64 else 128
    result = _recurrence(x, np.where(degree > limit, 0, degree), first, step)
    return np.where(degree > limit, x.dtype.type(np.nan), result)


def laguerre_polynomial_l(x: Array, n: Array) -> Array:
    """Return the Laguerre polynomial, as ``aten.special_laguerre_polynomial_l`` does.

    Args:
        x: floating; broadcasts with ``n``.
        n: the degree, truncated to an integer.

    Returns:
        An array of the broadcast shape; 0 below degree 0.
    """
    x, degree = _arguments(x, n)

    def step(x: Array, k: int, now: Array, before: Array) -> Array:
        return np.asarray(((k + k + 1 - x) * now - k * before) / (k + 1))

    return _at_ends(_recurrence(x, degree, 1 - x, step), degree, (x == 0, 1))


def legendre_polynomial_p(x: Array, n: Array) -> Array:
    """Return the Legendre polynomial, as ``aten.special_legendre_polynomial_p`` does.

    Args:
        x: floating; broadcasts with ``n``.
        n: the degree, truncated to an integer.

    Returns:
        An array of the broadcast shape; 0 below degree 0.
    """
    x, degree = _arguments(x, n)

    def step(x: Array, k: int, now: Array, before: Array) -> Array:
        return np.asarray(((k + k + 1) * x * now - k * before) / (k + 1))

    sign = np.where(degree % 2 == 0, 1, -1)
    return _at_ends(_recurrence(x, degree, x, step), degree, (x == 1, 1), (x == -1, sign))


def _at_ends(result: Array, degree: Array, *ends: tuple[Array, Any]) -> Array:
    """Set exact values where they are known, for degrees from 0."""
    kind = result.dtype.type
    for where, value in ends:
        result = np.where(where & (degree >= 0), np.asarray(value).astype(kind), result)
    return result
