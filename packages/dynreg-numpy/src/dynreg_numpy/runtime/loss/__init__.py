"""Losses that are not pointwise, and distances, with backwards."""

from dynreg_numpy.runtime.loss._ctc import ctc_loss, ctc_loss_backward
from dynreg_numpy.runtime.loss._distance import (
    cdist,
    cdist_backward,
    euclidean,
    pdist,
    pdist_backward,
)
from dynreg_numpy.runtime.loss._margin import (
    multi_margin_loss,
    multi_margin_loss_backward,
    multilabel_margin_loss,
    multilabel_margin_loss_backward,
)
from dynreg_numpy.runtime.loss._nll import nll_loss, nll_loss_backward

__all__ = [
    "cdist",
    "cdist_backward",
    "ctc_loss",
    "ctc_loss_backward",
    "euclidean",
    "multi_margin_loss",
    "multi_margin_loss_backward",
    "multilabel_margin_loss",
    "multilabel_margin_loss_backward",
    "nll_loss",
    "nll_loss_backward",
    "pdist",
    "pdist_backward",
]
