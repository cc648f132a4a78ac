"""Counting: bincount and histograms."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dynreg_numpy.runtime._arrays import narrow, widen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dynreg_numpy.runtime._arrays import Array


def bincount(x: Array, weights: Array | None = None, minlength: int = 0) -> Array:
    """Count each value, as ``aten.bincount`` does.

    Args:
        x: integer, (n,), not negative.
        weights: what each element counts, (n,), or None for one.
        minlength: the least length of the result.

    Returns:
        (max(minlength, max(x) + 1),): float32 for such weights, float64 for others; int64 without
        weights, and of an empty ``x``.

    Raises:
        RuntimeError: ``x`` is not 1-d or has a negative entry.
    """
    if x.ndim != 1 or (x.size and x.min() < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is None or not x.size:
        return np.bincount(x, minlength=minlength).astype(np.int64, copy=False)
    dtype = np.float32 if weights.dtype == np.float32 else np.float64
    return np.bincount(x, weights.astype(np.float64), minlength).astype(dtype)


def histc(x: Array, bins: int = 100, low: float = 0, high: float = 0) -> Array:
    """Count elements in equal bins, as ``aten.histc`` does.

    Args:
        x: any shape.
        bins: the number of bins.
        low: the lower end; if it equals ``high``, the range of the data is used.
        high: the upper end, which belongs to the last bin.

    Returns:
        (bins,), in the dtype of ``x``; elements outside the range and NaN are not counted.

    Raises:
        RuntimeError: there is no bin, or the range is not finite or turned round.
    """
    _check_bins([bins])
    flat = widen(x).reshape(-1)
    low, high = float(low), float(high)
    if low == high and flat.size:
        low, high = float(flat.min()), float(flat.max())
    if low == high:
        low, high = low - 1, high + 1
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"torch.histc: range of [{low}, {high}] is not finite")
    if low > high:
        raise RuntimeError("torch.histc: max must be larger than min")
    kind = flat.dtype.type
    kept = flat[(flat >= kind(low)) & (flat <= kind(high))]
    scaled = (kept - kind(low)) * kind(bins) / (kind(high) - kind(low))
    place = np.minimum(scaled.astype(np.int64), bins - 1)
    return narrow(np.bincount(place, minlength=bins), x.dtype)


def histogram_bin_edges(
    x: Array, bins: Sequence[int], limits: Sequence[float] | None = None
) -> list[Array]:
    """Return equal bins over the data or a range, as ``aten._histogramdd_bin_edges`` does.

    Args:
        x: (n, dimensions).
        bins: the number of bins per dimension.
        limits: lower and upper end per dimension; None for the range of the data.

    Returns:
        The edges of each dimension, (bins + 1,) in the dtype of ``x``.

    Raises:
        RuntimeError: there is no bin, or a range is not finite or turned round.
    """
    _check_bins(bins)
    points = widen(x).reshape(-1, len(bins))
    edges = []
    for d, count in enumerate(bins):
        if limits is not None:
            low, high = limits[2 * d : 2 * d + 2]
        elif len(points):
            low, high = float(points[:, d].min()), float(points[:, d].max())
        else:
            low, high = 0.0, 1.0
        if not (math.isfinite(low) and math.isfinite(high)):
            raise RuntimeError(
                f"torch.histogramdd(): dimension {d}'s range [{low}, {high}] is not finite"
            )
        if low > high:
            raise RuntimeError(
                "torch.histogramdd(): min should not exceed max, but got "
                f"min {low} max {high} for dimension {d}"
            )
        if low == high:
            low, high = low - 0.5, high + 0.5
        edges.append(np.linspace(low, high, count + 1).astype(x.dtype))
    return edges


def histogram(
    x: Array,
    bins: int | Array = 100,
    limits: Sequence[float] | None = None,
    weight: Array | None = None,
    density: bool = False,
) -> tuple[Array, Array]:
    """Count elements in bins, as ``aten.histogram`` does.

    Args:
        x: any shape.
        bins: the number of equal bins, or their edges, ascending.
        limits: lower and upper end; None for the range of the data.
        weight: what each element counts, like ``x``, or None for one.
        density: divide by the total and the width of each bin.

    Returns:
        (bins,) and the edges (bins + 1,), in the dtype of ``x``.

    Raises:
        RuntimeError: there is no bin, or the range is not finite or turned round.
    """
    points = x.reshape(-1, 1)
    edges = histogram_bin_edges(points, [bins], limits) if isinstance(bins, int) else [bins]
    return histogramdd(points, edges, weight, density), edges[0]


def histogramdd(
    x: Array, edges: Sequence[Array], weight: Array | None = None, density: bool = False
) -> Array:
    """Count points in a grid of bins, as ``aten._histogramdd_from_bin_tensors`` does.

    Args:
        x: (n, dimensions).
        edges: the edges of the bins of each dimension, ascending.
        weight: what each point counts, (n,), or None for one.
        density: divide by the total and the volume of each bin.

    Returns:
        One dimension per dimension of the points, in the dtype of ``x``; points outside the edges
        and NaN are not counted, and the last edge belongs to the last bin.
    """
    points = widen(x).reshape(-1, len(edges))
    shape = tuple(len(e) - 1 for e in edges)
    kept = np.ones(len(points), bool)
    place = np.zeros(len(points), np.int64)
    for d, e in enumerate(edges):
        ends, column = widen(e), points[:, d]
        kept &= (column >= ends[0]) & (column <= ends[-1])
        found = np.searchsorted(ends, column, "right") - 1
        place = place * shape[d] + np.clip(found, 0, shape[d] - 1)
    amounts = None if weight is None else weight.reshape(-1)[kept].astype(np.float64)
    counts = np.bincount(place[kept], amounts, math.prod(shape)).reshape(shape)
    if density:
        counts = counts / counts.sum()
        for d, e in enumerate(edges):
            widths = np.diff(e.astype(np.float64))
            counts = counts / widths.reshape(-1, *(1,) * (len(edges) - 1 - d))
    return narrow(counts, x.dtype)


def _check_bins(bins: Sequence[int]) -> None:
    for d, count in enumerate(bins):
        if count <= 0:
            raise RuntimeError(
                f"torch.histogram(): bins must be > 0, but got {count} for dimension {d}"
            )
