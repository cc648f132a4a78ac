"""Moving memory, and looking at it in other ways."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib import stride_tricks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dynreg_numpy.runtime._arrays import Array, DType

__all__ = [
    "arange",
    "as_strided_copy",
    "as_strided_put",
    "complex_of",
    "constant_pad",
    "offset_in",
    "own",
    "put",
    "put_diagonal",
    "strided",
    "view_as_complex",
    "view_as_real",
]


def strided(array: Any, strides: tuple[int, ...]) -> Array:
    """Give an array the strides that torch promises for it.

    Args:
        array: An array or a NumPy scalar.
        strides: Wanted strides, in bytes.

    Returns:
        The array itself where its strides are these; the same memory where only the strides of
        dimensions with one element differ; otherwise a copy.
    """
    x: Array = np.asarray(array)
    if x.strides == strides:
        return x
    if x.size <= 1 or all(
        have == want or size == 1
        for have, want, size in zip(x.strides, strides, x.shape, strict=True)
    ):
        return as_strided(x, x.shape, strides)
    result = _empty_strided(x.shape, strides, x.dtype)
    result[...] = x
    return result


def as_strided(x: Array, shape: Sequence[int], strides: Sequence[int]) -> Array:
    """View memory with any shape and strides, in bytes; NumPy's own does not know float8."""
    if x.dtype.kind == "f" and x.itemsize == 1:
        bits = stride_tricks.as_strided(x.view(np.uint8), shape, strides)
        return bits.view(x.dtype)
    return stride_tricks.as_strided(x, shape, strides)


def _empty_strided(shape: Sequence[int], strides: Sequence[int], dtype: DType) -> Array:
    extent = sum((size - 1) * step for size, step in zip(shape, strides, strict=True))
    memory = np.empty(extent // dtype.itemsize + 1, dtype)
    return as_strided(memory, shape, strides)


def offset_in(view: Array, base: Array) -> int:
    """Where a view begins in an array, in items."""
    begins: int = view.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    return begins // base.itemsize


def own(x: Any) -> Array:
    """Copy, into the same strides."""
    x = np.asarray(x)
    result = _empty_strided(x.shape, x.strides, x.dtype) if x.size else np.empty_like(x)
    result[...] = x
    return result


def as_strided_copy(
    x: Any,
    base: Sequence[int],
    shape: Sequence[int],
    strides: Sequence[int],
    offset: int,
) -> Array:
    """Read memory as ``aten.as_strided`` does.

    Args:
        x: An array.
        base: The strides that torch has ``x`` in, in items.
        shape: Shape of the result.
        strides: Strides of the result, in items.
        offset: Where it starts, in items.

    Returns:
        A new array.
    """
    x = np.asarray(x)
    item = x.itemsize
    flat = strided(x, tuple(step * item for step in base))
    last = offset + sum((size - 1) * step for size, step in zip(shape, strides, strict=True))
    flat = as_strided(flat, (last + 1,), (item,))
    return as_strided(flat[offset:], shape, tuple(step * item for step in strides)).copy()


def put(x: Any, index: Any, source: Any) -> Array:
    """Copy ``x`` with ``source`` written at ``index``."""
    result = np.array(x)
    result[index] = source
    return result


def as_strided_put(
    x: Any,
    base: Sequence[int],
    source: Any,
    shape: Sequence[int],
    strides: Sequence[int],
    offset: int,
) -> Array:
    """Copy ``x`` with ``source`` written where :func:`as_strided_copy` reads."""
    x = np.asarray(x)
    item = x.itemsize
    result = own(strided(x, tuple(step * item for step in base)))
    if not result.size:
        return result
    extent = sum((size - 1) * step for size, step in zip(result.shape, base, strict=True))
    flat = as_strided(result, (extent + 1,), (item,))
    as_strided(flat[offset:], shape, tuple(step * item for step in strides))[...] = source
    return result


def put_diagonal(x: Any, source: Any, offset: int, first: int, second: int) -> Array:
    """Copy ``x`` with ``source`` written on a diagonal, as ``aten.diagonal_scatter`` does."""
    result = np.array(x)
    diagonal = np.diagonal(result, offset, first, second)
    diagonal.flags.writeable = True
    diagonal[...] = source
    return result


def complex_of(real: Any, imaginary: Any, dtype: DType) -> Array:
    """Make complex numbers of their two parts, which broadcast."""
    result = np.empty(np.broadcast_shapes(np.shape(real), np.shape(imaginary)), dtype)
    result.real = real
    result.imag = imaginary
    return result


def constant_pad(x: Any, pad: Sequence[int], value: Any) -> Array:
    """Pad as ``aten.constant_pad_nd`` does.

    Args:
        x: An array.
        pad: Numbers of items before and after, for the last dimension first; negative ones crop.
        value: What to fill with.
    """
    x = np.asarray(x)
    before = [0] * x.ndim
    after = [0] * x.ndim
    for number in range(len(pad) // 2):
        before[-1 - number], after[-1 - number] = pad[2 * number], pad[2 * number + 1]
    shape = [size + b + a for size, b, a in zip(x.shape, before, after, strict=True)]
    if min(shape, default=0) < 0:
        raise RuntimeError(f"padding {tuple(pad)} leaves a negative size of the shape {x.shape}")
    result = np.full(shape, value, x.dtype)
    inner = tuple(
        slice(max(b, 0), max(b, 0) + _kept(n, b, a))
        for n, b, a in zip(x.shape, before, after, strict=True)
    )
    outer = tuple(
        slice(max(-b, 0), max(-b, 0) + _kept(n, b, a))
        for n, b, a in zip(x.shape, before, after, strict=True)
    )
    result[inner] = x[outer]
    return result


def _kept(size: int, before: int, after: int) -> int:
    return max(size + min(before, 0) + min(after, 0), 0)


def arange(length: int, start: Any, step: Any, dtype: DType) -> Array:
    """``start + step · i``, computed in float64 or int64 and rounded once, as torch does."""
    wide = np.float64 if isinstance(start, float) or isinstance(step, float) else np.int64
    numbers: Array = np.arange(length, dtype=wide) * step + start
    return numbers.astype(dtype)


def view_as_real(x: Array) -> Array:
    """View complex numbers as pairs of real ones."""
    x = np.asarray(x)
    return np.stack([x.real, x.imag], axis=-1)


def view_as_complex(x: Array) -> Array:
    """View pairs of real numbers as complex ones."""
    dtype = np.complex64 if x.dtype == np.float32 else np.complex128
    return np.ascontiguousarray(x).view(dtype)[..., 0]
