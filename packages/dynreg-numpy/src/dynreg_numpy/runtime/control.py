"""Control flow: loops and branches over compiled subgraphs.

A subgraph is a function of arrays and sizes that returns a tuple of arrays. Results never share
memory with operands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dynreg_numpy.runtime.layout import own

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dynreg_numpy.runtime._arrays import Array

__all__ = ["associative_scan", "call", "cond", "map_over", "scan", "while_loop"]

Subgraph: TypeAlias = "Callable[..., tuple[Any, ...]]"


def _apart(results: Sequence[Any], operands: Sequence[Any]) -> tuple[Any, ...]:
    arrays = [x for x in operands if isinstance(x, np.ndarray)]
    return tuple(
        own(x)
        if isinstance(x, np.ndarray) and any(np.may_share_memory(x, y) for y in arrays)
        else x
        for x in results
    )


def call(subgraph: Subgraph, operands: Sequence[Any]) -> tuple[Any, ...]:
    """Run a subgraph, as ``invoke_subgraph`` does."""
    return _apart(subgraph(*operands), operands)


def cond(
    predicate: Any, if_true: Subgraph, if_false: Subgraph, operands: Sequence[Any]
) -> tuple[Any, ...]:
    """Run one of two subgraphs, as ``torch.cond`` does."""
    return call(if_true if predicate else if_false, operands)


def while_loop(
    condition: Subgraph, body: Subgraph, carried: Sequence[Any], others: Sequence[Any]
) -> tuple[Any, ...]:
    """Run ``body`` as long as ``condition`` holds, as ``while_loop`` does.

    Args:
        condition: of what is carried and the others, to one boolean.
        body: of the same, to what is carried on.
        carried: what it begins with.
        others: what stays the same.
    """
    state = tuple(carried)
    while condition(*state, *others)[0]:
        state = tuple(body(*state, *others))
    return _apart(state, [*carried, *others])


def scan(
    combine: Subgraph, initial: Sequence[Any], arrays: Sequence[Array], others: Sequence[Any]
) -> tuple[Any, ...]:
    """Carry a state along the first dimension of arrays, as ``scan`` does.

    Args:
        combine: of the state, one slice of each array, and the others, to the next state and what
            is collected.
        initial: the state to begin with.
        arrays: of equal length in the first dimension, which is not zero.
        others: what stays the same.

    Returns:
        The last state, and each thing collected, stacked in a new first dimension.
    """
    state = tuple(initial)
    collected: list[Sequence[Any]] = []
    for step in range(len(arrays[0])):
        results = combine(*state, *(x[step] for x in arrays), *others)
        state = tuple(results[: len(state)])
        collected.append(results[len(state) :])
    stacked = [np.stack(parts) for parts in zip(*collected, strict=True)]
    return _apart((*state, *stacked), [*initial, *arrays, *others])


def map_over(function: Subgraph, arrays: Sequence[Array], others: Sequence[Any]) -> tuple[Any, ...]:
    """Apply a subgraph to each slice of the first dimension, as ``map_impl`` does."""
    rows = [function(*(x[i] for x in arrays), *others) for i in range(len(arrays[0]))]
    return tuple(None if parts[0] is None else np.stack(parts) for parts in zip(*rows, strict=True))


def associative_scan(
    combine: Subgraph, arrays: Sequence[Array], others: Sequence[Any]
) -> tuple[Any, ...]:
    """Combine all elements up to each of the first dimension, as ``associative_scan`` does."""
    state = tuple(x[:1] for x in arrays)
    steps = [state]
    for i in range(1, len(arrays[0])):
        state = tuple(combine(*state, *(x[i : i + 1] for x in arrays), *others))
        steps.append(state)
    return tuple(np.concatenate(parts) for parts in zip(*steps, strict=True))
