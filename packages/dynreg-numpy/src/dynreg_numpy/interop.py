"""Tensors to arrays and back, without copying."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import torch

from dynreg_numpy._dtypes import BITS, NUMPY, TORCH

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["from_array", "strided", "to_array"]

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


def to_array(tensor: torch.Tensor) -> Array:
    """Return an array that shares the tensor's memory, with its strides.

    Args:
        tensor: Any dense CPU tensor. One with the conjugate or negative bit set is copied, since
            NumPy has no such bits.

    Returns:
        An array of the same shape, strides and bits; bfloat16 and float8 through ml_dtypes.

    Raises:
        TypeError: The tensor is not dense, or lies on another device.
    """
    if tensor.layout is not torch.strided or tensor.device.type != "cpu":
        raise TypeError(
            f"the numpy backend takes dense CPU tensors, not {tensor.layout} on {tensor.device}"
        )
    bits = BITS.get(tensor.dtype)
    if bits is not None:
        return tensor.detach().view(bits).numpy().view(NUMPY[tensor.dtype])
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    return tensor.detach().numpy()


def from_array(array: Any) -> torch.Tensor:
    """Return a tensor that shares the array's memory, with its strides.

    Args:
        array: An array, or a NumPy scalar, which is what NumPy's functions return for 0-d.

    Returns:
        A tensor of the same shape and dtype. Memory is copied only where torch cannot express
        the array: negative strides, strides that are no whole number of items, read-only memory.
    """
    array = np.asarray(array)
    if not array.flags.writeable or any(
        step < 0 or step % array.itemsize for step in array.strides
    ):
        array = array.copy()
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    dtype = TORCH[array.dtype]
    bits = BITS.get(dtype)
    if bits is not None:
        return torch.from_numpy(array.view(NUMPY[bits])).view(dtype)
    return torch.from_numpy(array)


def strided(array: Any, strides: Sequence[int]) -> Array:
    """Return the array with the strides that torch promises.

    Args:
        array: An array or a NumPy scalar.
        strides: Wanted strides, in elements.

    Returns:
        The array itself where its strides are these (the stride of a dimension of size 1 does
        not count), or a copy.
    """
    array = np.asarray(array)
    item = array.itemsize
    if array.size <= 1 or all(
        have == want * item or size == 1
        for have, want, size in zip(array.strides, strides, array.shape, strict=True)
    ):
        if array.strides == tuple(want * item for want in strides):
            return array
        # Only the strides of dimensions of size one differ, or there is at most one element: the
        # same memory will do. NumPy has no public setter that keeps the owner but this one.
        return np.lib.stride_tricks.as_strided(
            array, array.shape, tuple(want * item for want in strides)
        )
    extent = 1 + sum((size - 1) * want for size, want in zip(array.shape, strides, strict=True))
    memory = np.empty(extent, array.dtype)
    result = np.lib.stride_tricks.as_strided(
        memory, array.shape, tuple(want * item for want in strides)
    )
    result[...] = array
    return result
