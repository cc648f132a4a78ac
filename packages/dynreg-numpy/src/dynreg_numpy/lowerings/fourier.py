"""Fourier transforms."""

from __future__ import annotations

import torch

from dynreg_numpy.lowering import kernels

aten = torch.ops.aten

kernels(
    {
        aten._fft_c2c.default: "fft.fft_c2c",
        aten._fft_r2c.default: "fft.fft_r2c",
        aten._fft_c2r.default: "fft.fft_c2r",
    }
)
