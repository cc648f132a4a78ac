"""Activations that take several passes over memory, and their gradients."""

from __future__ import annotations

import torch

from dynreg_numpy.lowering import kernels

aten = torch.ops.aten

kernels(
    {
        aten._softmax.default: "activation.softmax",
        aten._log_softmax.default: "activation.log_softmax",
        aten._softmax_backward_data.default: "activation.softmax_backward",
        aten._log_softmax_backward_data.default: "activation.log_softmax_backward",
        aten.gelu_backward.default: "activation.gelu_backward",
        aten.silu_backward.default: "activation.silu_backward",
    }
)
