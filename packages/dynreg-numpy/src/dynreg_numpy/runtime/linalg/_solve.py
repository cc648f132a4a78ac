"""Systems of equations and inverses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dynreg_numpy.runtime.linalg._factor import lu_factor_ex
from dynreg_numpy.runtime.linalg._lapack import (
    blas,
    check_errors,
    lapack,
    matrices,
    mirrored,
)

if TYPE_CHECKING:
    from dynreg_numpy.runtime._arrays import Array


def solve_triangular(
    a: Array, b: Array, upper: bool, left: bool = True, unitriangular: bool = False
) -> Array:
    r"""Solve AX = B for triangular A, as ``aten.linalg_solve_triangular`` does.

    Args:
        a: (\*, n, n); broadcasts with ``b`` but for its matrices.
        b: (\*, n, k), or (\*, k, n) if not ``left``.
        upper: which triangle to read.
        left: solve AX = B, and not XA = B.
        unitriangular: take the diagonal for ones.

    Returns:
        An array of the broadcast shape of ``b``; infinite where the diagonal is zero.
    """
    a, b = broadcast_batch(a, b)
    result = np.empty(b.shape, b.dtype)
    trsm = blas("trsm", b.dtype)
    if result.size:
        for at in matrices(b.shape):
            result[at] = trsm(1, a[at], b[at], side=not left, lower=not upper, diag=unitriangular)
    return result


def triangular_solve(
    b: Array, a: Array, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> tuple[Array, Array]:
    r"""Solve AX = B for triangular A, as ``aten.triangular_solve`` does.

    Args:
        b: (\*, n, k); broadcasts with ``a`` but for its matrices.
        a: (\*, n, n).
        upper: which triangle to read.
        transpose: solve AᵀX = B.
        unitriangular: take the diagonal for ones.

    Returns:
        The solution, and a copy of ``a``.
    """
    matrix = a.swapaxes(-1, -2) if transpose else a
    solution = solve_triangular(matrix, b, upper != transpose, True, unitriangular)
    return solution, np.array(np.broadcast_to(a, (*solution.shape[:-2], *a.shape[-2:])))


def broadcast_batch(a: Array, b: Array) -> tuple[Array, Array]:
    """Broadcast the batches of two arrays of matrices."""
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return (
        np.broadcast_to(a, (*batch, *a.shape[-2:])),
        np.broadcast_to(b, (*batch, *b.shape[-2:])),
    )


def lu_solve(lu: Array, pivots: Array, b: Array, left: bool = True, adjoint: bool = False) -> Array:
    r"""Solve with the factors of ``lu_factor_ex``, as ``aten.linalg_lu_solve`` does.

    Args:
        lu: (\*, n, n); broadcasts with ``b`` but for its matrices.
        pivots: (\*, n).
        b: (\*, n, k), or (\*, k, n) if not ``left``.
        left: solve AX = B, and not XA = B.
        adjoint: solve with Aᴴ.

    Returns:
        An array of the broadcast shape of ``b``.
    """
    if not left:
        # XA = B is AᴴXᴴ = Bᴴ.
        return mirrored(lu_solve(lu, pivots, mirrored(b), True, not adjoint))
    lu, b = broadcast_batch(lu, b)
    pivots = np.broadcast_to(pivots, (*b.shape[:-2], pivots.shape[-1]))
    result = np.empty(b.shape, b.dtype)
    getrs = lapack("getrs", b.dtype)
    if result.size:
        for at in matrices(b.shape):
            result[at] = getrs(lu[at], pivots[at] - 1, b[at], trans=2 if adjoint else 0)[0]
    return result


def solve_ex(
    a: Array,
    b: Array,
    left: bool = True,
    check: bool = False,
) -> tuple[Array, Array, Array, Array]:
    r"""Solve AX = B, as ``aten._linalg_solve_ex`` does.

    Args:
        a: (\*, n, n).
        b: (\*, n, k), or (\*, k, n) if not ``left``; or vectors (\*, n), if ``b`` is 1-d or has
            the shape of ``a`` but for its last dimension.
        left: solve AX = B, and not XA = B.
        check: raise where ``info`` is not zero.

    Returns:
        The solution; and what ``lu_factor_ex`` returns. Of a singular matrix the solution is not
        finite.

    Raises:
        LinAlgError: see ``check``.
    """
    vector = b.ndim == 1 or (a.ndim - 1 == b.ndim and b.shape == a.shape[:-1])
    columns = b[..., None] if vector else b
    lu, pivots, info = lu_factor_ex(a)
    solution = lu_solve(lu, pivots, columns, left or vector)
    if check:
        check_errors(info, "torch.linalg.solve_ex", a.ndim == 2)
    return (solution[..., 0] if vector else solution), lu, pivots, info


def inv_ex(a: Array, check: bool = False) -> tuple[Array, Array]:
    r"""Invert matrices, as ``aten.linalg_inv_ex`` does.

    Args:
        a: (\*, n, n).
        check: raise where ``info`` is not zero.

    Returns:
        The inverses, not finite for singular matrices; and the int32 number, from 1, of the first
        zero on the diagonal of U (\*), zero for none.

    Raises:
        LinAlgError: see ``check``.
    """
    try:
        return np.linalg.inv(a), np.zeros(a.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        pass
    eye = np.eye(a.shape[-1], dtype=a.dtype)
    result, _, _, info = solve_ex(a, np.broadcast_to(eye, a.shape), check=False)
    if check:
        check_errors(info, "linalg.inv_ex", a.ndim == 2)
    return result, info


def cholesky_solve(b: Array, factor: Array, upper: bool = False) -> Array:
    r"""Solve with a Cholesky factor, as ``aten.cholesky_solve`` does.

    Args:
        b: (\*, n, k); broadcasts with ``factor`` but for its matrices.
        factor: (\*, n, n).
        upper: which triangle it is.

    Returns:
        An array of the broadcast shape of ``b``.
    """
    first = solve_triangular(mirrored(factor) if upper else factor, b, False)
    return solve_triangular(factor if upper else mirrored(factor), first, True)
