"""Interpolation along one axis: each output is a weighted sum of a few inputs."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dynreg_numpy.runtime._arrays import Array

if TYPE_CHECKING:
    from collections.abc import Callable

    from dynreg_numpy.runtime._arrays import DType

_KEYS_BICUBIC = -0.75
_KEYS_ANTIALIAS = -0.5


@dataclasses.dataclass(frozen=True, eq=False)
class AxisMap:
    """Sparse rows: output ``o`` is the sum over ``k`` of ``weight[k, o] * x[index[k, o]]``.

    ``weight`` is None where each output copies one input.
    """

    size: int
    index: Array
    weight: Array | None

    def apply(self, x: Array, axis: int) -> Array:
        """Interpolate ``x`` along ``axis``."""
        result: Array = np.take(x, self.index[0], axis)
        if self.weight is None:
            return result
        after = (1,) * (x.ndim - 1 - axis)
        result *= self.weight[0].reshape(-1, *after)
        for index, weight in zip(self.index[1:], self.weight[1:], strict=True):
            part = np.take(x, index, axis)
            part *= weight.reshape(-1, *after)
            result += part
        return result

    def adjoint(self, grad: Array, axis: int) -> Array:
        """Add each output's gradient, weighted, to the inputs that it was made of."""
        rows = np.moveaxis(grad, axis, 0)
        product = self._matrix(grad.dtype) @ np.ascontiguousarray(rows).reshape(len(rows), -1)
        result: Array = product.reshape(self.size, *rows.shape[1:])
        return np.ascontiguousarray(np.moveaxis(result, 0, axis))

    def _matrix(self, dtype: DType) -> Any:
        """Return the transposed map, (inputs, outputs), as a sparse matrix."""
        return _transposed(self, dtype)


@functools.lru_cache(maxsize=256)
def _transposed(axis_map: AxisMap, dtype: DType) -> Any:
    from scipy.sparse import csr_array

    taps, outputs = axis_map.index.shape
    weight = np.ones((taps, outputs)) if axis_map.weight is None else axis_map.weight
    # One row per output, and its transpose.
    starts = np.arange(outputs + 1) * taps
    entries = (weight.T.reshape(-1), axis_map.index.T.reshape(-1), starts)
    return csr_array(entries, shape=(outputs, axis_map.size), dtype=dtype).T.tocsr()


@functools.lru_cache(maxsize=1024)
def axis_map(
    mode: str,
    in_size: int,
    out_size: int,
    align_corners: bool,
    scale: float | None,
    antialias: bool,
    dtype: DType,
) -> AxisMap:
    """Return the map of one upsampled axis.

    Positions are computed in ``dtype``, in torch's order of operations, so that they are rounded
    to the same side.

    Args:
        mode: "nearest", "nearest-exact", "linear" or "cubic".
        in_size: length of the input.
        out_size: length of the output.
        align_corners: let the centres of the corner elements coincide, and not their edges.
        scale: the factor that the user gave; None for the quotient of the sizes.
        antialias: widen the kernel where the output is smaller.
        dtype: float32 or float64.
    """
    step = _step(in_size, out_size, align_corners, scale, dtype)
    if mode.startswith("nearest"):
        places = np.arange(out_size, dtype=dtype)
        if mode == "nearest-exact":
            places += dtype.type(0.5)
        index = np.minimum(np.floor(places * step).astype(np.int64), in_size - 1)
        return AxisMap(in_size, index[None], None)
    if antialias:
        return _antialiased(mode, in_size, out_size, step, dtype)
    if mode == "linear":
        return _linear(in_size, out_size, align_corners, step, dtype)
    return _cubic(in_size, out_size, align_corners, step, dtype)


def _step(
    in_size: int, out_size: int, align_corners: bool, scale: float | None, dtype: DType
) -> Any:
    """Return the distance of two outputs, in inputs."""
    if align_corners:
        return dtype.type(in_size - 1) / dtype.type(out_size - 1) if out_size > 1 else dtype.type(0)
    if scale is not None and scale > 0:
        return dtype.type(1 / scale)
    return dtype.type(in_size) / dtype.type(out_size)


