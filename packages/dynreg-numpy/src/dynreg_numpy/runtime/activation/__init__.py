"""Softmax and activations, with backwards."""

from dynreg_numpy.runtime.activation._softmax import (
    log_softmax,
    log_softmax_backward,
    logsumexp,
    softmax,
    softmax_backward,
)
from dynreg_numpy.runtime.activation._units import (
    gelu,
    gelu_backward,
    log_sigmoid,
    mish,
    sigmoid,
    silu,
    silu_backward,
    softplus,
)

__all__ = [
    "gelu",
    "gelu_backward",
    "log_sigmoid",
    "log_softmax",
    "log_softmax_backward",
    "logsumexp",
    "mish",
    "sigmoid",
    "silu",
    "silu_backward",
    "softmax",
    "softmax_backward",
    "softplus",
]
