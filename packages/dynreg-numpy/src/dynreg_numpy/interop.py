"""Tensors to arrays and back, without copying."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import torch

from dynreg_numpy._dtypes import BITS, NUMPY, TORCH
from dynreg_numpy.runtime import layout

__all__ = ["from_array", "from_view", "to_array"]

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
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    bits = BITS.get(tensor.dtype)
    if bits is not None:
        return tensor.detach().view(bits).numpy().view(NUMPY[tensor.dtype])
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
    if any(step < 0 or step % array.itemsize for step in array.strides):
        array = array.copy()
    elif not array.flags.writeable:
        array = layout.own(array)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    dtype = TORCH[array.dtype]
    bits = BITS.get(dtype)
    if bits is not None:
        return torch.from_numpy(array.view(NUMPY[bits])).view(dtype)
    return torch.from_numpy(array)


def from_view(array: Any, base: torch.Tensor) -> torch.Tensor:
    """Return a tensor for an array that may be a view of a tensor's memory.

    Args:
        array: An array or a NumPy scalar.
        base: The tensor whose memory it may lie in.

    Returns:
        A view in the storage of ``base``, with the offset that it has there, where the array lies
        in it; otherwise as :func:`from_array`.
    """
    array = np.asarray(array)
    storage, item = base.untyped_storage(), array.itemsize
    offset = array.__array_interface__["data"][0] - storage.data_ptr()
    inside = 0 <= offset < storage.nbytes() and array.dtype == NUMPY[base.dtype]
    if not inside or any(step < 0 or step % item for step in array.strides) or offset % item:
        return from_array(array)
    strides = [step // item for step in array.strides]
    return base.detach().as_strided(array.shape, strides, offset // item)