def _positions(out_size: int, align_corners: bool, step: Any, dtype: DType) -> Array:
    places = np.arange(out_size, dtype=dtype)
    if align_corners:
        return np.asarray(places * step)
    half = dtype.type(0.5)
    return np.asarray(step * (places + half) - half)


def _linear(in_size: int, out_size: int, align_corners: bool, step: Any, dtype: DType) -> AxisMap:
    if in_size == out_size:
        return AxisMap(in_size, np.arange(out_size)[None], None)
    places = np.maximum(_positions(out_size, align_corners, step, dtype), 0)
    low = np.minimum(places.astype(np.int64), in_size - 1)
    high = np.minimum(low + 1, in_size - 1)
    part = np.clip(places - low.astype(dtype), 0, 1)
    return AxisMap(in_size, np.stack([low, high]), np.stack([1 - part, part]).astype(dtype))


def _cubic(in_size: int, out_size: int, align_corners: bool, step: Any, dtype: DType) -> AxisMap:
    """Interpolate by R. Keys, "Cubic Convolution Interpolation", IEEE ASSP 29(6), 1981."""
    places = _positions(out_size, align_corners, step, dtype)
    low = np.minimum(np.floor(places).astype(np.int64), in_size - 1)
    part = np.clip(places - low.astype(dtype), 0, 1)
    index = np.clip(low + np.arange(-1, 3)[:, None], 0, in_size - 1)
    return AxisMap(in_size, index, cubic_weights(part))


def cubic_weights(part: Array) -> Array:
    r"""Return the weights of the four elements around positions: (4, \*part.shape).

    Args:
        part: distances to the element before, in [0, 1].
    """
    a = _KEYS_BICUBIC

    def near(x: Array) -> Array:
        return np.asarray(((a + 2) * x - (a + 3)) * x * x + 1)

    def far(x: Array) -> Array:
        return np.asarray(((a * x - 5 * a) * x + 8 * a) * x - 4 * a)

    rest = 1 - part
    return np.stack([far(part + 1), near(part), near(rest), far(rest + 1)])


def _antialiased(mode: str, in_size: int, out_size: int, step: Any, dtype: DType) -> AxisMap:
    """Average over a kernel that is as wide as the step, as Pillow does when it shrinks.

    Like torch, this lets ``align_corners`` change the step, and not where the kernels stand.
    """
    kernel, width = (_triangle, 2) if mode == "linear" else (_keys, 4)
    step = float(step)
    support = width * 0.5 * max(step, 1.0)
    inverse = 1 / step if step >= 1 else 1.0
    rows = [_window(kernel, step * (i + 0.5), support, inverse, in_size) for i in range(out_size)]
    taps = max(len(weights) for _, weights in rows)
    index = np.zeros((taps, out_size), np.int64)
    weight = np.zeros((taps, out_size), dtype)
    for o, (first, weights) in enumerate(rows):
        # Unused taps repeat the last input, with no weight.
        index[:, o] = np.minimum(first + np.arange(taps), first + len(weights) - 1)
        weight[: len(weights), o] = weights
    return AxisMap(in_size, index, weight)


def _window(
    kernel: Callable[[float], float],
    centre: float,
    support: float,
    inverse: float,
    in_size: int,
) -> tuple[int, list[float]]:
    """Return the first input of one output, and the normalised weights from there on."""
    first = max(int(centre - support + 0.5), 0)
    last = min(int(centre + support + 0.5), in_size)
    weights = [kernel((j - centre + 0.5) * inverse) for j in range(first, last)]
    total = math.fsum(weights)
    return first, [w / total for w in weights] if total else weights


def _triangle(x: float) -> float:
    return max(0.0, 1 - abs(x))


def _keys(x: float) -> float:
    a, x = _KEYS_ANTIALIAS, abs(x)
    if x < 1:
        return ((a + 2) * x - (a + 3)) * x * x + 1
    return (((x - 5) * x + 8) * x - 4) * a if x < 2 else 0.0
