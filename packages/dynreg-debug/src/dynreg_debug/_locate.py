"""Finding the first node of a graph whose value another backend gets wrong."""

from __future__ import annotations

import copy
import re
from typing import TYPE_CHECKING, Any

import torch
from torch import fx

from dynreg_debug._values import Tolerance, clone, describe_difference, detach

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["locate", "source_of"]

_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in [^\n]*(?:\n(?P<code>[^\n]*))?')


def locate(
    graph_module: fx.GraphModule,
    inputs: Sequence[Any],
    compile_copy: Callable[[fx.GraphModule, Sequence[Any]], Any],
    tolerance: Tolerance,
    random_state: torch.Tensor,
    *,
    gradients: bool,
) -> dict[str, str]:
    """Ask for the value of every node at once, from the backend and from eager.

    Args:
        graph_module: The graph.
        inputs: Its inputs, as they were before it ran.
        compile_copy: Compiles a copy of a graph with the backend.
        tolerance: How far apart two values may be.
        random_state: State of the random number generator that both start from.
        gradients: Whether to compare the gradients of the values, from the last node to the
            first, with ones as the gradients of the outputs.

    Returns:
        ``node``, ``target``, ``source`` and ``node_detail`` of a
        :class:`~dynreg_debug.Difference`; empty where no value differs.
    """
    exposed, nodes = expose(graph_module)
    state = torch.get_rng_state()
    values = []
    try:
        # A backward hook, from where gradients are compared, runs with gradients switched off.
        with torch.set_grad_enabled(gradients or torch.is_grad_enabled()):
            for run in (compile_copy(exposed, inputs), exposed):
                torch.set_rng_state(random_state)
                copies = clone(inputs)
                outputs = run(*copies)
                shown = [*copies, *outputs[: len(nodes)]]
                values.append(_gradients(outputs[len(nodes) :], shown) if gradients else shown)
    finally:
        torch.set_rng_state(state)
    named = [*(node for node in exposed.graph.nodes if node.op == "placeholder"), *nodes]
    order = range(len(named) - 1, -1, -1) if gradients else range(len(named))
    for index in order:
        detail = describe_difference(detach(values[0][index]), detach(values[1][index]), tolerance)
        if detail:
            node = _consumer(named[index]) if gradients else named[index]
            return {
                "node": node.name,
                "target": _target(node),
                "source": source_of(node),
                "node_detail": detail,
            }
    return {}


def _consumer(node: fx.Node) -> fx.Node:
    """Return the node whose backward gives the gradient of a value, where there is one such."""
    users = [user for user in node.users if user.op != "output"]
    return users[0] if len(users) == 1 else node


def expose(graph_module: fx.GraphModule) -> tuple[fx.GraphModule, list[fx.Node]]:
    """Return a copy of a graph that returns the value of every node before its outputs.

    Only the nodes whose values are tensors, by their example values, are asked for.
    """
    graph = copy.deepcopy(graph_module.graph)
    nodes = [
        node
        for node in graph.nodes
        if node.op in {"call_function", "call_method", "call_module"}
        and isinstance(node.meta.get("example_value"), torch.Tensor)
    ]
    output = next(node for node in graph.nodes if node.op == "output")
    returned = output.args[0] if isinstance(output.args[0], (tuple, list)) else output.args
    output.args = ((*nodes, *returned),)
    return fx.GraphModule(graph_module, graph), nodes


def _gradients(outputs: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    """Return the gradients of values with respect to the graph's outputs."""
    real = [value for value in outputs if _differentiable(value)]
    wanted = [i for i, value in enumerate(values) if _differentiable(value)]
    gradients: list[Any] = [None] * len(values)
    if not real or not wanted:
        return gradients
    found = torch.autograd.grad(
        real,
        [values[i] for i in wanted],
        [torch.ones_like(value) for value in real],
        allow_unused=True,
    )
    for index, gradient in zip(wanted, found, strict=True):
        gradients[index] = gradient
    return gradients


def _differentiable(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.requires_grad


def _target(node: fx.Node) -> str:
    if isinstance(node.target, str):
        return node.target
    module = getattr(node.target, "__module__", None)
    name = getattr(node.target, "__name__", str(node.target))
    return f"{module}.{name}" if module else str(name)


def source_of(node: fx.Node) -> str:
    """Return the user's ``file:line: code`` for a node; empty where Dynamo does not know it."""
    frames = list(_FRAME.finditer(node.meta.get("stack_trace") or ""))
    if not frames:
        return ""
    code = (frames[-1]["code"] or "").strip()
    return f"{frames[-1]['file']}:{frames[-1]['line']}" + (f": {code}" if code else "")
