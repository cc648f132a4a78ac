"""Max pooling, which keeps NaN and, of equal elements, the first."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dynreg_numpy.runtime._arrays import Array, narrow, widen
from dynreg_numpy.runtime.pooling._windows import Windows, pool_windows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dynreg_numpy.runtime._arrays import DType, Index


def max_pool(
    x: Array,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    *,
    out: Array | None = None,
) -> Array:
    r"""Return the largest element of each window: the first result of ``max_pool2d_with_indices``.

    The maximum is taken axis by axis, which costs the sum of the kernel's sizes, not the product.

    Args:
        x: (N, C, \*size) or (C, \*size), with one to three spatial dimensions.
        kernel_size: the window's size, one number per spatial dimension.
        stride: distance between windows; empty means ``kernel_size``.
        padding: padding on both sides, which never wins.
        dilation: distance between the elements of a window.
        ceil_mode: keep a last window that stands out beyond the padding.
        out: where to put the result.

    Returns:
        (N, C, \*out_size), in the dtype of ``x``; NaN where the window holds a NaN.

    Raises:
        RuntimeError: the result would be empty.
    """
    windows = pool_windows(x, kernel_size, stride, padding, dilation, ceil_mode)
    result = widen(x)
    for axis, along in enumerate(windows, start=x.ndim - len(windows)):
        result = _max_along(result, axis, along)
    return narrow(result, x.dtype, out)


def _max_along(x: Array, axis: int, along: Windows) -> Array:
    """Return the maximum of each window along one axis."""
    before = (slice(None),) * axis
    shape = (*x.shape[:axis], along.out_size, *x.shape[axis + 1 :])
    taps = along.taps()
    if taps and taps[0].outputs == slice(0, along.out_size):
        result = x[(*before, taps[0].inputs)].copy()
        taps = taps[1:]
    else:
        result = np.full(shape, lowest(x.dtype), x.dtype)
    for tap in taps:
        target = result[(*before, tap.outputs)]
        np.maximum(target, x[(*before, tap.inputs)], out=target)
    return result


def max_pool_with_indices(
    x: Array,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
) -> tuple[Array, Array]:
    r"""Max pool as ``aten.max_pool2d_with_indices`` and ``max_pool3d_with_indices`` do.

    Args:
        x: see :func:`max_pool`; also for one spatial dimension.
        kernel_size: see :func:`max_pool`.
        stride: see :func:`max_pool`.
        padding: see :func:`max_pool`.
        dilation: see :func:`max_pool`.
        ceil_mode: see :func:`max_pool`.

    Returns:
        The maxima, and the int64 position of each in its flattened \*size: of the first of equal
        elements, or of the last NaN.
    """
    windows = pool_windows(x, kernel_size, stride, padding, dilation, ceil_mode)
    values = max_pool(x, kernel_size, stride, padding, dilation, ceil_mode)
    wide, top = widen(x), widen(values)
    lead = (slice(None),) * (x.ndim - len(windows))
    nans = np.isnan(top) if top.dtype.kind == "f" else np.zeros((), bool)
    has_nans = bool(nans.any())
    taps = math.prod(w.kernel for w in windows)
    best = np.zeros(values.shape, np.min_scalar_type(taps))
    for number, target, source in _numbered_taps(windows, lead):
        # Numbers fall, so that the first tap that holds the maximum has the largest.
        found = np.equal(wide[source], top[target]).view(np.uint8)
        np.maximum(best[target], np.multiply(found, number, dtype=best.dtype), out=best[target])
    if has_nans:
        for number, target, source in _numbered_taps(windows, lead):
            np.copyto(best[target], number, where=np.isnan(wide[source]))
    if not best.all():
        np.copyto(best, _first_taps(best.dtype, windows), where=best == 0)
    return values, _positions(np.subtract(taps, best, dtype=best.dtype), windows)


def _numbered_taps(
    windows: Sequence[Windows], lead: tuple[slice, ...]
) -> Iterator[tuple[int, Index, Index]]:
    """Yield each tap in order: its number counted from the end, its outputs, its inputs."""
    weights = _weights([w.kernel for w in windows])
    taps = math.prod(w.kernel for w in windows)
    for tap in itertools.product(*(sorted(w.taps()) for w in windows)):
        number = taps - sum(t.number * weight for t, weight in zip(tap, weights, strict=True))
        yield number, (*lead, *(t.outputs for t in tap)), (*lead, *(t.inputs for t in tap))


def _weights(sizes: Sequence[int]) -> list[int]:
    """Return what one step along each axis means in the flattened array."""
    return [math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))]


def _first_taps(dtype: DType, windows: Sequence[Windows]) -> Array:
    r"""Return the first tap that is not before the input, counted from the end: (\*out_size).

    It is what torch starts from, and what remains of a window with no element in the input.
    """
    best = np.array(math.prod(w.kernel for w in windows), np.int64)
    for w, weight in zip(windows, _weights([w.kernel for w in windows]), strict=True):
        starts = np.arange(w.out_size) * w.stride - w.padding
        best = np.subtract.outer(best, np.maximum(0, -(starts // w.dilation)) * weight)
    return best.astype(dtype)


def _positions(best: Array, windows: Sequence[Windows]) -> Array:
    """Turn the number of each window's best tap into a position in the flattened input."""
    weights = _weights([w.in_size for w in windows])
    starts = sum(-w.padding * weight for w, weight in zip(windows, weights, strict=True))
    offsets = np.array(starts, np.int64)
    for w, weight in zip(windows, weights, strict=True):
        offsets = np.add.outer(offsets, np.arange(w.kernel) * (w.dilation * weight))
    positions = offsets.reshape(-1)[best]
    for axis, (w, weight) in enumerate(zip(windows, weights, strict=True)):
        steps = np.arange(w.out_size, dtype=np.int64) * (w.stride * weight)
        positions += steps.reshape(-1, *(1,) * (len(windows) - 1 - axis))
    return positions


