"""Losses that are not pointwise, and distances."""

from __future__ import annotations

import torch

from dynreg_numpy.lowering import kernels

aten = torch.ops.aten

kernels(
    {
        aten._ctc_loss.default: "loss.ctc_loss",
        aten._ctc_loss.Tensor: "loss.ctc_loss",
        aten._ctc_loss_backward.default: "loss.ctc_loss_backward",
        aten._ctc_loss_backward.Tensor: "loss.ctc_loss_backward",
        aten._cdist_forward.default: "loss.cdist",
        aten._cdist_backward.default: "loss.cdist_backward",
        aten._euclidean_dist.default: "loss.euclidean",
        aten._pdist_forward.default: "loss.pdist",
        aten._pdist_backward.default: "loss.pdist_backward",
        aten.multi_margin_loss.default: "loss.multi_margin_loss",
        aten.multi_margin_loss_backward.default: "loss.multi_margin_loss_backward",
        aten.multilabel_margin_loss_forward.default: "loss.multilabel_margin_loss",
        aten.multilabel_margin_loss_backward.default: "loss.multilabel_margin_loss_backward",
        aten.nll_loss_forward.default: "loss.nll_loss",
        aten.nll_loss_backward.default: "loss.nll_loss_backward",
        aten.nll_loss2d_forward.default: "loss.nll_loss",
        aten.nll_loss2d_backward.default: "loss.nll_loss_backward",
    }
)
