"""Discrete Fourier transforms; single precision stays single."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dynreg_numpy.runtime._arrays import Array

__all__ = ["fft_c2c", "fft_c2r", "fft_r2c"]

_Norm = Literal["backward", "ortho", "forward"]
#: ATen's numbers, none, 1/√n and 1/n, in NumPy's words for a forward and for an inverse transform.
_FORWARD: tuple[_Norm, ...] = ("backward", "ortho", "forward")
_INVERSE: tuple[_Norm, ...] = ("forward", "ortho", "backward")


def fft_c2c(x: Array, dim: Sequence[int], normalization: int, forward: bool) -> Array:
    """Transform complex numbers, as ``aten._fft_c2c`` does.

    Args:
        x: complex, any shape.
        dim: the dimensions to transform.
        normalization: 0 for none, 1 for 1/√n, 2 for 1/n, with n elements per transform.
        forward: with exp(-2πi…), and not its inverse.

    Returns:
        An array like ``x``.
    """
    if not dim:
        return x.copy()
    if forward:
        return np.asarray(np.fft.fftn(x, axes=tuple(dim), norm=_FORWARD[normalization]))
    return np.asarray(np.fft.ifftn(x, axes=tuple(dim), norm=_INVERSE[normalization]))


def fft_r2c(x: Array, dim: Sequence[int], normalization: int, onesided: bool) -> Array:
    """Transform real numbers forward, as ``aten._fft_r2c`` does.

    Args:
        x: real, any shape.
        dim: the dimensions to transform.
        normalization: see :func:`fft_c2c`.
        onesided: return only the frequencies from 0 to n // 2 of the last of ``dim``.

    Returns:
        A complex array of the precision of ``x``.
    """
    norm = _FORWARD[normalization]
    if onesided:
        return np.asarray(np.fft.rfftn(x, axes=tuple(dim), norm=norm))
    return np.asarray(np.fft.fftn(x, axes=tuple(dim), norm=norm))


def fft_c2r(x: Array, dim: Sequence[int], normalization: int, last_dim_size: int) -> Array:
    """Transform half of a Hermitian spectrum back to real numbers, as ``aten._fft_c2r`` does.

    Args:
        x: complex; the last of ``dim`` has the frequencies from 0 to n // 2.
        dim: the dimensions to transform.
        normalization: see :func:`fft_c2c`; n counts ``last_dim_size``.
        last_dim_size: the length of the result in the last of ``dim``.

    Returns:
        A real array of the precision of ``x``.
    """
    axes = tuple(dim)
    sizes = [x.shape[axis] for axis in axes[:-1]]
    norm = _INVERSE[normalization]
    return np.asarray(np.fft.irfftn(x, s=[*sizes, last_dim_size], axes=axes, norm=norm))
