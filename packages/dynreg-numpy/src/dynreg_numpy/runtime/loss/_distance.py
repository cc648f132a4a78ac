"""Distances between rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dynreg_numpy.runtime._arrays import widen
from dynreg_numpy.runtime._blocks import blocks

if TYPE_CHECKING:
    from dynreg_numpy.runtime._arrays import Array

#: From here on torch takes the detour over a matrix product for Euclidean distances.
_FEW_ROWS = 25


def cdist(x: Array, y: Array, p: float = 2.0, compute_mode: int | None = None) -> Array:
    r"""Return the p-norms of differences between all rows, as ``aten._cdist_forward`` does.

    Args:
        x: (\*, n, width); broadcasts with ``y`` but for its matrices.
        y: (\*, m, width).
        p: the norm, from 0 to inf.
        compute_mode: 1 to take a matrix product for p = 2, 2 not to, 0 or None for 1 if n or m
            exceeds 25. The product is fast, and loses half of the digits of small distances.

    Returns:
        (\*, n, m), in the dtype of ``x``.
    """
    n, m = x.shape[-2], y.shape[-2]
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    many = compute_mode in (None, 0) and max(n, m) > _FEW_ROWS
    if p == 2 and (compute_mode == 1 or many) and x.shape[-1]:
        return euclidean(x, y)
    x, y = (np.broadcast_to(a, (*batch, *a.shape[-2:])) for a in (x, y))
    result = np.empty((*batch, n, m), x.dtype)
    for at in np.ndindex(batch):
        for rows in blocks(n, m * x.shape[-1] * x.itemsize):
            result[(*at, rows)] = _norm(x[at][rows, None] - y[at], p)
    return result


def euclidean(x: Array, y: Array) -> Array:
    r"""Return Euclidean distances by a matrix product, as ``aten._euclidean_dist`` does.

    Args:
        x: (\*, n, width).
        y: (\*, m, width).

    Returns:
        (\*, n, m).
    """
    squares = -2 * np.matmul(x, y.swapaxes(-1, -2))
    squares += np.vecdot(x, x)[..., :, None]
    squares += np.vecdot(y, y)[..., None, :]
    return np.asarray(np.sqrt(np.maximum(squares, 0)))


def _norm(difference: Array, p: float) -> Array:
    """Return the p-norm along the last axis."""
    if p == 0:
        return np.asarray(np.count_nonzero(difference, -1)).astype(difference.dtype)
    if p == 2:
        return np.asarray(np.sqrt(np.vecdot(difference, difference)))
    sizes = np.abs(difference)
    if p == 1:
        return np.asarray(sizes.sum(-1))
    if math.isinf(p):
        return np.asarray(sizes.max(-1, initial=0))
    return np.asarray((sizes**p).sum(-1) ** (1 / p))


def cdist_backward(grad: Array, x: Array, y: Array, p: float, distance: Array) -> Array:
    r"""Return the gradient of ``x`` in :func:`cdist`, as ``aten._cdist_backward`` does.

    Args:
        grad: the gradient of the distances, (\*, n, m).
        x: see :func:`cdist`.
        y: see :func:`cdist`.
        p: see :func:`cdist`.
        distance: the distances.

    Returns:
        An array like ``x``, broadcast to the batch of ``distance``.
    """
    batch = distance.shape[:-2]
    x, y = (np.broadcast_to(a, (*batch, *a.shape[-2:])) for a in (x, y))
    grad = np.broadcast_to(grad, distance.shape)
    result = np.zeros(x.shape, x.dtype)
    for at in np.ndindex(batch):
        for rows in blocks(x.shape[-2], y.shape[-2] * x.shape[-1] * x.itemsize):
            difference = x[at][rows, None] - y[at]
            factor, size = grad[at][rows][..., None], distance[at][rows][..., None]
            result[(*at, rows)] = _norm_gradient(factor, difference, size, p).sum(1)
    return result


def _norm_gradient(grad: Array, difference: Array, distance: Array, p: float) -> Array:
    """Return the gradient of the p-norm by the difference, zero where the distance is."""
    if p == 0:
        return np.zeros_like(difference)
    if p == 1:
        return np.asarray(grad * np.sign(difference))
    if math.isinf(p):
        hits = np.abs(difference) == distance
        return np.asarray(np.where(hits, grad * np.sign(difference), 0))
    safe = np.where(distance == 0, 1, distance)
    if p == 2:
        return np.asarray(np.where(distance == 0, 0, grad * difference / safe))
    sizes = np.abs(difference)
    nothing = (distance == 0) | ((sizes == 0) & (p < 1))
    powers = np.where(sizes == 0, 1 if p < 1 else 0, sizes) ** (p - 1)
    slopes = np.sign(difference) * powers * grad / safe ** (p - 1)
    return np.asarray(np.where(nothing, 0, slopes))


def pdist(x: Array, p: float = 2.0) -> Array:
    """Return the p-norms of differences between each two rows, as ``aten._pdist_forward`` does.

    Args:
        x: (n, width).
        p: the norm, from 0 to inf.

    Returns:
        (n (n - 1) / 2,): of row 0 with 1, 2, …, then of row 1 with 2, ….
    """
    first, second = np.triu_indices(len(x), 1)
    wide = widen(x)
    result = np.empty(len(first), wide.dtype)
    for at in blocks(len(first), max(1, x.shape[1]) * wide.itemsize):
        result[at] = _norm(wide[first[at]] - wide[second[at]], p)
    return result.astype(x.dtype, copy=False)


def pdist_backward(grad: Array, x: Array, p: float, distance: Array) -> Array:
    """Return the gradient of :func:`pdist`, an array like ``x``.

    Args:
        grad: the gradient of the distances.
        x: see :func:`pdist`.
        p: see :func:`pdist`.
        distance: the distances.
    """
    first, second = np.triu_indices(len(x), 1)
    slopes = _norm_gradient(grad[:, None], x[first] - x[second], distance[:, None], p)
    result = np.zeros(x.shape, x.dtype)
    np.add.at(result, first, slopes)
    np.subtract.at(result, second, slopes)
    return result
