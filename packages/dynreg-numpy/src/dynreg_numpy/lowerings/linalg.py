"""Linear algebra on batches of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from dynreg_numpy.lowering import Builder, kernels, lowers

if TYPE_CHECKING:
    from dynreg_numpy.ir import Argument, Value

aten = torch.ops.aten

kernels(
    {
        aten.linalg_cholesky_ex.default: ("linalg.cholesky_ex", "self upper check_errors"),
        aten.cholesky.default: "linalg.cholesky",
        aten.cholesky_inverse.default: "linalg.cholesky_inverse",
        aten.cholesky_solve.default: "linalg.cholesky_solve",
        aten.linalg_qr.default: "linalg.qr",
        aten.geqrf.default: "linalg.geqrf",
        aten.linalg_householder_product.default: "linalg.householder_product",
        aten.ormqr.default: "linalg.ormqr",
        aten.linalg_lu_factor_ex.default: ("linalg.lu_factor_ex", "A pivot check_errors"),
        aten.linalg_lu.default: ("linalg.lu", "A pivot"),
        aten.lu_unpack.default: "linalg.lu_unpack",
        aten.linalg_lu_solve.default: ("linalg.lu_solve", "LU pivots B left adjoint"),
        aten._linalg_solve_ex.default: ("linalg.solve_ex", "A B left check_errors"),
        aten.linalg_inv_ex.default: ("linalg.inv_ex", "A check_errors"),
        aten.linalg_solve_triangular.default: (
            "linalg.solve_triangular",
            "self B upper left unitriangular",
        ),
        aten.triangular_solve.default: "linalg.triangular_solve",
        aten.linalg_ldl_factor_ex.default: ("linalg.ldl_factor_ex", "self hermitian check_errors"),
        aten.linalg_ldl_solve.default: ("linalg.ldl_solve", "LD pivots B hermitian"),
        aten.linalg_lstsq.default: ("linalg.lstsq", "self b rcond driver"),
        aten.linalg_pinv.atol_rtol_tensor: ("linalg.pinv", "self atol rtol hermitian"),
        aten._linalg_svd.default: ("linalg.svd", "A full_matrices compute_uv"),
        aten._linalg_eigh.default: "linalg.eigh",
        aten.linalg_eig.default: "linalg.eig",
        aten._linalg_eigvals.default: "linalg.eigvals",
        aten.linalg_eigvals.default: "linalg.eigvals",
        aten.linalg_matrix_exp.default: "linalg.matrix_exp",
        aten.linalg_cross.default: ("linalg.cross", "self other dim"),
    }
)


@lowers(aten._linalg_det.default)
def det(b: Builder, x: Value) -> tuple[Any, ...]:
    return b.call_many("linalg.det", x)


@lowers(aten._linalg_slogdet.default)
def slogdet(b: Builder, x: Value) -> tuple[Any, ...]:
    return b.call_many("linalg.slogdet", x)


@lowers(aten._linalg_check_errors.default)
def check_errors(b: Builder, info: Value, api_name: str, *, is_matrix: bool) -> None:
    b.effect("linalg.check_errors", info, api_name, is_matrix)


@lowers(aten.linalg_vector_norm.default)
def vector_norm(
    b: Builder,
    x: Value,
    order: Argument = 2,
    dim: Any = None,
    keepdim: bool = False,
    **_: Any,
) -> Value:
    axes = (
        tuple(range(x.ndim))
        if dim is None or dim in ((), [])
        else tuple(dim if isinstance(dim, (tuple, list)) else (dim,))
    )
    return b.call("reductions.vector_norm", x, order, axes, keepdim, b.out.dtype)
