"""What a node of a graph is called, where the user wrote it, and what it was given."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import torch
from torch._ops import OpOverload

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import fx

__all__ = ["add_note", "describe_failure", "describe_value", "source_of"]

_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in [^\n]*(?:\n(?P<code>[^\n]*))?')


def source_of(node: fx.Node) -> str:
    """Return the user's ``file:line: code`` for a node; empty where Dynamo does not know it."""
    frames = list(_FRAME.finditer(node.meta.get("stack_trace") or ""))
    if not frames:
        return ""
    last = frames[-1]
    code = (last["code"] or "").strip()
    return f"{last['file']}:{last['line']}" + (f": {code}" if code else "")


def describe_value(value: Any) -> str:
    """Describe a value in one line: of a tensor its dtype, shape, strides and device."""
    if isinstance(value, torch.Tensor):
        dtype = str(value.dtype).removeprefix("torch.")
        if value.layout is not torch.strided:
            return f"{dtype}{list(value.shape)} {value.layout} on {value.device}"
        return f"{dtype}{list(value.shape)} strides {list(value.stride())} on {value.device}"
    if isinstance(value, (tuple, list)):
        return f"{type(value).__name__}({', '.join(map(describe_value, value))})"
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def describe_failure(node: fx.Node, args: Sequence[Any], kwargs: dict[str, Any]) -> str:
    """Say which node of a graph failed, on what, and where the user wrote it."""
    target = node.target if isinstance(node.target, str) else _qualified_name(node.target)
    lines = [f"while running node {node.name} = {target}"]
    lines += [f"  argument {i}: {describe_value(arg)}" for i, arg in enumerate(args)]
    lines += [f"  {name}: {describe_value(arg)}" for name, arg in kwargs.items()]
    source = source_of(node)
    lines.append(f"  at {source}" if source else "  at an unknown line of the user's code")
    return "\n".join(lines)


def _qualified_name(target: Any) -> str:
    if isinstance(target, OpOverload):
        return str(target)
    module, name = getattr(target, "__module__", None), getattr(target, "__name__", repr(target))
    return f"{module}.{name}" if module else str(name)


def add_note(error: BaseException, note: str) -> None:
    """Add a note to an exception, as ``BaseException.add_note`` of Python 3.11 does."""
    if hasattr(error, "add_note"):
        error.add_note(note)
    else:
        error.__notes__ = [*getattr(error, "__notes__", ()), note]
