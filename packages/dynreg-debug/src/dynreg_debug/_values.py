"""Copying and comparing what graphs take and give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

__all__ = ["Tolerance", "clone", "describe_difference", "detach"]


@dataclass(frozen=True)
class Tolerance:
    """How far apart two values may be.

    Attributes:
        rtol: Relative tolerance; ``None`` for that of ``torch.testing`` for the dtype.
        atol: Absolute tolerance, likewise.
    """

    rtol: float | None = None
    atol: float | None = None


def clone(value: Any) -> Any:
    """Copy a tensor with its strides, as a leaf that requires a gradient where it does."""
    if not isinstance(value, torch.Tensor):
        return value
    with torch.no_grad():
        copy = value.detach().clone(memory_format=torch.preserve_format)
    return copy.requires_grad_(value.requires_grad)


def detach(value: Any) -> Any:
    """Return a tensor without its history; other values as they are."""
    return value.detach() if isinstance(value, torch.Tensor) else value


def describe_difference(actual: Any, expected: Any, tolerance: Tolerance) -> str:
    """Say how a value differs from what was expected; empty where it does not."""
    if not isinstance(expected, torch.Tensor) or not isinstance(actual, torch.Tensor):
        same = type(actual) is type(expected) and actual == expected
        return "" if same else f"{actual!r} is not {expected!r}"
    try:
        torch.testing.assert_close(
            actual.detach(),
            expected.detach(),
            rtol=tolerance.rtol,
            atol=tolerance.atol,
            equal_nan=True,
        )
    except AssertionError as error:
        return str(error)
    return ""
