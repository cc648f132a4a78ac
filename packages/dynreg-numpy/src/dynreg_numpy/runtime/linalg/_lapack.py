"""LAPACK through SciPy, matrix by matrix, and the errors that its codes mean."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, cast

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dynreg_numpy.runtime._arrays import Array, DType


class LinAlgError(RuntimeError):
    """A matrix that an algorithm cannot take; stands for ``torch.linalg.LinAlgError``."""


@functools.cache
def lapack(name: str, dtype: DType) -> Callable[..., Any]:
    """Return SciPy's wrapper of a LAPACK routine for ``dtype``."""
    from scipy.linalg import get_lapack_funcs

    function: Any = get_lapack_funcs(name, dtype=dtype)
    return cast("Callable[..., Any]", function)


@functools.cache
def blas(name: str, dtype: DType) -> Callable[..., Any]:
    """Return SciPy's wrapper of a BLAS routine for ``dtype``."""
    from scipy.linalg import get_blas_funcs

    function: Any = get_blas_funcs(name, dtype=dtype)
    return cast("Callable[..., Any]", function)


def matrices(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield the index of each matrix of a batch of ``shape``."""
    return iter(np.ndindex(shape[:-2]))


def mirrored(x: Array) -> Array:
    """Return the conjugate transpose of each matrix."""
    swapped = x.swapaxes(-1, -2)
    return swapped.conj() if x.dtype.kind == "c" else swapped


def check_errors(info: Array, api_name: str, is_matrix: bool) -> None:
    """Raise what LAPACK's codes mean, as ``aten._linalg_check_errors`` does.

    Args:
        info: int32, one code per matrix; zero is success.
        api_name: the function that the user called.
        is_matrix: whether there is one matrix and no batch.

    Raises:
        LinAlgError: a matrix is singular, not positive-definite, or an algorithm did not converge.
        RuntimeError: a factorisation that the user asked for cannot be used.
    """
    codes = np.asarray(info).reshape(-1)
    failed = np.flatnonzero(codes)
    if not len(failed):
        return
    code = int(codes[failed[0]])
    place = "" if is_matrix else f"(Batch element {failed[0]}): "
    for names, error, meaning in _MEANINGS:
        if any(name in api_name for name in names):
            raise error(f"{api_name}: {place}{meaning.format(code=code)}")
    raise RuntimeError(f"{api_name}: Unknown error code: {code}.")


_SINGULAR = (
    "The diagonal element {code} is zero, the inversion could not be completed because the input "
    "matrix is singular."
)
_INDEFINITE = (
    "The factorization could not be completed because the input is not positive-definite "
    "(the leading minor of order {code} is not positive-definite)."
)
_CONVERGENCE = (
    "The algorithm failed to converge because the input matrix is ill-conditioned or has too many "
    "repeated {values} (error code: {{code}})."
)
_DEFICIENT = (
    "The least squares solution could not be computed because the input matrix does not have full "
    "rank (error code: {code})."
)
_UNUSABLE = (
    "U[{code},{code}] is zero and using it on lu_solve would result in a division by zero. If you "
    "still want to perform the factorization, consider calling linalg.lu(A, pivot) or "
    "linalg.lu_factor_ex(A, pivot)"
)
#: What to look for in the name of the function, the error, and the meaning of a positive code.
_MEANINGS: tuple[tuple[tuple[str, ...], type[RuntimeError], str], ...] = (
    (("inv", "cholesky_inverse"), LinAlgError, _SINGULAR),
    (("solve",), LinAlgError, "The solver failed because the input matrix is singular."),
    (("cholesky",), LinAlgError, _INDEFINITE),
    (("svd",), LinAlgError, _CONVERGENCE.format(values="singular values")),
    (("eig",), LinAlgError, _CONVERGENCE.format(values="eigenvalues")),
    (("lstsq",), LinAlgError, _DEFICIENT),
    (("lu_factor",), RuntimeError, _UNUSABLE),
)
