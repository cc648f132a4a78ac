"""Copying and comparing what graphs take and give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import Parameter

if TYPE_CHECKING:
    from collections.abc import Sequence

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


def clone(values: Sequence[Any]) -> list[Any]:
    """Copy tensors with their strides and offsets; those that share memory share it again.

    Args:
        values: The inputs of a graph; what is not a tensor is passed on.

    Returns:
        Copies, each a leaf that requires a gradient where the original does.
    """
    copies: dict[int, torch.UntypedStorage] = {}
    return [_clone(value, copies) if isinstance(value, torch.Tensor) else value for value in values]


def _clone(value: torch.Tensor, copies: dict[int, torch.UntypedStorage]) -> torch.Tensor:
    with torch.no_grad():
        if value.layout is not torch.strided or type(value) not in {torch.Tensor, Parameter}:
            copy = value.detach().clone()
        else:
            storage = value.untyped_storage()
            key = storage._cdata  # noqa: SLF001 - torch has no public identity of a storage
            if key not in copies:
                copies[key] = storage.clone()  # type: ignore[no-untyped-call] # untyped in torch
            copy = torch.empty(0, dtype=value.dtype, device=value.device)
            copy.set_(copies[key], value.storage_offset(), value.shape, value.stride())
            copy = copy.conj() if value.is_conj() else copy
            copy = torch._neg_view(copy) if value.is_neg() else copy  # noqa: SLF001 - no public name
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
