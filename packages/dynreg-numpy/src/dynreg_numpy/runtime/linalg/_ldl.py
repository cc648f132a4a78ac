"""The factorisation of symmetric matrices by Bunch and Kaufman."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dynreg_numpy.runtime.linalg._lapack import check_errors, lapack, matrices

if TYPE_CHECKING:
    from dynreg_numpy.runtime._arrays import Array


def ldl_factor_ex(
    x: Array, hermitian: bool = False, check: bool = False
) -> tuple[Array, Array, Array]:
    r"""Factor symmetric matrices by Bunch and Kaufman, as ``aten.linalg_ldl_factor_ex`` does.

    Args:
        x: (\*, n, n), of which the lower triangle is read.
        hermitian: whether complex matrices are Hermitian and not symmetric.
        check: raise where ``info`` is not zero.

    Returns:
        L and D in the lower triangle, like ``x``; LAPACK's int32 pivots (\*, n); and the int32
        number, from 1, of the first zero block of D (\*), zero for none.

    Raises:
        RuntimeError: see ``check``.
    """
    result = np.zeros(x.shape, x.dtype)
    pivots = np.empty(x.shape[:-1], np.int32)
    info = np.zeros(x.shape[:-2], np.int32)
    sytrf = lapack(_symmetric("trf", x, hermitian), x.dtype)
    if result.size:
        for at in matrices(x.shape):
            factor, pivots[at], info[at] = sytrf(x[at], lower=True)
            result[at] = np.tril(factor)
    if check:
        check_errors(info, "torch.linalg.ldl_factor_ex", x.ndim == 2)
    return result, pivots, info


def ldl_solve(ld: Array, pivots: Array, b: Array, hermitian: bool = False) -> Array:
    r"""Solve with the factors of :func:`ldl_factor_ex`, as ``aten.linalg_ldl_solve`` does.

    Args:
        ld: (\*, n, n); broadcasts with ``b`` but for its matrices.
        pivots: (\*, n).
        b: (\*, n, k).
        hermitian: see :func:`ldl_factor_ex`.

    Returns:
        (\*, n, k).
    """
    batch = np.broadcast_shapes(ld.shape[:-2], b.shape[:-2])
    ld = np.broadcast_to(ld, (*batch, *ld.shape[-2:]))
    pivots = np.broadcast_to(pivots, (*batch, pivots.shape[-1]))
    b = np.broadcast_to(b, (*batch, *b.shape[-2:]))
    result = np.empty(b.shape, b.dtype)
    sytrs = lapack(_symmetric("trs", ld, hermitian), ld.dtype)
    if result.size:
        for at in matrices(b.shape):
            result[at] = sytrs(ld[at], pivots[at], b[at], lower=True)[0]
    return result


def _symmetric(routine: str, x: Array, hermitian: bool) -> str:
    return ("he" if hermitian and x.dtype.kind == "c" else "sy") + routine
