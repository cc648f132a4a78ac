"""Upsampling, which is separable: one axis after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dynreg_numpy.runtime._arrays import Array, narrow, widen
from dynreg_numpy.runtime.resampling._maps import AxisMap, axis_map

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dynreg_numpy.runtime._arrays import DType

_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)


def upsample(
    x: Array,
    output_size: Sequence[int],
    mode: str,
    align_corners: bool = False,
    scales: Sequence[float | None] | None = None,
    antialias: bool = False,
) -> Array:
    r"""Resample as ``aten.upsample_*`` do, in one to three dimensions.

    Args:
        x: (N, C, \*size).
        output_size: one size per spatial dimension.
        mode: "nearest" or "nearest-exact" of ``_upsample_nearest_exact``; "linear" of
            ``upsample_linear1d``, ``upsample_bilinear2d`` and ``upsample_trilinear3d``; "cubic" of
            ``upsample_bicubic2d``.
        align_corners: let the centres of the corner elements coincide, and not their edges.
        scales: the factors that the user gave, per spatial dimension; None for the quotient of
            the sizes.
        antialias: as ``aten._upsample_bilinear2d_aa`` and ``_upsample_bicubic2d_aa`` do.

    Returns:
        (N, C, \*output_size), in the dtype of ``x``.
    """
    first = x.ndim - len(output_size)
    if antialias:
        scales = _overlooked(scales, x.shape[first:], output_size, (1,))
    elif mode == "nearest" and len(output_size) == 2:
        scales = _overlooked(scales, x.shape[first:], output_size, (1, 2))
    maps = _maps(x.dtype, x.shape[first:], output_size, mode, align_corners, scales, antialias)
    result = x if maps[0].weight is None and mode.startswith("nearest") else _computable(x)
    for axis, along in enumerate(maps, start=first):
        result = along.apply(result, axis)
    if x.dtype.kind in "iu" and result.dtype.kind == "f":
        limits = np.iinfo(x.dtype)
        result = np.clip(np.floor(result + 0.5), limits.min, limits.max)
    return narrow(result, x.dtype)


def upsample_backward(
    grad: Array,
    input_size: Sequence[int],
    mode: str,
    align_corners: bool = False,
    scales: Sequence[float | None] | None = None,
    antialias: bool = False,
) -> Array:
    r"""Return the gradient of :func:`upsample`.

    Args:
        grad: the gradient of the result, (N, C, \*output_size).
        input_size: the shape of the input, (N, C, \*size).
        mode: see :func:`upsample`.
        align_corners: see :func:`upsample`.
        scales: see :func:`upsample`.
        antialias: see :func:`upsample`.

    Returns:
        An array of shape ``input_size``, in the dtype of ``grad``.
    """
    sizes, output = tuple(input_size)[2:], grad.shape[2:]
    if mode == "cubic" and not antialias and sizes == output:
        return grad.copy()  # as torch does, whatever the factors
    if mode == "nearest":
        scales = _overlooked(scales, sizes, output, (1, 2))
    maps = _maps(grad.dtype, sizes, output, mode, align_corners, scales, antialias)
    result = _computable(grad)
    for axis in range(len(maps) - 1, -1, -1):
        result = maps[axis].adjoint(result, axis + 2)
    return narrow(result, grad.dtype)


def _overlooked(
    scales: Sequence[float | None] | None,
    in_size: Sequence[int],
    out_size: Sequence[int],
    multiples: tuple[int, ...],
) -> Sequence[float | None] | None:
    """Drop the factors of axes that grow to a multiple, where torch's kernel overlooks them.

    A factor that does not divide the sizes, like 1.2 for 4 to 4 elements, says that outputs lie
    closer together than inputs. Some kernels have shortcuts for sizes, which do not look at it.
    """
    if scales is None:
        return None
    return [
        None if o in [n * m for m in multiples] else scale
        for n, o, scale in zip(in_size, out_size, scales, strict=True)
    ]


def _computable(x: Array) -> Array:
    """Return ``x`` in the dtype that its weighted sums are computed in."""
    return widen(x) if x.dtype.kind not in "iu" else x.astype(_FLOAT32)


def _maps(
    dtype: DType,
    in_size: Sequence[int],
    out_size: Sequence[int],
    mode: str,
    align_corners: bool,
    scales: Sequence[float | None] | None,
    antialias: bool,
) -> list[AxisMap]:
    kind = _FLOAT64 if dtype == _FLOAT64 else _FLOAT32
    factors = scales or (None,) * len(in_size)
    return [
        axis_map(mode, n, o, bool(align_corners), factor, antialias, kind)
        for n, o, factor in zip(in_size, out_size, factors, strict=True)
    ]
