"""Upsampling, grid sampling, padding by reflection, sliding blocks, with backwards."""

from dynreg_numpy.runtime.resampling._columns import col2im, im2col, unfold_backward
from dynreg_numpy.runtime.resampling._grid import affine_grid, grid_sampler
from dynreg_numpy.runtime.resampling._grid_backward import grid_sampler_backward
from dynreg_numpy.runtime.resampling._pad import (
    channel_shuffle,
    pixel_shuffle,
    pixel_unshuffle,
    reflection_pad,
    reflection_pad_backward,
    replication_pad,
    replication_pad_backward,
)
from dynreg_numpy.runtime.resampling._upsample import upsample, upsample_backward

__all__ = [
    "affine_grid",
    "channel_shuffle",
    "col2im",
    "grid_sampler",
    "grid_sampler_backward",
    "im2col",
    "pixel_shuffle",
    "pixel_unshuffle",
    "reflection_pad",
    "reflection_pad_backward",
    "replication_pad",
    "replication_pad_backward",
    "unfold_backward",
    "upsample",
    "upsample_backward",
]
