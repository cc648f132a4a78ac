"""Running one op with torch's own kernel from the middle of a NumPy program."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from dynreg_numpy._dtypes import TORCH
from dynreg_numpy.interop import from_array, to_array

__all__ = ["TorchCall"]


class TorchCall:
    """An op of torch as a function on arrays.

    Args:
        target: An overload or a higher-order op.
    """

    def __init__(self, target: Any) -> None:
        self.target = target

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Call the op with arrays in the place of tensors; give its results as arrays."""
        with torch.no_grad():
            return _arrays(self.target(*_tensors(args), **_tensors(keywords)))


def _tensors(argument: Any) -> Any:
    if isinstance(argument, (np.ndarray, np.generic)):
        return from_array(argument)
    if isinstance(argument, (tuple, list)):
        return type(argument)(_tensors(part) for part in argument)
    if isinstance(argument, dict):
        return {key: _tensors(part) for key, part in argument.items()}
    if isinstance(argument, np.dtype):
        return TORCH[argument]
    return argument


def _arrays(result: Any) -> Any:
    if isinstance(result, torch.Tensor):
        return to_array(result)
    if isinstance(result, (tuple, list)):
        return tuple(_arrays(part) for part in result)
    return result
