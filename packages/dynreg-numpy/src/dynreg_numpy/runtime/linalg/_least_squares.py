"""Least squares and pseudo-inverses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dynreg_numpy.runtime.linalg._lapack import LinAlgError, matrices, mirrored
from dynreg_numpy.runtime.linalg._solve import broadcast_batch

if TYPE_CHECKING:
    from dynreg_numpy.runtime._arrays import Array


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
    a, columns = broadcast_batch(a, b[..., None] if vector else b)
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
