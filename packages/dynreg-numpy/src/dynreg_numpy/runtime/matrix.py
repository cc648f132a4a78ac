"""Products of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dynreg_numpy.runtime._arrays import narrow, widen

if TYPE_CHECKING:
    from dynreg_numpy.runtime._arrays import Array

__all__ = ["addbmm", "integer_matmul", "sequential_matmul"]

# Multiplications up to which a product is summed term by term; BLAS is faster beyond.
_SMALL = 1024


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
        if left.dtype.kind == "f" and _is_small(one, other):
            _add_terms(total, one if alpha == 1 else one * kind(alpha), other)
        else:
            product = np.matmul(one, other, dtype=left.dtype)
            total += product if alpha == 1 else product * kind(alpha)
        total = widen(narrow(total, y.dtype))  # torch keeps the sum in the dtype of the result
    return narrow(total, y.dtype)


def integer_matmul(x: Array, y: Array) -> Array:
    """``x @ y`` of integers, which wraps around on overflow as torch does."""
    product: Array = np.matmul(x, y, dtype=x.dtype)
    return product


def sequential_matmul(x: Array, y: Array) -> Array:
    r"""``x @ y`` of floating-point arrays, small products summed as torch's small kernel sums them.

    Where terms cancel, the rounding of the sum is all that is left of it. Torch multiplies small
    matrices in a plain loop that rounds each product and each sum, in the order of the terms.

    Args:
        x: (\*, n, m).
        y: (\*, m, p), of the same dtype.

    Returns:
        (\*, n, p).
    """
    left, right = widen(x), widen(y)
    if not _is_small(x[(0,) * (x.ndim - 2)], y[(0,) * (y.ndim - 2)]):
        return narrow(np.matmul(left, right), x.dtype)
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    total = np.zeros((*batch, x.shape[-2], y.shape[-1]), left.dtype)
    _add_terms(total, left, right)
    return narrow(total, x.dtype)


def _is_small(x: Array, y: Array) -> bool:
    return bool(x.size * y.shape[1] <= _SMALL)


def _add_terms(total: Array, x: Array, y: Array) -> None:
    for k in range(x.shape[-1]):
        total += x[..., :, k, None] * y[..., k, None, :]
