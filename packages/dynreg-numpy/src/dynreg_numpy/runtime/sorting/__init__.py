"""Sorting, selecting by rank, and cumulative operations."""

from dynreg_numpy.runtime.sorting._cumulative import (
    cummax,
    cummin,
    cumprod,
    cumsum,
    logcumsumexp,
)
from dynreg_numpy.runtime.sorting._sort import (
    full_median,
    full_nanmedian,
    kthvalue,
    median,
    mode,
    nanmedian,
    sort,
    topk,
)

__all__ = [
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "full_median",
    "full_nanmedian",
    "kthvalue",
    "logcumsumexp",
    "median",
    "mode",
    "nanmedian",
    "sort",
    "topk",
]
