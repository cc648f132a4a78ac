"""Linear algebra against torch."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
import torch

from dynreg_numpy.runtime import linalg
from dynreg_numpy.runtime.matrix import addbmm

aten = torch.ops.aten
DTYPES = pytest.mark.parametrize(
    "dtype", [torch.float64, torch.float32, torch.complex128, torch.complex64], ids=str
)
BATCHES = pytest.mark.parametrize("batch", [(), (2,), (2, 3), (0,)], ids=str)
#: Two LAPACKs add in different orders; single precision loses what the condition number says.
BY_DTYPE = {
    torch.float32: {"rtol": 1e-4, "atol": 1e-4},
    torch.complex64: {"rtol": 1e-4, "atol": 1e-4},
}


def agree(oracle, reference, kernel, *args, **kwargs):
    expected = reference(*args, **kwargs)
    actual = kernel(*oracle.array(args), **{k: oracle.array(v) for k, v in kwargs.items()})
    oracle.agree(actual, expected, BY_DTYPE)


def regular(batch, n, dtype):
    """Matrices far from singular."""
    return torch.randn(*batch, n, n, dtype=dtype) + n * torch.eye(n, dtype=dtype)


def definite(batch, n, dtype):
    x = torch.randn(*batch, n, n, dtype=dtype)
    return x @ x.mH + torch.eye(n, dtype=dtype)


@DTYPES
@BATCHES
@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_agrees(oracle, batch, dtype, upper):
    x = definite(batch, 4, dtype)
    expected = aten.linalg_cholesky_ex(x, upper=upper)
    oracle.agree(linalg.cholesky_ex(x.numpy(), upper), list(expected), BY_DTYPE)
    factor = expected[0]
    agree(oracle, aten.cholesky_inverse, linalg.cholesky_inverse, factor, upper)
    b = torch.randn(*batch, 4, 2, dtype=dtype)
    agree(oracle, aten.cholesky_solve, linalg.cholesky_solve, b, factor, upper)


def test_cholesky_of_an_indefinite_matrix_says_where(oracle):
    x = torch.stack([torch.eye(3), torch.tensor([[1.0, 2, 3], [2, 1, 4], [3, 4, 5]])])
    _, info = linalg.cholesky_ex(x.numpy())
    oracle.agree(info, aten.linalg_cholesky_ex(x)[1])
    message = r"\(Batch element 1\): .* leading minor of order 2 is not positive-definite"
    with pytest.raises(linalg.LinAlgError, match=message):
        linalg.cholesky(x.numpy())
    with pytest.raises(linalg.LinAlgError, match="diagonal element 1 is zero"):
        linalg.cholesky_inverse(np.zeros((2, 2)))


@DTYPES
@BATCHES
@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (3, 3)], ids=str)
@pytest.mark.parametrize("mode", ["reduced", "complete", "r"])
def test_qr_agrees(oracle, batch, shape, dtype, mode):
    x = torch.randn(*batch, *shape, dtype=dtype)
    agree(oracle, aten.linalg_qr, linalg.qr, x, mode)


@DTYPES
@BATCHES
def test_reflectors_agree(oracle, batch, dtype):
    x = torch.randn(*batch, 5, 3, dtype=dtype)
    agree(oracle, aten.geqrf, linalg.geqrf, x)
    a, tau = aten.geqrf(x)
    for count in (0, 2, 3):
        agree(
            oracle, aten.linalg_householder_product, linalg.householder_product, a, tau[..., :count]
        )
    for left in (True, False):
        other = torch.randn(*batch, *((5, 2) if left else (2, 5)), dtype=dtype)
        for transpose in (True, False):
            agree(oracle, aten.ormqr, linalg.ormqr, a, tau, other, left, transpose)


@DTYPES
@BATCHES
@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (3, 3)], ids=str)
def test_lu_agrees(oracle, batch, shape, dtype):
    x = torch.randn(*batch, *shape, dtype=dtype)
    agree(oracle, aten.linalg_lu_factor_ex, linalg.lu_factor_ex, x)
    agree(oracle, aten.linalg_lu, linalg.lu, x)
    lu, pivots, _ = aten.linalg_lu_factor_ex(x)
    for wanted in ((True, True), (False, True), (True, False)):
        agree(oracle, aten.lu_unpack, linalg.lu_unpack, lu, pivots, *wanted)


@DTYPES
@BATCHES
@pytest.mark.parametrize("left", [True, False])
def test_solving_agrees(oracle, batch, dtype, left):
    a = regular(batch, 4, dtype)
    b = torch.randn(*batch, *((4, 2) if left else (2, 4)), dtype=dtype)
    agree(oracle, aten._linalg_solve_ex, linalg.solve_ex, a, b, left=left)
    lu, pivots, _ = aten.linalg_lu_factor_ex(a)
    for adjoint in (True, False):
        agree(
            oracle, aten.linalg_lu_solve, linalg.lu_solve, lu, pivots, b,
            left=left, adjoint=adjoint,
        )  # fmt: skip
    for upper in (True, False):
        for unit in (True, False):
            agree(
                oracle, aten.linalg_solve_triangular, linalg.solve_triangular, a, b,
                upper=upper, left=left, unitriangular=unit,
            )  # fmt: skip


@DTYPES
def test_solving_for_vectors_and_broadcasts_agrees(oracle, dtype):
    a = regular((2,), 4, dtype)
    for b in (torch.randn(2, 4, dtype=dtype), torch.randn(4, dtype=dtype)):
        expected = torch.linalg.solve(a, b)
        oracle.agree(linalg.solve_ex(a.numpy(), b.numpy())[0], expected, BY_DTYPE)
    wide = torch.randn(3, 1, 4, 5, dtype=dtype)
    agree(oracle, aten.linalg_solve_triangular, linalg.solve_triangular, a, wide, upper=True)
    for transpose in (True, False):
        agree(
            oracle, aten.triangular_solve, linalg.triangular_solve, wide[0], a[:1], False, transpose
        )


def test_a_singular_matrix_gives_a_code():
    singular = np.zeros((3, 3))
    singular[0, 0] = 1
    inverse, info = linalg.inv_ex(singular)
    assert info == 2
    assert not np.isfinite(inverse).all()
    solution, *_, info = linalg.solve_ex(singular, np.ones((3, 1)))
    assert info == 2
    assert not np.isfinite(solution).all()


@DTYPES
@BATCHES
def test_inverses_and_determinants_agree(oracle, batch, dtype):
    a = regular(batch, 4, dtype)
    agree(oracle, aten.linalg_inv_ex, linalg.inv_ex, a)
    contiguous = not dtype.is_complex
    oracle.agree(linalg.det(a.numpy(), transposed=contiguous), list(aten._linalg_det(a)), BY_DTYPE)
    oracle.agree(
        linalg.slogdet(a.numpy(), transposed=contiguous), list(aten._linalg_slogdet(a)), BY_DTYPE
    )
    agree(oracle, aten.linalg_matrix_exp, linalg.matrix_exp, a / 4)


def test_determinant_of_a_singular_matrix_agrees(oracle):
    a = torch.zeros(3, 3)
    oracle.agree(linalg.det(a.numpy(), transposed=True), list(aten._linalg_det(a)))
    oracle.agree(linalg.slogdet(a.numpy(), transposed=True), list(aten._linalg_slogdet(a)))


@DTYPES
@BATCHES
@pytest.mark.parametrize("hermitian", [False, True])
def test_ldl_agrees(oracle, batch, dtype, hermitian):
    a = torch.randn(*batch, 4, 4, dtype=dtype)
    a = a + (a.mH if hermitian else a.mT)
    agree(oracle, aten.linalg_ldl_factor_ex, linalg.ldl_factor_ex, a, hermitian=hermitian)
    ld, pivots, _ = aten.linalg_ldl_factor_ex(a, hermitian=hermitian)
    b = torch.randn(*batch, 4, 2, dtype=dtype)
    agree(oracle, aten.linalg_ldl_solve, linalg.ldl_solve, ld, pivots, b, hermitian=hermitian)


@DTYPES
@BATCHES
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (3, 3)], ids=str)
@pytest.mark.parametrize("driver", [None, "gels", "gelsd", "gelss"])
def test_least_squares_agree(oracle, batch, shape, dtype, driver):
    a, b = torch.randn(*batch, *shape, dtype=dtype), torch.randn(*batch, shape[0], 2, dtype=dtype)
    agree(oracle, aten.linalg_lstsq, linalg.lstsq, a, b, None, driver=driver)


def test_least_squares_of_deficient_rank_agree(oracle):
    a, b = torch.ones(5, 3, dtype=torch.float64), torch.randn(5, 2, dtype=torch.float64)
    expected = aten.linalg_lstsq(a, b, None, driver="gelsd")
    actual = linalg.lstsq(a.numpy(), b.numpy(), None, "gelsd")
    oracle.agree(actual[:3], list(expected[:3]))


@DTYPES
@BATCHES
@pytest.mark.parametrize("shape", [(4, 3), (3, 4)], ids=str)
def test_svd_agrees(oracle, batch, shape, dtype):
    x = torch.randn(*batch, *shape, dtype=dtype)
    for full in (True, False):
        u, s, vh = linalg.svd(x.numpy(), full)
        expected = aten._linalg_svd(x, full)
        oracle.agree(s, expected[1], BY_DTYPE)
        assert (u.shape, vh.shape) == (expected[0].shape, expected[2].shape)
        # Vectors are unique but for a factor; what they multiply to is unique.
        k = s.shape[-1]
        oracle.agree((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], x, BY_DTYPE)
    expected = aten._linalg_svd(x, False, False)
    oracle.agree(linalg.svd(x.numpy(), False, False), list(expected), BY_DTYPE)


@DTYPES
@BATCHES
@pytest.mark.parametrize("uplo", ["L", "U"])
def test_eigh_agrees(oracle, batch, dtype, uplo):
    x = torch.randn(*batch, 4, 4, dtype=dtype)
    values, vectors = linalg.eigh(x.numpy(), uplo)
    oracle.agree(values, aten._linalg_eigh(x, uplo)[0], BY_DTYPE)
    oracle.agree(
        linalg.eigh(x.numpy(), uplo, False), list(aten._linalg_eigh(x, uplo, False)), BY_DTYPE
    )
    # Vectors are unique but for a factor; what they multiply to is the matrix that was meant.
    back = (vectors * values[..., None, :]) @ vectors.conj().swapaxes(-1, -2)
    strict = x.tril(-1) if uplo == "L" else x.triu(1)
    diagonal = torch.diag_embed(x.diagonal(dim1=-2, dim2=-1).real)
    oracle.agree(back, strict + strict.mH + diagonal, BY_DTYPE)


@DTYPES
@BATCHES
def test_eig_agrees(oracle, batch, dtype):
    x = torch.randn(*batch, 4, 4, dtype=dtype)
    values, vectors = linalg.eig(x.numpy())
    expected = aten.linalg_eig(x)[0]

    def ordered(v):
        v = v.reshape(-1, 4)
        return np.array([sorted(row, key=lambda z: (round(z.real, 3), z.imag)) for row in v])

    if x.numel():
        np.testing.assert_allclose(ordered(values), ordered(expected.numpy()), atol=1e-4)
        np.testing.assert_allclose(
            ordered(linalg.eigvals(x.numpy())), ordered(expected.numpy()), atol=1e-4
        )
    assert values.dtype == expected.numpy().dtype
    np.testing.assert_allclose(x.numpy() @ vectors, vectors * values[..., None, :], atol=1e-4)


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        (linalg.svd, "svd"),
        (linalg.eigh, "eigh"),
        (linalg.eig, "eig"),
        (linalg.eigvals, "eigvals"),
        (linalg.pinv, "svd"),
    ],
)
def test_algorithms_that_do_not_converge_say_so(kernel, name):
    failure = np.linalg.LinAlgError("did not converge")
    with (
        mock.patch.object(np.linalg, name, side_effect=failure),
        pytest.raises(linalg.LinAlgError, match="converge"),
    ):
        kernel(np.eye(3))


def test_errors_are_raised_where_asked_for():
    singular, indefinite = np.zeros((2, 2)), -np.eye(2)
    for kernel, args, message in (
        (linalg.cholesky_ex, (indefinite, False, True), "leading minor of order 1"),
        (linalg.lu_factor_ex, (singular, True, True), r"U\[1,1\] is zero"),
        (linalg.lu_factor_ex, (singular, False), "LU without pivoting is not implemented"),
        (linalg.solve_ex, (singular, np.ones((2, 1)), True, True), "matrix is singular"),
        (linalg.inv_ex, (singular, True), "diagonal element 1 is zero"),
        (linalg.ldl_factor_ex, (singular, False, True), "Unknown error code: 1"),
    ):
        with pytest.raises(RuntimeError, match=message):
            kernel(*args)


def test_small_matrices_have_short_cuts(oracle):
    for shape in ((3, 1, 1), (2, 0, 0)):
        x = torch.randn(shape)
        oracle.same(aten.linalg_matrix_exp, linalg.matrix_exp, x)
    a, tau = torch.empty(0, 0), torch.empty(0)
    oracle.same(aten.linalg_householder_product, linalg.householder_product, a, tau)


@pytest.mark.parametrize("kernel", [linalg.svd, linalg.eigh])
def test_spectra_of_nan_are_refused(kernel):
    with pytest.raises(linalg.LinAlgError, match="failed to converge"):
        kernel(np.full((3, 3), np.nan))


@pytest.mark.parametrize("kernel", [linalg.eig, linalg.eigvals])
def test_eigenvalues_of_nan_are_refused(kernel):
    with pytest.raises(RuntimeError, match="should not contain infs or NaNs"):
        kernel(np.full((3, 3), np.nan))


@DTYPES
@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (2, 3, 3), (2, 0, 3)], ids=str)
def test_pinv_agrees(oracle, shape, dtype):
    x = torch.randn(shape, dtype=dtype)
    oracle.agree(linalg.pinv(x.numpy()), torch.linalg.pinv(x), BY_DTYPE)
    oracle.agree(
        linalg.pinv(x.numpy(), 0.5, 0.1), torch.linalg.pinv(x, atol=0.5, rtol=0.1), BY_DTYPE
    )
    oracle.agree(linalg.pinv(x.numpy(), 0.5), torch.linalg.pinv(x, atol=0.5), BY_DTYPE)
    if shape[-1] == shape[-2]:
        h = x + x.mH
        expected = torch.linalg.pinv(h, hermitian=True)
        oracle.agree(linalg.pinv(h.numpy(), hermitian=True), expected, BY_DTYPE)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_cross_agrees(oracle, dim):
    shape = [4, 4, 4]
    shape[dim] = 3
    x, y = torch.randn(shape), torch.randn(shape)
    agree(oracle, aten.linalg_cross, linalg.cross, x, y, dim=dim)


NAMES = ["linalg.inv", "torch.linalg.solve", "linalg.cholesky", "linalg.eig", "linalg.eigh",
         "linalg.svd", "linalg.lu_factor", "linalg.lstsq", "cholesky_inverse", "foo"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("codes", [2, [0, 2], 0])
def test_codes_mean_what_they_do_in_torch(name, codes):
    info = torch.tensor(codes, dtype=torch.int32)
    matrix = info.ndim == 0
    if codes == 0:
        linalg.check_errors(info.numpy(), name, matrix)
        return
    with pytest.raises(RuntimeError) as theirs:
        aten._linalg_check_errors(info, name, is_matrix=matrix)
    with pytest.raises(RuntimeError) as ours:
        linalg.check_errors(info.numpy(), name, matrix)
    assert str(ours.value) in str(theirs.value).replace("please report a bug to PyTorch. ", "")
    linear = isinstance(theirs.value, torch.linalg.LinAlgError)
    assert isinstance(ours.value, linalg.LinAlgError) is linear


def test_exponentials_of_large_matrices_round_as_torchs(oracle):
    # Squaring doubles the relative error, so that a more exact method would not be close.
    a = torch.randn(3, 5, 5) * 4
    oracle.same(aten.linalg_matrix_exp, linalg.matrix_exp, a)
    oracle.same(aten.linalg_matrix_exp, linalg.matrix_exp, torch.randn(16, 16))


def test_small_products_cancel_as_torchs(oracle):
    x, y, z = torch.zeros(4, 3), torch.randn(5, 4, 6), torch.randn(5, 6, 3)
    x -= torch.bmm(y.double(), z.double()).sum(0).float()  # all that remains is rounding
    expected = aten.addbmm(x, y, z)
    assert expected.abs().max() < 1e-5
    actual = addbmm(x.numpy(), y.numpy(), z.numpy(), 1, 1)
    assert torch.equal(torch.from_numpy(actual), expected)
