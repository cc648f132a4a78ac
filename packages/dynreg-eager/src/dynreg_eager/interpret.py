"""``eager_interpret``: the graph, node by node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import fx

from dynreg_core import parse_options
from dynreg_eager._nodes import add_note, describe_failure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["InterpretOptions", "InterpretedGraph", "eager_interpret"]


@dataclass(frozen=True)
class InterpretOptions:
    """What ``torch.compile(model, backend="eager_interpret", options={...})`` takes.

    Attributes:
        free_values: Drop each value after its last use, so that peak memory is that of eager.
        hook: Called as ``hook(node, value)`` after each node, with the ``torch.fx.Node`` and what
            it gave; what it raises ends the call.
    """

    free_values: bool = True
    hook: Callable[[fx.Node, Any], None] | None = None


def eager_interpret(
    graph_module: fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> InterpretedGraph:
    """Run a Dynamo graph node by node with torch's own kernels.

    Autograd, mutation and aliasing are those of eager mode. An exception keeps its type and gains
    a note with the node, its arguments, and the line of the user's code.

    Args:
        graph_module: The graph that Dynamo captured.
        example_inputs: Not looked at; any inputs that the graph's guards admit will do.
        mode: Accepted so that a call can move over from another backend; there is one mode.
        options: See :class:`InterpretOptions`.

    Returns:
        A callable that takes the graph's inputs and returns its outputs.

    Raises:
        dynreg_core.errors.BackendOptionError: An option is unknown or has a wrong value.
    """
    del example_inputs, mode
    return InterpretedGraph(
        graph_module, parse_options(InterpretOptions, options, backend="eager_interpret")
    )


@dataclass(frozen=True)
class _Step:
    """One node, with all that can be known before it runs.

    Attributes:
        node: The node.
        run: What is called; of a method, a function that looks it up.
        args: Arguments, with places in the table of values where nodes were.
        kwargs: Likewise.
        places: Places of the arguments where ``args`` are nodes only and ``kwargs`` none.
        place: Where the result goes.
        dead: Places that nothing reads afterwards.
    """

    node: fx.Node
    run: Callable[..., Any]
    args: Any
    kwargs: Any
    places: tuple[int, ...] | None
    place: int
    dead: tuple[int, ...]


@dataclass(frozen=True)
class _Place:
    """Stands for a node in the arguments of a step."""

    index: int


class InterpretedGraph:
    """A graph that runs node by node.

    Args:
        graph_module: The graph.
        options: See :class:`InterpretOptions`.
    """

    def __init__(self, graph_module: fx.GraphModule, options: InterpretOptions) -> None:
        self._hook = options.hook
        nodes = list(graph_module.graph.nodes)
        self._places = {node: place for place, node in enumerate(nodes)}
        dead = _last_uses(nodes, self._places) if options.free_values else {}
        self._initial: list[Any] = [None] * len(nodes)
        self._inputs: list[tuple[int, Any]] = []
        self._steps: list[_Step] = []
        self._output: Any = None
        for node in nodes:
            place = self._places[node]
            if node.op == "placeholder":
                default = node.args[0] if node.args else None
                self._inputs.append((place, default))
            elif node.op == "get_attr":
                self._initial[place] = _attribute(graph_module, str(node.target))
            elif node.op == "output":
                self._output = self._located(node.args[0])
            else:
                self._steps.append(self._step(graph_module, node, dead.get(node, ())))

    def _step(self, module: fx.GraphModule, node: fx.Node, dead: tuple[int, ...]) -> _Step:
        if node.op == "call_module":
            run: Callable[..., Any] = module.get_submodule(str(node.target))
        elif node.op == "call_method":
            run = _Method(str(node.target))
        else:
            run = node.target  # type: ignore[assignment] # of call_function it is a callable
        args, kwargs = self._located(node.args), self._located(node.kwargs)
        plain = not kwargs and all(isinstance(arg, _Place) for arg in args)
        places = tuple(arg.index for arg in args) if plain else None
        return _Step(node, run, args, kwargs, places, self._places[node], dead)

    def _located(self, argument: Any) -> Any:
        def place(node: fx.Node) -> Any:
            return _Place(self._places[node])

        return fx.map_arg(argument, place)

    def __call__(self, *inputs: Any) -> Any:
        """Run the graph on its inputs."""
        values = self._initial.copy()
        for number, (place, default) in enumerate(self._inputs):
            values[place] = inputs[number] if number < len(inputs) else default
        hook = self._hook
        for step in self._steps:
            try:
                if step.places is not None:
                    result = step.run(*[values[place] for place in step.places])
                else:
                    result = step.run(*_filled(step.args, values), **_filled(step.kwargs, values))
            except Exception as error:
                args, kwargs = _filled(step.args, values), _filled(step.kwargs, values)
                add_note(error, describe_failure(step.node, args, kwargs))
                raise
            values[step.place] = result
            if hook is not None:
                hook(step.node, result)
            for place in step.dead:
                values[place] = None
        return _filled(self._output, values)


@dataclass(frozen=True)
class _Method:
    """Calls a method of its first argument."""

    name: str

    def __call__(self, owner: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(owner, self.name)(*args, **kwargs)


def _filled(argument: Any, values: list[Any]) -> Any:
    """Put values where places are; containers of the argument are made anew."""
    if isinstance(argument, _Place):
        return values[argument.index]
    if isinstance(argument, tuple):
        parts = [_filled(part, values) for part in argument]
        return type(argument)(*parts) if hasattr(argument, "_fields") else tuple(parts)
    if isinstance(argument, list):
        return [_filled(part, values) for part in argument]
    if isinstance(argument, dict):
        return {key: _filled(part, values) for key, part in argument.items()}
    if isinstance(argument, slice):
        ends = (argument.start, argument.stop, argument.step)
        return slice(*(_filled(end, values) for end in ends))
    return argument


def _attribute(module: torch.nn.Module, path: str) -> Any:
    found: Any = module
    for part in path.split("."):
        found = getattr(found, part)
    return found


def _last_uses(
    nodes: Sequence[fx.Node], places: Mapping[fx.Node, int]
) -> dict[fx.Node, tuple[int, ...]]:
    """For each node, the places that it is the last to read; attributes stay."""
    last: dict[fx.Node, fx.Node] = {}
    for node in nodes:
        last[node] = node
        for used in node.all_input_nodes:
            last[used] = node
    dead: dict[fx.Node, tuple[int, ...]] = {}
    for used, node in last.items():
        if used.op not in {"get_attr", "output"}:
            dead[node] = (*dead.get(node, ()), places[used])
    return dead
