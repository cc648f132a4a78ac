"""Linear algebra on batches of matrices, through NumPy and LAPACK."""

from dynreg_numpy.runtime.linalg._factor import (
    cholesky,
    cholesky_ex,
    cholesky_inverse,
    geqrf,
    householder_product,
    lu,
    lu_factor_ex,
    lu_unpack,
    ormqr,
    qr,
)
from dynreg_numpy.runtime.linalg._functions import cross, det, matrix_exp, slogdet
from dynreg_numpy.runtime.linalg._lapack import LinAlgError, check_errors
from dynreg_numpy.runtime.linalg._ldl import ldl_factor_ex, ldl_solve
from dynreg_numpy.runtime.linalg._least_squares import lstsq, pinv
from dynreg_numpy.runtime.linalg._solve import (
    cholesky_solve,
    inv_ex,
    lu_solve,
    solve_ex,
    solve_triangular,
    triangular_solve,
)
from dynreg_numpy.runtime.linalg._spectral import eig, eigh, eigvals, svd

__all__ = [
    "LinAlgError",
    "check_errors",
    "cholesky",
    "cholesky_ex",
    "cholesky_inverse",
    "cholesky_solve",
    "cross",
    "det",
    "eig",
    "eigh",
    "eigvals",
    "geqrf",
    "householder_product",
    "inv_ex",
    "ldl_factor_ex",
    "ldl_solve",
    "lstsq",
    "lu",
    "lu_factor_ex",
    "lu_solve",
    "lu_unpack",
    "matrix_exp",
    "ormqr",
    "pinv",
    "qr",
    "slogdet",
    "solve_ex",
    "solve_triangular",
    "svd",
    "triangular_solve",
]
