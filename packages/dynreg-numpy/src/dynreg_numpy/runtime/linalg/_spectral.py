"""Singular values and eigenvalues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from dynreg_numpy.runtime.linalg._lapack import LinAlgError

if TYPE_CHECKING:
    from dynreg_numpy.runtime._arrays import Array


def svd(
    x: Array, full_matrices: bool = False, compute_uv: bool = True
) -> tuple[Array, Array, Array]:
    r"""Decompose by singular values, as ``aten._linalg_svd`` does.

    Args:
        x: (\*, m, n).
        full_matrices: return square U and Vᴴ.
        compute_uv: compute U and Vᴴ.

    Returns:
        U (\*, m, k or m), the singular values (\*, k), and Vᴴ (\*, k or n, n), with k =
        min(m, n); U and Vᴴ are (0,) if not computed.

    Raises:
        LinAlgError: the matrix has an element that is not finite, or the algorithm does not
            converge.
    """
    if not np.isfinite(x).all():
        raise LinAlgError(
            "linalg.svd: The algorithm failed to converge because the input matrix contained "
            "non-finite values."
        )
    try:
        if compute_uv:
            u, s, vh = np.linalg.svd(x, full_matrices=full_matrices)
            return u, s, vh
        nothing = np.empty(0, x.dtype)
        return nothing, np.linalg.svd(x, compute_uv=False), nothing
    except np.linalg.LinAlgError as error:
        raise _no_convergence("linalg.svd", "singular values") from error


def eigh(x: Array, uplo: str = "L", compute_v: bool = True) -> tuple[Array, Array]:
    r"""Decompose Hermitian matrices, as ``aten._linalg_eigh`` does.

    Args:
        x: (\*, n, n).
        uplo: the triangle to read, "L" or "U".
        compute_v: compute the eigenvectors.

    Returns:
        The real eigenvalues, ascending (\*, n); the eigenvectors in columns, like ``x``, or (0,)
        if not computed.

    Raises:
        LinAlgError: the algorithm does not converge.
    """
    triangle: Literal["L", "U"] = "U" if uplo.upper() == "U" else "L"
    if not np.isfinite(x).all():
        raise _no_convergence("linalg.eigh", "eigenvalues")
    try:
        if compute_v:
            values, vectors = np.linalg.eigh(x, triangle)
            return values, vectors
        return np.linalg.eigvalsh(x, triangle), np.empty(0, x.dtype)
    except np.linalg.LinAlgError as error:
        raise _no_convergence("linalg.eigh", "eigenvalues") from error


def eig(x: Array) -> tuple[Array, Array]:
    r"""Decompose square matrices, as ``aten.linalg_eig`` does.

    Args:
        x: (\*, n, n).

    Returns:
        The complex eigenvalues (\*, n), and eigenvectors in columns (\*, n, n).

    Raises:
        RuntimeError: an element is not finite.
        LinAlgError: the algorithm does not converge.
    """
    _check_finite(x)
    try:
        values, vectors = np.linalg.eig(x)
    except np.linalg.LinAlgError as error:
        raise _no_convergence("linalg.eig", "eigenvalues") from error
    kind = np.result_type(x.dtype, np.complex64)
    return values.astype(kind, copy=False), vectors.astype(kind, copy=False)


def eigvals(x: Array) -> Array:
    r"""Return the eigenvalues of square matrices, as ``aten.linalg_eigvals`` does.

    Args:
        x: (\*, n, n).

    Returns:
        The complex eigenvalues (\*, n).

    Raises:
        RuntimeError: an element is not finite.
        LinAlgError: the algorithm does not converge.
    """
    _check_finite(x)
    try:
        values = np.linalg.eigvals(x)
    except np.linalg.LinAlgError as error:
        raise _no_convergence("linalg.eig", "eigenvalues") from error
    return values.astype(np.result_type(x.dtype, np.complex64), copy=False)


def _check_finite(x: Array) -> None:
    if not np.isfinite(x).all():
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")


def _no_convergence(name: str, values: str) -> LinAlgError:
    return LinAlgError(
        f"{name}: The algorithm failed to converge because the input matrix is ill-conditioned or "
        f"has too many repeated {values}."
    )
