"""Determinants, exponentials and products of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dynreg_numpy.runtime._arrays import narrow, widen
from dynreg_numpy.runtime.linalg._factor import lu_factor_ex
from dynreg_numpy.runtime.matrix import sequential_matmul

if TYPE_CHECKING:
    from dynreg_numpy.runtime._arrays import Array


def det(a: Array, *, transposed: bool = False) -> tuple[Array, Array, Array]:
    r"""Return determinants, as ``aten._linalg_det`` does.

    Args:
        a: (\*, n, n).
        transposed: return the factors of the transposed matrices, as torch does for real matrices
            that are contiguous when it traces. (Their layout here need not be the same.)

    Returns:
        The determinants (\*), and the factors and pivots of ``lu_factor_ex``.
    """
    lu, pivots, _ = lu_factor_ex(a.swapaxes(-1, -2) if transposed else a)
    diagonal = lu.diagonal(axis1=-2, axis2=-1)
    return np.asarray(_parity(pivots, a) * diagonal.prod(-1)).astype(a.dtype), lu, pivots


def slogdet(a: Array, *, transposed: bool = False) -> tuple[Array, Array, Array, Array]:
    r"""Return signs and logarithms of determinants, as ``aten._linalg_slogdet`` does.

    Args:
        a: (\*, n, n).
        transposed: return the factors of the transposed matrices; see :func:`det`.

    Returns:
        The signs, complex for complex matrices, and the real logarithms of the absolute values,
        (\*) each; and the factors and pivots of ``lu_factor_ex``.
    """
    lu, pivots, _ = lu_factor_ex(a.swapaxes(-1, -2) if transposed else a)
    diagonal = lu.diagonal(axis1=-2, axis2=-1)
    sign = np.asarray(_parity(pivots, a) * np.sign(diagonal).prod(-1)).astype(a.dtype)
    size = np.asarray(np.log(np.abs(diagonal)).sum(-1))
    return sign, size.astype(diagonal.real.dtype), lu, pivots


def _parity(pivots: Array, a: Array) -> Array:
    """Return 1 or -1 for an even or odd number of exchanges."""
    moved = (pivots != np.arange(1, a.shape[-1] + 1)).sum(-1)
    return np.asarray(1 - 2 * (moved % 2))


# Coefficients of I, A, A^2, A^3 and A^6 in the five factors of a Taylor polynomial of degree 18
# that needs five products. Source: P. Bader, S. Blanes and F. Casas, "Computing the Matrix
# Exponential with an Optimized Taylor Polynomial Approximation", Mathematics 7 (2019) 1174,
# table 3.
_TAYLOR_18 = (
    (0.0, -0.100365581030144618291, -0.00802924648241156932449, -0.000892138498045729985177, 0.0),
    (
        0.0,
        0.397849749499645077844,
        1.36783778460411720168,
        0.498289622525382669416,
        -0.000637898194594723280150,
    ),
    (
        -10.9676396052962061844,
        1.68015813878906206114,
        0.0571779846478865511061,
        -0.00698210122488052056106,
        0.0000334975017086070470649,
    ),
    (
        -0.0904316832390810593223,
        -0.0676404519071381882256,
        0.0675961301770459654925,
        0.0295552570429315521194,
        -0.0000139180257516060693404,
    ),
    (
        0.0,
        0.0,
        -0.0923364619367118555360,
        -0.0169364939002081722752,
        -0.0000140086798182036094347,
    ),
)
# The largest 1-norm for which the polynomial is exact to rounding: table 4 of the same.
_LARGEST_NORM = {"f": 3.010066362817634, "d": 1.090863719290036}


def matrix_exp(a: Array) -> Array:
    r"""Return the exponential of matrices (\*, n, n), as ``aten.linalg_matrix_exp`` does.

    By a Taylor polynomial, scaling and squaring, as torch does. Squaring doubles the relative error
    each time, so that another method would differ from torch's by more than rounding.
    """
    if a.size == 0:
        return a.copy()
    norm = np.abs(widen(a)).sum(-2).max(-1)
    largest = _LARGEST_NORM["f" if a.dtype.char in "fF" else "d"]
    with np.errstate(divide="ignore", invalid="ignore"):
        exponent = np.ceil(np.log2(norm / largest))
    squarings = np.where(np.isfinite(exponent), np.maximum(exponent, 0), 0).astype(np.int64)
    scale = np.ldexp(np.ones_like(norm), -squarings)[..., None, None]
    result = _taylor_18(narrow(scale * widen(a), a.dtype))
    for done in range(squarings.max()):
        again = (squarings > done)[..., None, None]
        result = np.where(again, sequential_matmul(result, result), result)
    return result


def _taylor_18(x: Array) -> Array:
    square = sequential_matmul(x, x)
    cube = sequential_matmul(x, square)
    powers = np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape), x, square, cube
    sixth = sequential_matmul(cube, cube)
    first, second, third, fourth, fifth = (
        sum(
            power * x.real.dtype.type(factor)
            for factor, power in zip(row, (*powers, sixth), strict=True)
            if factor
        )
        for row in _TAYLOR_18
    )
    ninth = fourth + sequential_matmul(first, fifth)
    return np.asarray(second + sequential_matmul(third + ninth, ninth))


def cross(x: Array, y: Array, dim: int = -1) -> Array:
    r"""Return the cross product along ``dim``, of length 3, as ``aten.linalg_cross`` does.

    Args:
        x: (\*, 3, \*); broadcasts with ``y``.
        y: of the same dtype.
        dim: the dimension of the three components.

    Returns:
        An array of the broadcast shape.
    """
    x, y = np.broadcast_arrays(x, y)
    first, second = (np.moveaxis(v, dim, 0) for v in (x, y))
    result = np.empty(x.shape, x.dtype)
    parts = np.moveaxis(result, dim, 0)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        parts[i] = first[j] * second[k] - first[k] * second[j]
    return result
