"""Losses that are not pointwise, with backwards."""

from dynreg_numpy.runtime.loss._nll import nll_loss, nll_loss_backward

__all__ = ["nll_loss", "nll_loss_backward"]
