"""Factorisations: Cholesky, QR and LU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dynreg_numpy.runtime.linalg._lapack import check_errors, lapack, matrices, mirrored

if TYPE_CHECKING:
    from dynreg_numpy.runtime._arrays import Array


def cholesky_ex(x: Array, upper: bool = False, check: bool = False) -> tuple[Array, Array]:
    r"""Factor positive-definite matrices, as ``aten.linalg_cholesky_ex`` does.

    Args:
        x: (\*, n, n); one triangle is read.
        upper: factor as UᴴU, from the upper triangle, and not as LLᴴ, from the lower.
        check: raise where ``info`` is not zero.

    Returns:
        The factor, like ``x``, and the int32 order of the first minor that is not
        positive-definite, (\*), zero for none; such a factor is what was done until then.

    Raises:
        LinAlgError: see ``check``.
    """
    try:
        factor = np.linalg.cholesky(x, upper=upper)
        return factor, np.zeros(x.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        pass
    # One of them failed: find out which, and how far each came.
    factor, info = np.empty(x.shape, x.dtype), np.zeros(x.shape[:-2], np.int32)
    potrf = lapack("potrf", x.dtype)
    for at in matrices(x.shape):
        factor[at], info[at] = potrf(x[at], lower=not upper, clean=True)
    if check:
        check_errors(info, "torch.linalg.cholesky_ex", x.ndim == 2)
    return factor, info


def cholesky(x: Array, upper: bool = False) -> Array:
    r"""Factor positive-definite matrices, as ``aten.cholesky`` does.

    Args:
        x: (\*, n, n).
        upper: see :func:`cholesky_ex`.

    Returns:
        The factor, like ``x``.

    Raises:
        LinAlgError: a matrix is not positive-definite.
    """
    factor, info = cholesky_ex(x, upper)
    check_errors(info, "cholesky", x.ndim == 2)
    return factor


def cholesky_inverse(factor: Array, upper: bool = False) -> Array:
    r"""Return the inverse of the matrices that were factored: ``aten.cholesky_inverse``.

    Args:
        factor: (\*, n, n), as :func:`cholesky` gives it.
        upper: which triangle it is.

    Returns:
        An array like ``factor``.

    Raises:
        LinAlgError: a factor is singular.
    """
    result, info = np.empty(factor.shape, factor.dtype), np.zeros(factor.shape[:-2], np.int32)
    if not factor.size:
        return result
    potri = lapack("potri", factor.dtype)
    for at in matrices(factor.shape):
        half, info[at] = potri(factor[at], lower=not upper)
        triangle = np.triu(half) if upper else np.tril(half)
        result[at] = triangle + mirrored(triangle)
        result[at][np.diag_indices(len(half))] = half.diagonal()
    check_errors(info, "cholesky_inverse", factor.ndim == 2)
    return result


def qr(x: Array, mode: str = "reduced") -> tuple[Array, Array]:
    r"""Factor into Q and R, as ``aten.linalg_qr`` does.

    Args:
        x: (\*, m, n).
        mode: "reduced" for k = min(m, n) columns of Q, "complete" for m, "r" for none.

    Returns:
        Q (\*, m, k or m), or (0,) for mode "r"; R (\*, k or m, n).
    """
    if mode == "r":
        return np.empty(0, x.dtype), np.asarray(np.linalg.qr(x, "r"))
    q, r = np.linalg.qr(x, "complete" if mode == "complete" else "reduced")
    return q, r


def geqrf(x: Array) -> tuple[Array, Array]:
    r"""Return Householder reflectors, as ``aten.geqrf`` does.

    Args:
        x: (\*, m, n).

    Returns:
        R above and the reflectors below the diagonal, like ``x``; their factors (\*, min(m, n)).
    """
    reflectors, tau = np.linalg.qr(x, "raw")
    return reflectors.swapaxes(-1, -2), tau


def householder_product(reflectors: Array, tau: Array) -> Array:
    r"""Return the first columns of Q, as ``aten.linalg_householder_product`` does.

    Args:
        reflectors: (\*, m, n), n <= m, as :func:`geqrf` gives them.
        tau: (\*, k), k <= n.

    Returns:
        (\*, m, n).
    """
    result = np.empty(reflectors.shape, reflectors.dtype)
    kind = "un" if result.dtype.kind == "c" else "or"
    orgqr = lapack(f"{kind}gqr", result.dtype)
    if not result.size:
        return result
    for at in matrices(result.shape):
        if tau.shape[-1]:
            result[at] = orgqr(reflectors[at], tau[at])[0]
        else:
            result[at] = np.eye(*result.shape[-2:], dtype=result.dtype)
    return result


def ormqr(
    reflectors: Array, tau: Array, other: Array, left: bool = True, transpose: bool = False
) -> Array:
    r"""Multiply by Q without forming it, as ``aten.ormqr`` does.

    Args:
        reflectors: (\*, m, k), as :func:`geqrf` gives them.
        tau: (\*, k).
        other: (\*, m, n), or (\*, n, m) if not ``left``.
        left: multiply from the left.
        transpose: multiply by the (conjugate) transpose of Q.

    Returns:
        An array like ``other``.
    """
    result = np.empty(other.shape, other.dtype)
    if not result.size:
        return result
    complex_ = result.dtype.kind == "c"
    routine = lapack("unmqr" if complex_ else "ormqr", result.dtype)
    side = "L" if left else "R"
    trans = ("C" if complex_ else "T") if transpose else "N"
    for at in matrices(result.shape):
        size = int(routine(side, trans, reflectors[at], tau[at], other[at], -1)[1][0].real)
        result[at] = routine(side, trans, reflectors[at], tau[at], other[at], size)[0]
    return result


def lu_factor_ex(x: Array, pivot: bool = True, check: bool = False) -> tuple[Array, Array, Array]:
    r"""Factor with row exchanges, as ``aten.linalg_lu_factor_ex`` does.

    Args:
        x: (\*, m, n).
        pivot: exchange rows; torch has nothing else on a CPU.
        check: raise where ``info`` is not zero.

    Returns:
        L below and U on and above the diagonal, like ``x``; the int32 row, from 1, that each row
        was exchanged with (\*, min(m, n)); and the int32 number, from 1, of the first zero on the
        diagonal of U (\*), zero for none.

    Raises:
        RuntimeError: see ``check``; or no pivots are wanted.
    """
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    result = np.empty(x.shape, x.dtype)
    pivots = np.empty((*x.shape[:-2], min(x.shape[-2:])), np.int32)
    info = np.zeros(x.shape[:-2], np.int32)
    getrf = lapack("getrf", x.dtype)
    if result.size:
        for at in matrices(x.shape):
            result[at], pivots[at], info[at] = getrf(x[at])
        pivots += 1
    if check:
        check_errors(info, "torch.linalg.lu_factor_ex", x.ndim == 2)
    return result, pivots, info


def lu_unpack(
    lu: Array, pivots: Array, unpack_data: bool = True, unpack_pivots: bool = True
) -> tuple[Array, Array, Array]:
    r"""Return P, L and U with A = PLU, as ``aten.lu_unpack`` does.

    Args:
        lu: (\*, m, n), as :func:`lu_factor_ex` gives it.
        pivots: (\*, min(m, n)).
        unpack_data: return L and U.
        unpack_pivots: return P.

    Returns:
        P (\*, m, m), L (\*, m, k) and U (\*, k, n) with k = min(m, n); (0,) for what is not wanted.
    """
    m, n = lu.shape[-2:]
    k = min(m, n)
    nothing = np.empty(0, lu.dtype)
    permutation = lower = upper = nothing
    if unpack_data:
        lower = np.tril(lu[..., :k], -1) + np.eye(m, k, dtype=lu.dtype)
        upper = np.triu(lu[..., :k, :])
    if unpack_pivots:
        permutation = np.zeros((*lu.shape[:-1], m), lu.dtype)
        for at in matrices(lu.shape):
            order = np.arange(m)
            for row, other in enumerate(pivots[at] - 1):
                order[[row, other]] = order[[other, row]]
            permutation[at][order, np.arange(m)] = 1
    return permutation, lower, upper


def lu(x: Array, pivot: bool = True) -> tuple[Array, Array, Array]:
    r"""Return P, L and U with A = PLU, as ``aten.linalg_lu`` does.

    Args:
        x: (\*, m, n).
        pivot: see :func:`lu_factor_ex`.

    Returns:
        See :func:`lu_unpack`.

    Raises:
        RuntimeError: no pivots are wanted.
    """
    factors, pivots, _ = lu_factor_ex(x, pivot)
    return lu_unpack(factors, pivots)
