"""Fourier transforms against torch."""

from __future__ import annotations

import pytest
import torch

from dynreg_numpy.runtime import fft

aten = torch.ops.aten
PRECISIONS = pytest.mark.parametrize("real", [torch.float64, torch.float32])
DIMS = pytest.mark.parametrize("dim", [[0], [-1], [1, 2], [2, 0], [0, 1, 2]], ids=str)
NORMS = pytest.mark.parametrize("normalization", [0, 1, 2])


@PRECISIONS
@DIMS
@NORMS
@pytest.mark.parametrize("forward", [True, False])
def test_complex_agrees(oracle, real, dim, normalization, forward):
    x = torch.randn(3, 4, 5, dtype=real.to_complex())
    dim = [d % 3 for d in dim]
    oracle.same(aten._fft_c2c, fft.fft_c2c, x, dim, normalization, forward)


@PRECISIONS
@DIMS
@NORMS
@pytest.mark.parametrize("onesided", [True, False])
def test_real_to_complex_agrees(oracle, real, dim, normalization, onesided):
    x = torch.randn(3, 4, 5, dtype=real)
    dim = [d % 3 for d in dim]
    oracle.same(aten._fft_r2c, fft.fft_r2c, x, dim, normalization, onesided)


@PRECISIONS
@DIMS
@NORMS
@pytest.mark.parametrize("odd", [0, 1])
def test_complex_to_real_agrees(oracle, real, dim, normalization, odd):
    dim = [d % 3 for d in dim]
    x = torch.randn(3, 4, 5, dtype=real.to_complex())
    size = 2 * (x.shape[dim[-1]] - 1) + odd
    oracle.same(aten._fft_c2r, fft.fft_c2r, x, dim, normalization, size)


def test_no_dimension_copies(oracle):
    oracle.same(aten._fft_c2c, fft.fft_c2c, torch.randn(3, dtype=torch.complex64), [], 0, True)
