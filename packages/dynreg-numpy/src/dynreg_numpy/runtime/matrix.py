"""Products of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dynreg_numpy.runtime._arrays import narrow, widen

if TYPE_CHECKING:
    from dynreg_numpy.runtime._arrays import Array

__all__ = ["addbmm", "integer_matmul"]


def addbmm(x: Array, y: Array, z: Array, beta: Any, alpha: Any) -> Array:
    """Sum of the products of a batch, added up in the order of the batch: ``aten.addbmm``.

    Args:
        x: broadcasts to (n, p); not read where ``beta`` is zero.
        y: (batch, n, m).
        z: (batch, m, p).
        beta: factor of ``x``.
        alpha: factor of the products.

    Returns:
        (n, p) in the dtype of ``y``.
    """
    left, right = widen(y), widen(z)
    kind = left.dtype.type
    total = np.zeros((y.shape[1], z.shape[2]), left.dtype)
    if beta != 0:
        total += widen(x) * kind(beta)
    for one, other in zip(left, right, strict=True):
        product = np.matmul(one, other, dtype=left.dtype)
        total += product if alpha == 1 else product * kind(alpha)
        total = widen(narrow(total, y.dtype))  # torch keeps the sum in the dtype of the result
    return narrow(total, y.dtype)


def integer_matmul(x: Array, y: Array) -> Array:
    """``x @ y`` of integers, which wraps around on overflow as torch does."""
    product: Array = np.matmul(x, y, dtype=x.dtype)
    return product
