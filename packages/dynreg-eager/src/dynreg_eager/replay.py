"""``eager_replay``: the graph as straight-line Python, with as little around each op as can be."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import fx

from dynreg_core import parse_options
from dynreg_eager._bindings import bind
from dynreg_eager._code import StraightLine
from dynreg_eager._reuse import is_plain, plan_in_place, shares_memory, uses_gradients

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["ReplayOptions", "ReplayedGraph", "eager_replay"]

_BELOW_AUTOGRAD: Any = torch._C._AutoDispatchBelowAutograd  # noqa: SLF001 - has no other name

log = logging.getLogger("dynreg_eager")


@dataclass(frozen=True)
class ReplayOptions:
    """What ``torch.compile(model, backend="eager_replay", options={...})`` takes.

    Attributes:
        reuse: Let an op overwrite an argument that dies there, where that is proved safe.
        skip_autograd: Run the kernels of a graph without gradients below autograd's dispatch.
    """

    reuse: bool = True
    skip_autograd: bool = True


def eager_replay(
    graph_module: fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> ReplayedGraph:
    """Run a Dynamo graph with torch's own kernels, from straight-line Python.

    Each op calls the function of torch's C extension that eager mode ends in. An overload object,
    as in ``torch.ops.aten.add.Tensor``, would do the same at about twice the cost of a call. Where
    the graph needs gradients, autograd records it as in eager mode.

    Args:
        graph_module: The graph that Dynamo captured.
        example_inputs: Not looked at; the graph carries fake tensors of its own.
        mode: Accepted so that a call can move over from another backend; there is one mode.
        options: See :class:`ReplayOptions`.

    Returns:
        A callable that takes the graph's inputs and returns its outputs.

    Raises:
        dynreg_core.errors.BackendOptionError: An option is unknown or has a wrong value.
    """
    del example_inputs, mode
    chosen = parse_options(ReplayOptions, options, backend="eager_replay")
    return ReplayedGraph(graph_module, chosen)


class ReplayedGraph:
    """A graph as a function.

    Args:
        graph_module: The graph.
        options: See :class:`ReplayOptions`.

    Attributes:
        inference: Whether no value of the graph takes part in autograd, and all ops are known to
            be kernels of torch.
        source: The source that runs.
    """

    def __init__(self, graph_module: fx.GraphModule, options: ReplayOptions) -> None:
        graph = graph_module.graph
        calls = {
            node: bind(graph_module, node)
            for node in graph.nodes
            if node.op in {"call_function", "call_method", "call_module"}
        }
        self.inference = all(map(is_plain, graph.nodes)) and not uses_gradients(graph)
        reuse = self.inference and options.reuse
        in_place = plan_in_place(graph, calls.__getitem__) if reuse else {}
        # Below autograd nobody counts writes or notes what is a view: neither may leave the graph.
        below = self.inference and options.skip_autograd and not shares_memory(graph)
        around = _BELOW_AUTOGRAD if below else None
        self._code = StraightLine(graph_module, calls=calls, in_place=in_place, around=around)
        self._function = self._code.function
        self.source = self._code.source
        log.debug("%s", self.source)

    def __call__(self, *inputs: Any) -> Any:
        """Run the graph on its inputs."""
        try:
            return self._function(*inputs)
        except Exception as error:
            self._code.explain(error)
            raise
