"""Elementwise functions that NumPy lacks, or has with other semantics than torch.

``out`` may be one of the arguments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dynreg_numpy.runtime import activation, special
from dynreg_numpy.runtime._arrays import widen

if TYPE_CHECKING:
    from dynreg_numpy.runtime._arrays import Array, DType

__all__ = [
    "cast",
    "erf",
    "erfc",
    "frexp",
    "gelu",
    "gelu_tanh",
    "integer_floor_divide",
    "integer_power",
    "integer_trunc_divide",
    "left_shift",
    "right_shift",
    "rsqrt",
    "sigmoid",
    "sign",
]


def cast(x: Array, dtype: DType) -> Array:
    """Convert to a dtype, always into a new array; a complex number loses its imaginary part."""
    if x.dtype.kind == "c" and np.dtype(dtype).kind not in "cb":
        x = x.real
    if np.dtype(dtype).kind in "iu":
        # From float32, whose overflow is the processor's, as in torch; ml_dtypes has its own.
        x = widen(x)
    return x.astype(dtype)


def _target(result: Any) -> Array | None:
    """Return a temporary as what the next step writes to; NumPy gives scalars for 0-d arrays."""
    return result if isinstance(result, np.ndarray) else None


def sigmoid(x: Array, out: Array | None = None) -> Array:
    """``1 / (1 + exp(-x))``, which is exact at both ends: exp overflows to inf, and 1/inf is 0."""
    result = np.negative(x, out=out)
    target = _target(result)
    result = np.exp(result, out=target)
    result = np.add(result, 1, out=target)
    return np.reciprocal(result, out=target)


def rsqrt(x: Array, out: Array | None = None) -> Array:
    """``1 / sqrt(x)``."""
    result = np.sqrt(x, out=out)
    return np.reciprocal(result, out=_target(result))


def erf(x: Array, out: Array | None = None) -> Array:
    """The error function; see :mod:`dynreg_numpy.runtime.special`."""
    return special.erf(x, out=out)


def erfc(x: Array, out: Array | None = None) -> Array:
    """``1 - erf(x)``; see :mod:`dynreg_numpy.runtime.special`."""
    return special.erfc(x, out=out)


def sign(x: Array, out: Array | None = None) -> Array:
    """Torch's sign: that of NaN is 0 where NumPy's is NaN; booleans pass."""
    if x.dtype.kind == "b":
        return np.positive(x.view(np.uint8), out=None).astype(bool)
    if x.dtype.kind != "f":
        return np.sign(x, out=out)
    return np.subtract(x > 0, x < 0, out=out, dtype=x.dtype)


def gelu(x: Array, out: Array | None = None) -> Array:
    """``x · Φ(x)``; see :func:`dynreg_numpy.runtime.activation.gelu`."""
    return activation.gelu(x, out=out)


def gelu_tanh(x: Array, out: Array | None = None) -> Array:
    """The approximation of gelu by tanh; see :func:`dynreg_numpy.runtime.activation.gelu`."""
    return activation.gelu(x, "tanh", out=out)


def integer_power(x: Any, y: Any, out: Array | None = None) -> Array:
    """Power of integers. A negative exponent gives what is left of 1/x^n: 0, 1 or -1."""
    dtype = next(z.dtype for z in (x, y) if isinstance(z, (np.ndarray, np.generic)))
    x, y = np.asarray(x, dtype), np.asarray(y, dtype)
    negative = y < 0
    if not negative.any():
        plain: Array = np.power(x, y, out=out)
        return plain
    odd = (y & 1).astype(bool)
    inverse = np.where(x == 1, 1, np.where(x == -1, np.where(odd, -1, 1), 0))
    result = np.where(negative, inverse, np.power(x, np.where(negative, 0, y)))
    power: Array = result.astype(np.result_type(x, y), copy=False)
    return power


def integer_floor_divide(x: Any, y: Any, out: Array | None = None) -> Array:
    """Division of integers, rounded down.

    Raises:
        RuntimeError: a divisor is zero, as in torch.
    """
    _no_zero(x, y)
    quotient: Array = np.floor_divide(x, y, out=out)
    return quotient


def integer_trunc_divide(x: Any, y: Any, out: Array | None = None) -> Array:
    """Division of integers, rounded towards zero.

    Raises:
        RuntimeError: a divisor is zero, as in torch.
    """
    _no_zero(x, y)
    quotient = np.floor_divide(x, y)
    fix = ((np.multiply(quotient, y) != x) & ((np.less(x, 0)) != (np.less(y, 0)))).astype(
        quotient.dtype
    )
    truncated: Array = np.add(quotient, fix, out=out)
    return truncated


def _no_zero(x: Any, y: Any) -> None:
    if np.size(x) and not np.all(y):
        raise RuntimeError("ZeroDivisionError")


def left_shift(x: Any, y: Any, out: Array | None = None) -> Array:
    """Shift left; a shift by more bits than there are, or by less than none, gives 0."""
    shifted = np.left_shift(x, y)
    return _in_range(shifted, np.zeros_like(shifted), y, out)


def right_shift(x: Any, y: Any, out: Array | None = None) -> Array:
    """Shift right, with the sign; a shift out of range leaves only the sign."""
    shifted = np.right_shift(x, y)
    if shifted.dtype.kind == "u":
        return _in_range(shifted, np.zeros_like(shifted), y, out)
    bits = shifted.dtype.itemsize * 8
    return _in_range(shifted, np.right_shift(x, bits - 1), y, out)


def _in_range(shifted: Array, otherwise: Any, y: Any, out: Array | None) -> Array:
    bits = shifted.dtype.itemsize * 8
    result = np.where((np.asarray(y) >= 0) & (np.asarray(y) < bits), shifted, otherwise)
    if out is None:
        return result.astype(shifted.dtype, copy=False)
    np.copyto(out, result, casting="unsafe")
    return out


def frexp(x: Array) -> tuple[Array, Array]:
    """Return mantissa, in [0.5, 1), and exponent, int32, as ``aten.frexp`` does."""
    mantissa, exponent = np.frexp(widen(np.asarray(x)))
    return np.asarray(mantissa).astype(x.dtype), np.asarray(exponent, np.int32)
