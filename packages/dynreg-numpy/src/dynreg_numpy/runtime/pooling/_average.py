"""Average pooling."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

import numpy as np

from dynreg_numpy.runtime._arrays import Array, narrow, widen
from dynreg_numpy.runtime.pooling._windows import Windows, pool_windows

if TYPE_CHECKING:
    from collections.abc import Sequence


def avg_pool(
    x: Array,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: int | Sequence[int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    out: Array | None = None,
) -> Array:
    r"""Average each window, as ``aten.avg_pool1d``, ``avg_pool2d`` and ``avg_pool3d`` do.

    Sums are taken axis by axis, which costs the sum of the kernel's sizes, not the product.

    Args:
        x: (N, C, \*size) or (C, \*size), with one to three spatial dimensions.
        kernel_size: the window's size, one number per spatial dimension.
        stride: distance between windows; empty means ``kernel_size``.
        padding: zeros on both sides.
        ceil_mode: keep a last window that stands out beyond the padding.
        count_include_pad: divide by the window's size including padding.
        divisor_override: divide by this instead.
        out: where to put the result.

    Returns:
        (N, C, \*out_size), in the dtype of ``x``; integers are divided towards zero.

    Raises:
        RuntimeError: the result would be empty, or ``divisor_override`` is zero.
    """
    windows = pool_windows(x, kernel_size, stride, padding, 1, ceil_mode)
    divisors = _divisors(windows, count_include_pad, divisor_override)
    result = widen(x)
    for axis, along in enumerate(windows, start=x.ndim - len(windows)):
        result = _sum_along(result, axis, along)
    if result.dtype.kind == "f":
        result /= divisors.astype(result.dtype)
    else:
        result = np.sign(result) * (np.abs(result) // divisors)
    return narrow(result, x.dtype, out)


def _sum_along(x: Array, axis: int, along: Windows) -> Array:
    """Return the sum of each window along one axis."""
    before = (slice(None),) * axis
    taps = along.taps()
    if taps and taps[0].outputs == slice(0, along.out_size):
        result = x[(*before, taps[0].inputs)].copy()
        taps = taps[1:]
    else:
        result = np.zeros((*x.shape[:axis], along.out_size, *x.shape[axis + 1 :]), x.dtype)
    for tap in taps:
        target = result[(*before, tap.outputs)]
        target += x[(*before, tap.inputs)]
    return result


def avg_pool_backward(
    grad: Array,
    x: Array,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: int | Sequence[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Array:
    """Return the gradient of :func:`avg_pool`, as its ATen backwards do.

    Args:
        grad: the gradient of the averages.
        x: the input; only its shape is used.
        kernel_size: see :func:`avg_pool`.
        stride: see :func:`avg_pool`.
        padding: see :func:`avg_pool`.
        ceil_mode: see :func:`avg_pool`.
        count_include_pad: see :func:`avg_pool`.
        divisor_override: see :func:`avg_pool`.

    Returns:
        An array like ``x``.
    """
    windows = pool_windows(x, kernel_size, stride, padding, 1, ceil_mode)
    divisors = _divisors(windows, count_include_pad, divisor_override)
    wide = widen(grad)
    result = wide / divisors.astype(wide.dtype)
    for axis, along in enumerate(windows, start=x.ndim - len(windows)):
        result = _spread_along(result, axis, along)
    return narrow(result, grad.dtype)


def _spread_along(grad: Array, axis: int, along: Windows) -> Array:
    """Add each window's value to every element of the window: the adjoint of ``_sum_along``."""
    before = (slice(None),) * axis
    shape = (*grad.shape[:axis], along.in_size, *grad.shape[axis + 1 :])
    result = np.zeros(shape, grad.dtype)
    for tap in along.taps():
        target = result[(*before, tap.inputs)]
        target += grad[(*before, tap.outputs)]
    return result


@functools.lru_cache(maxsize=1024)
def _divisors(
    windows: tuple[Windows, ...], count_include_pad: bool, divisor_override: int | None
) -> Array:
    r"""Return what each window's sum is divided by: a scalar, or (\*out_size)."""
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    if divisor_override is not None:
        return np.array(divisor_override)
    counts = [np.array(w.counts(include_pad=count_include_pad)) for w in windows]
    if all((c == c[0]).all() for c in counts):
        return np.array(math.prod(int(c[0]) for c in counts))
    return functools.reduce(np.multiply.outer, counts)
