"""Which ops are taken apart before lowering."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch._decomp import core_aten_decompositions, get_decompositions

from dynreg_numpy.lowering import LOWERINGS

__all__ = ["decompositions"]

aten = torch.ops.aten

#: Ops outside of torch's core set that torch has a decomposition for, and that we do not lower.
_FURTHER = [
    aten.native_batch_norm,
    aten._native_batch_norm_legit,
    aten._native_batch_norm_legit_functional,
    aten._native_batch_norm_legit_no_training,
    aten._batch_norm_with_update_functional,
    aten.batch_norm_backward,
    aten.native_group_norm,
    aten.native_dropout,
    aten._scaled_dot_product_flash_attention_for_cpu,
    aten._adaptive_avg_pool2d,
    aten.avg_pool2d_backward,
]


@functools.cache
def decompositions() -> dict[Any, Any]:
    """Return the table for AOTAutograd: torch's core set and a few more, less what is lowered."""
    import dynreg_numpy.lowerings  # noqa: F401, PLC0415 - fills the table that is read below

    table = {**core_aten_decompositions(), **get_decompositions(_FURTHER)}
    return {op: rule for op, rule in table.items() if op not in LOWERINGS}
