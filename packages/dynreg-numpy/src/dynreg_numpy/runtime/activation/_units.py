"""Activations that NumPy has no single function for, in few passes over cache-sized blocks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dynreg_numpy.runtime._arrays import Array, narrow, widen, workspace
from dynreg_numpy.runtime._blocks import by_block
from dynreg_numpy.runtime.special._erf import one_over_cdf32

if TYPE_CHECKING:
    from collections.abc import Callable

_TANH_SCALE = math.sqrt(2 / math.pi)
_CUBIC = 0.044715


def _unit(kernel: Callable[..., None], inputs: tuple[Array, ...], out: Array | None) -> Array:
    dtype = inputs[0].dtype
    wide = tuple(widen(array) for array in inputs)
    result = workspace(out, inputs[0].shape, wide[0].dtype)
    return narrow(by_block(kernel, wide, result), dtype, out)


def sigmoid(x: Array, *, out: Array | None = None) -> Array:
    """Return 1 / (1 + exp(-x)), as ``aten.sigmoid`` does for floating and complex ``x``."""
    return _unit(_sigmoid, (x,), out)


def _sigmoid(x: Array, out: Array) -> None:
    np.negative(x, out=out)
    np.exp(out, out=out)
    out += 1
    np.divide(1, out, out=out)


def silu(x: Array, *, out: Array | None = None) -> Array:
    """Return x * sigmoid(x), as ``aten.silu`` does."""
    return _unit(_silu, (x,), out)


def _silu(x: Array, out: Array) -> None:
    scratch = np.negative(x)
    np.exp(scratch, out=scratch)
    scratch += 1
    np.divide(x, scratch, out=out)


def silu_backward(grad: Array, x: Array, *, out: Array | None = None) -> Array:
    """Return grad * s * (1 + x * (1 - s)) with s = sigmoid(x), as ``aten.silu_backward`` does."""
    return _unit(_silu_backward, (grad, x), out)


def _silu_backward(grad: Array, x: Array, out: Array) -> None:
    s = np.empty(x.shape, x.dtype)
    _sigmoid(x, s)
    slope = np.subtract(1, s)
    slope *= x
    slope += 1
    slope *= s
    np.multiply(slope, grad, out=out)


def gelu(x: Array, approximate: str = "none", *, out: Array | None = None) -> Array:
    """Return x Φ(x), as ``aten.gelu`` does.

    D. Hendrycks, K. Gimpel, "Gaussian Error Linear Units", 2016 (arXiv:1606.08415).

    Args:
        x: floating, any shape.
        approximate: "none" for the normal distribution Φ, "tanh" for its approximation.
        out: where to put the result.

    Returns:
        An array like ``x``.
    """
    return _unit(_gelu_tanh if approximate == "tanh" else _gelu, (x,), out)


def _gelu(x: Array, out: Array) -> None:
    if x.dtype == np.float32:
        np.divide(x, one_over_cdf32(x), out=out)
    else:
        np.multiply(x, _normal_cdf(x), out=out)


def _normal_cdf(x: Array) -> Array:
    if x.dtype == np.float32:
        inverse = one_over_cdf32(x)
        return np.divide(1, inverse, out=inverse)
    from scipy.special import ndtr

    return np.asarray(ndtr(x))


def _tanh_argument(x: Array) -> Array:
    """Return √(2/π) (x + 0.044715 x³) in a new array."""
    result = np.multiply(x, x)
    result *= _TANH_SCALE * _CUBIC
    result += _TANH_SCALE
    result *= x
    return result


def _gelu_tanh(x: Array, out: Array) -> None:
    # (1 + tanh(z)) / 2 = 1 / (1 + exp(-2z)), and exp costs half of tanh.
    scratch = _tanh_argument(x)
    scratch *= -2
    np.exp(scratch, out=scratch)
    scratch += 1
    np.divide(x, scratch, out=out)


def gelu_backward(
    grad: Array, x: Array, approximate: str = "none", *, out: Array | None = None
) -> Array:
    """Return the gradient of :func:`gelu`, as ``aten.gelu_backward`` does.

    Args:
        grad: the gradient of the result.
        x: the input.
        approximate: see :func:`gelu`.
        out: where to put the result.

    Returns:
        An array like ``x``.
    """
    kernel = _gelu_tanh_backward if approximate == "tanh" else _gelu_backward
    return _unit(kernel, (grad, x), out)


def _gelu_backward(grad: Array, x: Array, out: Array) -> None:
    density = np.multiply(x, x)
    density *= -0.5
    np.exp(density, out=density)
    density *= x
    density *= 1 / math.sqrt(2 * math.pi)
    density += _normal_cdf(x)
    np.multiply(density, grad, out=out)


def _gelu_tanh_backward(grad: Array, x: Array, out: Array) -> None:
    inner = np.tanh(_tanh_argument(x))
    slope = np.multiply(x, x)
    slope *= 3 * _TANH_SCALE * _CUBIC
    slope += _TANH_SCALE
    slope *= x
    slope *= 1 - inner * inner
    slope += inner
    slope += 1
    slope *= 0.5
    np.multiply(slope, grad, out=out)


def _log1p(x: Array) -> Array:
    """Return log(1 + x) for 0 <= x < inf, in a new array.

    With w = 1 + x rounded, log(1 + x) is x log(w) / (w - 1) to a few units in the last place
    (N. J. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., section 1.14.1).
    NumPy's log is vectorised, its log1p is not: this is three times as fast.
    """
    rounded = np.add(x, 1)
    result = np.log(rounded)
    rounded -= 1
    result *= x
    result /= rounded
    np.copyto(result, x, where=rounded == 0)
    return result


def softplus(
    x: Array, beta: float = 1, threshold: float = 20, *, out: Array | None = None
) -> Array:
    """Return log(1 + exp(beta x)) / beta, or x where beta x > threshold, as ``aten.softplus``.

    Args:
        x: floating, any shape.
        beta: the steepness.
        threshold: the value of beta x above which the result is x.
        out: where to put the result.

    Returns:
        An array like ``x``.
    """

    def kernel(x: Array, out: Array) -> None:
        scaled = np.multiply(x, beta)
        large = scaled > threshold
        np.exp(scaled, out=scaled)
        np.divide(_log1p(scaled), beta, out=out)
        np.copyto(out, x, where=large)

    return _unit(kernel, (x,), out)


def log_sigmoid(x: Array, *, out: Array | None = None) -> Array:
    """Return -log(1 + exp(-x)), the first result of ``aten.log_sigmoid_forward``."""
    return _unit(_log_sigmoid, (x,), out)


def _log_sigmoid(x: Array, out: Array) -> None:
    # min(x, 0) - log(1 + exp(-|x|)) overflows on neither side.
    scratch = np.abs(x)
    np.negative(scratch, out=scratch)
    np.exp(scratch, out=scratch)
    np.subtract(np.minimum(x, 0), _log1p(scratch), out=out)


def mish(x: Array, *, out: Array | None = None) -> Array:
    """Return x tanh(log(1 + exp(x))), as ``aten.mish`` does.

    D. Misra, "Mish: A Self Regularized Non-Monotonic Activation Function", 2019 (arXiv:1908.08681).
    """
    return _unit(_mish, (x,), out)


def _mish(x: Array, out: Array) -> None:
    # tanh(log(1 + e)) = n / (n + 2) with n = e (e + 2), which is 1 in float64 from x = 20 on.
    grown = np.minimum(x, 20)
    np.exp(grown, out=grown)
    grown *= grown + 2
    scratch = grown + 2
    np.divide(grown, scratch, out=scratch)
    np.multiply(x, scratch, out=out)
