"""Resampling of images and signals, padding by what is there, sliding blocks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from dynreg_numpy.lowering import Builder, kernels, lowers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dynreg_numpy.ir import Argument, Value

aten = torch.ops.aten

kernels(
    {
        **{
            getattr(aten, f"{kind}_pad{dims}d").default: f"resampling.{kind}_pad"
            for kind in ("reflection", "replication")
            for dims in (1, 2, 3)
        },
        **{
            getattr(aten, f"{kind}_pad{dims}d_backward").default: f"resampling.{kind}_pad_backward"
            for kind in ("reflection", "replication")
            for dims in (1, 2, 3)
        },
        aten.im2col.default: "resampling.im2col",
        aten.col2im.default: "resampling.col2im",
        aten.unfold_backward.default: "resampling.unfold_backward",
        aten.grid_sampler_2d.default: "resampling.grid_sampler",
        aten.grid_sampler_3d.default: "resampling.grid_sampler",
        aten.grid_sampler_2d_backward.default: "resampling.grid_sampler_backward",
        aten.grid_sampler_3d_backward.default: "resampling.grid_sampler_backward",
        aten.affine_grid_generator.default: "resampling.affine_grid",
        aten.pixel_shuffle.default: "resampling.pixel_shuffle",
        aten.pixel_unshuffle.default: "resampling.pixel_unshuffle",
        aten.channel_shuffle.default: "resampling.channel_shuffle",
    }
)

#: Name of the op without its prefix and suffix, to mode and dimensions.
UPSAMPLING = {
    "upsample_nearest": ("nearest", (1, 2, 3)),
    "_upsample_nearest_exact": ("nearest-exact", (1, 2, 3)),
    "upsample_linear": ("linear", (1,)),
    "upsample_bilinear": ("linear", (2,)),
    "upsample_trilinear": ("linear", (3,)),
    "upsample_bicubic": ("cubic", (2,)),
    "_upsample_bilinear": ("linear", (2,)),
    "_upsample_bicubic": ("cubic", (2,)),
    "_upsample_lanczos": ("lanczos", (2,)),
}


def _upsample(
    b: Builder, x: Value, output_size: Sequence[Any], *args: Argument, mode: str, antialias: bool
) -> Value:
    nearest = mode.startswith("nearest")
    align_corners, scales = (False, args) if nearest else (args[0], args[1:])
    return b.call(
        "resampling.upsample", x, output_size, mode, align_corners, tuple(scales) or None, antialias
    )


def _upsample_vec(
    b: Builder,
    x: Value,
    output_size: Sequence[Any] | None,
    *args: Argument,
    mode: str,
    antialias: bool,
) -> Value:
    del output_size
    scales = args[-1]
    return _upsample(
        b, x, b.out.shape[2:], *args[:-1], *(scales or ()), mode=mode, antialias=antialias
    )


def _upsample_backward(
    b: Builder,
    grad: Value,
    output_size: Sequence[Any],
    input_size: Sequence[Any],
    *args: Argument,
    mode: str,
    antialias: bool,
) -> Value:
    del output_size
    nearest = mode.startswith("nearest")
    align_corners, scales = (False, args) if nearest else (args[0], args[1:])
    return b.call(
        "resampling.upsample_backward",
        *(grad, input_size, mode, align_corners, tuple(scales) or None, antialias),
    )


for _name, (_mode, _all_dims) in UPSAMPLING.items():
    for _dims in _all_dims:
        _antialias = _name.startswith("_") and "exact" not in _name
        _full = f"{_name}{_dims}d" + ("_aa" if _antialias else "")
        _packet: Any = getattr(aten, _full)
        lowers(_packet.default)(partial(_upsample, mode=_mode, antialias=_antialias))
        lowers(_packet.vec)(partial(_upsample_vec, mode=_mode, antialias=_antialias))
        _adjoint = getattr(aten, f"{_full}_backward", None)
        if _adjoint is not None:
            lowers(_adjoint.default)(partial(_upsample_backward, mode=_mode, antialias=_antialias))
