"""Order along a dimension: sorting, ranks, and scans that keep the extremum so far."""

from __future__ import annotations

import torch

from dynreg_numpy.lowering import kernels

aten = torch.ops.aten

kernels(
    {
        aten.sort.default: "sorting.sort",
        aten.sort.stable: ("sorting.sort", "self dim descending"),  # ours is stable
        aten.topk.default: "sorting.topk",
        aten.kthvalue.default: "sorting.kthvalue",
        aten.median.default: "sorting.full_median",
        aten.median.dim: "sorting.median",
        aten.nanmedian.default: "sorting.full_nanmedian",
        aten.nanmedian.dim: "sorting.nanmedian",
        aten.mode.default: "sorting.mode",
        aten.cummax.default: "sorting.cummax",
        aten.cummin.default: "sorting.cummin",
        aten.logcumsumexp.default: "sorting.logcumsumexp",
        aten._logcumsumexp.default: "sorting.logcumsumexp",
    }
)
