"""Chebyshev polynomials of the four kinds, plain and shifted to [0, 1].

Inside (-1, 1) high degrees come from their trigonometric forms (DLMF, section 18.5), as in torch:
the recurrence would take as many steps as the degree, and lose digits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dynreg_numpy.runtime.special._polynomials import _arguments, _at_ends, _recurrence

if TYPE_CHECKING:
    from collections.abc import Callable

    from dynreg_numpy.runtime._arrays import Array

_DEGREES = {"t": 6, "u": 8, "v": 8, "w": 8}
_FIRST: dict[str, Callable[[Any], Any]] = {
    "t": lambda x: x,
    "u": lambda x: x + x,
    "v": lambda x: x + x - 1,
    "w": lambda x: x + x + 1,
}
#: The value at an angle whose cosine is x.
_ANGLE: dict[str, Callable[[Any, Any], Any]] = {
    "t": lambda n, a: np.cos(n * a),
    "u": lambda n, a: np.sin((n + 1) * a) / np.sin(a),
    "v": lambda n, a: np.cos((n + 0.5) * a) / np.cos(a / 2),
    "w": lambda n, a: np.sin((n + 0.5) * a) / np.sin(a / 2),
}
#: The values at 1 and at -1, the latter but for the sign (-1)^n: factors of n, added to 1.
_ENDS = {"t": (0, 0), "u": (1, 1), "v": (0, 2), "w": (2, 0)}


def _polynomial(kind: str, x: Array, degree: Array) -> Array:
    inside = (np.abs(x) < 1) & (degree > _DEGREES[kind])
    low = np.where(inside | (np.abs(x) == 1), 0, degree)
    result = _recurrence(x, low, _FIRST[kind](x), _step)
    if inside.any():
        angle = np.arccos(np.where(inside, x, 0.5))
        high = _ANGLE[kind](degree.astype(x.dtype), angle)
        result = np.where(inside, high.astype(x.dtype, copy=False), result)
    right, left = (factor * degree + 1 for factor in _ENDS[kind])
    sign = np.where(degree % 2 == 0, 1, -1)
    result = _at_ends(result, degree, (x == 1, right), (x == -1, left * sign))
    return np.where(degree < 0, x.dtype.type(0), result)


def _step(x: Array, k: int, now: Array, before: Array) -> Array:
    del k
    return np.asarray((x + x) * now - before)


def _plain(kind: str, ordinal: str) -> Callable[[Array, Array], Array]:
    def kernel(x: Array, n: Array) -> Array:
        return _polynomial(kind, *_arguments(x, n))

    kernel.__name__ = kernel.__qualname__ = f"chebyshev_polynomial_{kind}"
    kernel.__doc__ = _DOC.format(what=f"Chebyshev polynomial of the {ordinal} kind")
    return kernel


def _shifted(kind: str, ordinal: str) -> Callable[[Array, Array], Array]:
    def kernel(x: Array, n: Array) -> Array:
        x, degree = _arguments(x, n)
        return _polynomial(kind, x + x - 1, degree)

    kernel.__name__ = kernel.__qualname__ = f"shifted_chebyshev_polynomial_{kind}"
    kernel.__doc__ = _DOC.format(what=f"Chebyshev polynomial of the {ordinal} kind at 2x - 1")
    return kernel


_DOC = """Return the {what}.

Args:
    x: floating; broadcasts with ``n``.
    n: the degree, truncated to an integer.

Returns:
    An array of the broadcast shape; 0 below degree 0.
"""

chebyshev_polynomial_t = _plain("t", "first")
chebyshev_polynomial_u = _plain("u", "second")
chebyshev_polynomial_v = _plain("v", "third")
chebyshev_polynomial_w = _plain("w", "fourth")
shifted_chebyshev_polynomial_t = _shifted("t", "first")
shifted_chebyshev_polynomial_u = _shifted("u", "second")
shifted_chebyshev_polynomial_v = _shifted("v", "third")
shifted_chebyshev_polynomial_w = _shifted("w", "fourth")
