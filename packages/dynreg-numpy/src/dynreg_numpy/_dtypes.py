"""Torch's dtypes and NumPy's, one to one."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import torch

__all__ = ["BITS", "NUMPY", "TORCH", "numpy_dtype", "torch_dtype"]

NUMPY: dict[torch.dtype, np.dtype[Any]] = {
    torch.bool: np.dtype(np.bool_),
    torch.uint8: np.dtype(np.uint8),
    torch.uint16: np.dtype(np.uint16),
    torch.uint32: np.dtype(np.uint32),
    torch.uint64: np.dtype(np.uint64),
    torch.int8: np.dtype(np.int8),
    torch.int16: np.dtype(np.int16),
    torch.int32: np.dtype(np.int32),
    torch.int64: np.dtype(np.int64),
    torch.float16: np.dtype(np.float16),
    torch.float32: np.dtype(np.float32),
    torch.float64: np.dtype(np.float64),
    torch.complex32: np.dtype([("real", np.float16), ("imag", np.float16)]),
    torch.complex64: np.dtype(np.complex64),
    torch.complex128: np.dtype(np.complex128),
    torch.bfloat16: np.dtype(ml_dtypes.bfloat16),
    torch.float8_e4m3fn: np.dtype(ml_dtypes.float8_e4m3fn),
    torch.float8_e4m3fnuz: np.dtype(ml_dtypes.float8_e4m3fnuz),
    torch.float8_e5m2: np.dtype(ml_dtypes.float8_e5m2),
    torch.float8_e5m2fnuz: np.dtype(ml_dtypes.float8_e5m2fnuz),
}
TORCH = {dtype: name for name, dtype in NUMPY.items()}

#: Dtypes that NumPy knows only through ml_dtypes, or as a pair, with integers of the same size:
#: memory passes between torch and NumPy as these.
BITS: dict[torch.dtype, torch.dtype] = {
    torch.bfloat16: torch.int16,
    torch.complex32: torch.int32,
    torch.float8_e4m3fn: torch.uint8,
    torch.float8_e4m3fnuz: torch.uint8,
    torch.float8_e5m2: torch.uint8,
    torch.float8_e5m2fnuz: torch.uint8,
}


def numpy_dtype(dtype: torch.dtype) -> np.dtype[Any]:
    """Return NumPy's dtype for torch's.

    Raises:
        KeyError: NumPy has none, as for quantised dtypes.
    """
    return NUMPY[dtype]


def torch_dtype(dtype: np.dtype[Any]) -> torch.dtype:
    """Return torch's dtype for NumPy's."""
    return TORCH[dtype]
