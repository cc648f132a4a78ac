"""What every family shares: the array type, accumulation dtypes, normalised parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import ml_dtypes
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
DType: TypeAlias = np.dtype[Any]
#: A subscript built from pieces; NumPy's own annotation does not take unpacked tuples.
Index: TypeAlias = tuple[Any, ...]

#: Storage formats: torch's CPU kernels load them, compute in float32, and round the result.
NARROW_FLOATS: frozenset[DType] = frozenset(
    np.dtype(scalar)
    for scalar in (
        np.float16,
        ml_dtypes.bfloat16,
        ml_dtypes.float8_e4m3fn,
        ml_dtypes.float8_e4m3fnuz,
        ml_dtypes.float8_e5m2,
        ml_dtypes.float8_e5m2fnuz,
    )
)
_FLOAT32 = np.dtype(np.float32)


def compute_dtype(dtype: DType) -> DType:
    """Return the dtype in which torch computes on values stored as ``dtype``."""
    return _FLOAT32 if dtype in NARROW_FLOATS else dtype


def widen(x: Array) -> Array:
    """Return ``x`` in its compute dtype: a float32 copy of narrow floats, else ``x`` itself."""
    return x.astype(_FLOAT32) if x.dtype in NARROW_FLOATS else x


def narrow(x: Array, dtype: DType, out: Array | None = None) -> Array:
    """Round ``x`` to ``dtype``, into ``out`` if given; no copy where nothing changes."""
    if out is None:
        return x.astype(dtype, copy=False)
    if out is not x:
        np.copyto(out, x, casting="unsafe")
    return out


def as_tuple(value: int | Sequence[int], length: int) -> tuple[int, ...]:
    """Expand torch's int-or-list parameter to one entry per spatial dimension."""
    if isinstance(value, int):
        return (value,) * length
    return tuple(value) * length if len(value) == 1 else tuple(value)


def wrap_dim(dim: int, ndim: int) -> int:
    """Return ``dim`` counted from the front; a 0-d array has one dimension, as in torch.

    Raises:
        IndexError: ``dim`` is outside ``[-ndim, ndim)``.
    """
    span = max(ndim, 1)
    if not -span <= dim < span:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-span}, {span - 1}], "
            f"but got {dim})"
        )
    return dim % span


def is_channels_last(x: Array) -> bool:
    r"""Whether ``x`` (N, C, \*size) lies in memory as (N, \*size, C) and not as it is indexed."""
    return x.ndim > 3 and not x.flags.c_contiguous and np.moveaxis(x, 1, -1).flags.c_contiguous


def empty(shape: tuple[int, ...], dtype: DType, *, channels_last: bool) -> Array:
    """Return an uninitialised array of ``shape`` (N, C, …), channels-last in memory if asked to."""
    if not channels_last:
        return np.empty(shape, dtype)
    batch, channels, *size = shape
    return np.moveaxis(np.empty((batch, *size, channels), dtype), -1, 1)


def workspace(
    out: Array | None, shape: tuple[int, ...], dtype: DType, *, channels_last: bool = False
) -> Array:
    """Return ``out`` if it has this dtype and memory order, or else a new array.

    Kernels compute into it, and end with ``narrow(result, dtype, out)``.
    """
    if out is not None and out.dtype == dtype:
        fits = is_channels_last(out) if channels_last else out.flags.c_contiguous
        if fits:
            return out
    return empty(shape, dtype, channels_last=channels_last)
