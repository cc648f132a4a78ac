"""Batch, group, layer and RMS normalisation, with backwards, in few passes over memory."""

from dynreg_numpy.runtime.normalization._batch import batch_norm, batch_norm_backward
from dynreg_numpy.runtime.normalization._group import group_norm, group_norm_backward
from dynreg_numpy.runtime.normalization._layer import (
    layer_norm,
    layer_norm_backward,
    rms_norm,
    rms_norm_backward,
)

__all__ = [
    "batch_norm",
    "batch_norm_backward",
    "group_norm",
    "group_norm_backward",
    "layer_norm",
    "layer_norm_backward",
    "rms_norm",
    "rms_norm_backward",
]
