"""Systems of equations, inverses, determinants, least squares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dynreg_numpy.runtime.linalg._factor import lu_factor_ex
from dynreg_numpy.runtime.linalg._lapack import (
    LinAlgError,
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
    a, b = _broadcast(a, b)
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


def _broadcast(a: Array, b: Array) -> tuple[Array, Array]:
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
    lu, b = _broadcast(lu, b)
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


def lstsq(
    a: Array, b: Array, rcond: float | None = None, driver: str | None = None
) -> tuple[Array, Array, Array, Array]:
    r"""Solve in the least-squares sense, as ``aten.linalg_lstsq`` does.

    Args:
        a: (\*, m, n).
        b: (\*, m, k), or vectors (\*, m), if ``b`` is 1-d or has the shape of ``a`` but for its
            last dimension.
        rcond: singular values below this times the largest count as zero; None for the dtype's
            epsilon times max(m, n).
        driver: LAPACK's "gelsy" (None), "gelsd", "gelss", or "gels", which takes full rank.

    Returns:
        The solution (\*, n, k); the squared residuals (\*, k), unless the driver is "gelsy", or m
        <= n, or a rank is not n; the int64 ranks (\*), unless the driver is "gels"; the singular
        values of the drivers that compute them. What is not there is (0,).
    """
    driver = driver or "gelsy"
    vector = b.ndim == 1 or (a.ndim - 1 == b.ndim and b.shape == a.shape[:-1])
    a, columns = _broadcast(a, b[..., None] if vector else b)
    m, n = a.shape[-2:]
    real = a.real.dtype
    limit = float(np.finfo(real).eps) * max(m, n) if rcond is None else rcond
    solution = np.zeros((*a.shape[:-2], n, columns.shape[-1]), a.dtype)
    rank = np.zeros(a.shape[:-2], np.int64)
    values = np.zeros((*a.shape[:-2], min(m, n)), real)
    if a.size:
        for at in matrices(a.shape):
            solution[at], rank[at], values[at] = _lstsq(a[at], columns[at], limit, driver)
    residuals = np.empty(0, real)
    if driver != "gelsy" and m > n and (driver == "gels" or (rank == n).all()):
        gap = np.matmul(a, solution) - columns
        residuals = np.asarray((gap.real**2 + gap.imag**2).sum(-2)).astype(real)
    return (
        solution[..., 0] if vector else solution,
        residuals,
        np.empty(0, np.int64) if driver == "gels" else rank,
        values if driver in ("gelsd", "gelss") else np.empty(0, real),
    )


def _lstsq(a: Array, b: Array, limit: float, driver: str) -> tuple[Any, Any, Any]:
    from scipy.linalg import lstsq as scipy_lstsq

    options: dict[str, Any] = {"lapack_driver": "gelsd" if driver == "gels" else driver}
    x, _, rank, values = scipy_lstsq(a, b, cond=limit, check_finite=False, **options)
    return x, rank, 0 if values is None else values


def pinv(
    a: Array,
    atol: Any = None,
    rtol: Any = None,
    hermitian: bool = False,
) -> Array:
    r"""Return the pseudo-inverse, as ``aten.linalg_pinv.atol_rtol_tensor`` does.

    Args:
        a: (\*, m, n).
        atol: singular values up to this, (\*), are taken for zero; None for 0.
        rtol: … and up to this times the largest; None for the dtype's epsilon times max(m, n), or
            0 if ``atol`` is given and not zero.
        hermitian: whether the matrices are Hermitian, of which the lower triangle is read.

    Returns:
        (\*, n, m).
    """
    if not a.size:
        return np.empty((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype)
    real = a.real.dtype
    absolute = np.asarray(0 if atol is None else atol, real)
    default = float(np.finfo(real).eps) * max(a.shape[-2:])
    relative = np.asarray(np.where(absolute > 0, 0, default) if rtol is None else rtol, real)
    try:
        if hermitian:
            values, vectors = np.linalg.eigh(a)
            u, vh = vectors, mirrored(vectors)
        else:
            u, values, vh = np.linalg.svd(a, full_matrices=False)
    except np.linalg.LinAlgError as error:
        raise LinAlgError(f"linalg.pinv: {error}") from error
    sizes = np.abs(values)
    limit = np.maximum(absolute, relative * sizes.max(-1))[..., None]
    inverse = np.where(sizes > limit, 1 / np.where(sizes > limit, values, 1), 0).astype(real)
    return np.asarray(np.matmul(mirrored(vh) * inverse[..., None, :], mirrored(u)))


def matrix_exp(a: Array) -> Array:
    r"""Return the exponential of matrices (\*, n, n), as ``aten.linalg_matrix_exp`` does."""
    if a.size == 0:
        return a.copy()
    if a.shape[-1] == 1:
        return np.exp(a)
    from scipy.linalg import expm

    return np.asarray(expm(a)).astype(a.dtype, copy=False)


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
