"""Pooling in one to three dimensions, with indices and backwards."""

from dynreg_numpy.runtime.pooling._adaptive import (
    adaptive_avg_pool,
    adaptive_avg_pool_backward,
    adaptive_max_pool,
    adaptive_max_pool_backward,
)
from dynreg_numpy.runtime.pooling._average import avg_pool, avg_pool_backward
from dynreg_numpy.runtime.pooling._fractional import (
    fractional_max_pool,
    fractional_max_pool_backward,
    max_unpool,
)
from dynreg_numpy.runtime.pooling._max import (
    max_pool,
    max_pool_with_indices,
    max_pool_with_indices_backward,
)

__all__ = [
    "adaptive_avg_pool",
    "adaptive_avg_pool_backward",
    "adaptive_max_pool",
    "adaptive_max_pool_backward",
    "avg_pool",
    "avg_pool_backward",
    "fractional_max_pool",
    "fractional_max_pool_backward",
    "max_pool",
    "max_pool_with_indices",
    "max_pool_with_indices_backward",
    "max_unpool",
]
