"""Writing at indices and masks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dynreg_numpy.runtime._arrays import narrow, widen
from dynreg_numpy.runtime.indexing._gather import full_index, wrap_flat
from dynreg_numpy.runtime.indexing._positions import wrap_index
from dynreg_numpy.runtime.indexing._reduce import add_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dynreg_numpy.runtime._arrays import Array


def index_put(
    x: Array, indices: Sequence[Array | None], values: Any, accumulate: bool = False
) -> Array:
    """Copy ``x`` with ``values`` written, or added, at ``indices``, as ``aten.index_put`` does.

    Args:
        x: any shape.
        indices: one integer or boolean array per dimension, or None for the whole of it.
        values: broadcast to the shape of ``x[indices]``.
        accumulate: add, also where an index repeats.

    Returns:
        An array like ``x``.

    Raises:
        IndexError: an index is outside its dimension.
    """
    x = np.asarray(x)
    if not accumulate:
        result = np.array(x)
        result[full_index(x, indices)] = values
        return result
    result = np.array(widen(x), order="C")
    values = widen(np.asarray(values))
    if len(indices) == 1 and indices[0] is not None and x.ndim:
        entry = np.asarray(indices[0])
        if entry.dtype.kind != "b":
            rows = wrap_index(entry, x.shape[0])
            values = np.broadcast_to(values, (*rows.shape, *x.shape[1:]))
            add_rows(result, rows.reshape(-1), values.reshape(-1, *x.shape[1:]))
            return narrow(result, x.dtype)
    where = full_index(x, indices)
    positions = np.arange(x.size).reshape(x.shape)[where]
    flat = np.broadcast_to(values, positions.shape).reshape(-1)
    add = np.logical_or if result.dtype.kind == "b" else np.add
    add.at(result.reshape(-1), positions.reshape(-1), flat.astype(result.dtype, copy=False))
    return narrow(result, x.dtype)


def put(x: Array, index: Array, source: Array, accumulate: bool = False) -> Array:
    """Copy ``x`` with ``source`` written, or added, at flat positions, as ``aten.put`` does.

    Args:
        x: any shape.
        index: integer, any shape; negative counts from the end.
        source: as many values as ``index`` has.
        accumulate: add, also where an index repeats.

    Returns:
        An array like ``x``.

    Raises:
        IndexError: an index is outside the flattened ``x``.
    """
    x = np.asarray(x)
    result = np.array(widen(x), order="C")
    positions = wrap_flat(index, x.size).reshape(-1)
    values = widen(np.asarray(source)).reshape(-1)
    if accumulate:
        add = np.logical_or if result.dtype.kind == "b" else np.add
        add.at(result.reshape(-1), positions, values)
    else:
        result.reshape(-1)[positions] = values
    return narrow(result, x.dtype)


def masked_fill(x: Array, mask: Array, value: Any, *, out: Array | None = None) -> Array:
    """Return ``x`` with ``value`` where ``mask`` is true, as ``aten.masked_fill`` does.

    Args:
        x: any shape.
        mask: boolean; broadcasts with ``x``.
        value: one value, converted to the dtype of ``x``.
        out: where to put the result.

    Returns:
        An array of the broadcast shape, in the dtype of ``x``.
    """
    x, mask = np.asarray(x), np.asarray(mask)
    if out is None:
        out = np.empty(np.broadcast_shapes(x.shape, mask.shape), x.dtype)
    np.copyto(out, x)
    np.copyto(out, np.asarray(value).astype(x.dtype), where=mask)
    return out


def masked_select(x: Array, mask: Array) -> Array:
    """Return the elements of ``x`` where ``mask`` is true, as ``aten.masked_select`` does.

    Args:
        x: any shape.
        mask: boolean; broadcasts with ``x``.

    Returns:
        (number of true entries,), in the dtype of ``x``.
    """
    x, mask = np.broadcast_arrays(x, mask)
    return np.asarray(x[mask])


def masked_scatter(x: Array, mask: Array, source: Array) -> Array:
    """Copy ``x`` with the elements of ``source``, in order, where ``mask`` is true.

    Args:
        x: any shape.
        mask: boolean; broadcasts with ``x``.
        source: at least as many elements as ``mask`` has true entries.

    Returns:
        An array of the broadcast shape, as ``aten.masked_scatter`` gives it.

    Raises:
        RuntimeError: ``source`` has too few elements.
    """
    x, mask = np.broadcast_arrays(x, mask)
    result = np.array(x)
    count = int(np.count_nonzero(mask))
    source = np.asarray(source)
    if source.size < count:
        raise RuntimeError("Number of elements of source < number of ones in mask")
    result[mask] = source.reshape(-1)[:count]
    return result


def masked_scatter_backward(grad: Array, mask: Array, sizes: Sequence[int]) -> Array:
    """Return the gradient of the source of :func:`masked_scatter`.

    Args:
        grad: the gradient of the result.
        mask: the mask.
        sizes: the shape of the source.

    Returns:
        An array of shape ``sizes``: the gradients that were used, and zeros.
    """
    used = masked_select(grad, mask)
    result = np.zeros(math.prod(sizes), grad.dtype)
    result[: len(used)] = used
    return result.reshape(tuple(sizes))


def nonzero(x: Array) -> Array:
    """Return the indices of what is not zero, (count, dimensions) int64, as ``aten.nonzero``."""
    return np.argwhere(np.asarray(x)).astype(np.int64, copy=False)


def nonzero_static(x: Array, size: int, fill_value: int = -1) -> Array:
    """Return ``size`` rows of :func:`nonzero`, cut off or filled up, as ``aten.nonzero_static``."""
    found = nonzero(x)[:size]
    result = np.full((size, found.shape[1]), fill_value, np.int64)
    result[: len(found)] = found
    return result