def max_pool_with_indices_backward(
    grad: Array,
    x: Array,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: int | Sequence[int],
    dilation: int | Sequence[int],
    ceil_mode: bool,
    indices: Array,
) -> Array:
    """Return the gradient of :func:`max_pool_with_indices`, as its ATen backwards do.

    Args:
        grad: the gradient of the maxima.
        x: the input; only its shape is used.
        kernel_size: see :func:`max_pool`.
        stride: see :func:`max_pool`.
        padding: see :func:`max_pool`.
        dilation: see :func:`max_pool`.
        ceil_mode: see :func:`max_pool`.
        indices: the positions that the forward returned.

    Returns:
        An array like ``x`` with each gradient added at the position of its maximum.
    """
    windows = pool_windows(x, kernel_size, stride, padding, dilation, ceil_mode)
    unique = not any(w.overlap for w in windows)
    return scatter_planes(grad, indices, x.shape, len(windows), unique=unique)


def scatter_planes(
    values: Array, indices: Array, shape: tuple[int, ...], dims: int, *, unique: bool
) -> Array:
    """Add ``values`` at ``indices``, positions in each plane of the last ``dims`` axes of zeros."""
    plane = math.prod(shape[-dims:])
    planes = math.prod(shape[:-dims])
    if values.size == 0:
        return np.zeros(shape, values.dtype)
    flat = indices.reshape(planes, -1) + np.arange(0, planes * plane, plane)[:, None]
    result = np.zeros(planes * plane, values.dtype)
    if unique:
        result[flat] = values.reshape(planes, -1)
        return result.reshape(shape)
    wide = widen(result)
    np.add.at(wide, flat.reshape(-1), widen(values).reshape(-1))
    return narrow(wide, values.dtype).reshape(shape)


def lowest(dtype: DType) -> Any:
    """Return the value below every other: what padding holds in a maximum."""
    if dtype.kind == "f":
        return -np.inf
    return False if dtype.kind == "b" else np.iinfo(dtype).min
