"""Products of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dynreg_numpy.runtime._arrays import Array

__all__ = ["integer_matmul"]


def integer_matmul(x: Array, y: Array) -> Array:
    """``x @ y`` of integers, which wraps around on overflow as torch does."""
    product: Array = np.matmul(x, y, dtype=x.dtype)
    return product
