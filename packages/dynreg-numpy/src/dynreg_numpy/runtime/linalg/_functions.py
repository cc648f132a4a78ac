"""Determinants, exponentials and products of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dynreg_numpy.runtime._arrays import narrow, widen
from dynreg_numpy.runtime.linalg._factor import lu_factor_ex

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


def matrix_exp(a: Array) -> Array:
    r"""Return the exponential of matrices (\*, n, n), as ``aten.linalg_matrix_exp`` does."""
    if a.size == 0:
        return a.copy()
    if a.shape[-1] == 1:
        return np.exp(a)
    from scipy.linalg import expm

    return narrow(np.asarray(expm(widen(a))), a.dtype)


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
