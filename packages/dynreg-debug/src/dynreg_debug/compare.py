"""``debug_compare``: is another backend right?"""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import fx
from torch.autograd.graph import register_multi_grad_hook

from dynreg_core import lookup_backend, parse_options
from dynreg_debug._locate import locate
from dynreg_debug._report import Difference, DifferenceError, DifferenceWarning, Kind, collect
from dynreg_debug._values import Tolerance, clone, describe_difference, detach

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["CompareOptions", "ComparedGraph", "debug_compare"]


@dataclass(frozen=True)
class CompareOptions:
    """What ``torch.compile(model, backend="debug_compare", options={...})`` takes.

    Attributes:
        backend: Name of the backend to compare with eager.
        options: Options of that backend.
        on_difference: ``raise`` a :class:`~dynreg_debug.DifferenceError`, ``warn`` and go on with
            that backend's results, or ``collect`` for ``dynreg_debug.collected_differences``.
        rtol: Relative tolerance; that of ``torch.testing`` for the dtype by default.
        atol: Absolute tolerance, likewise; give both or neither.
    """

    backend: str = "inductor"
    options: dict[str, Any] = field(default_factory=dict)
    on_difference: Literal["raise", "warn", "collect"] = "raise"
    rtol: float | None = None
    atol: float | None = None

    def __post_init__(self) -> None:
        if (self.rtol is None) != (self.atol is None):
            raise ValueError("rtol and atol are given both or neither")


def debug_compare(
    graph_module: fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> ComparedGraph:
    """Run a Dynamo graph on another backend and on eager, and compare all that they give.

    Outputs, mutations of inputs, and gradients are compared. The results that the program goes on
    with are those of the other backend; its copy of the graph is its own, and eager runs on copies
    of the inputs, from the same state of the random number generator.

    Args:
        graph_module: The graph that Dynamo captured.
        example_inputs: Its example inputs.
        mode: Passed on to the other backend.
        options: See :class:`CompareOptions`.

    Returns:
        A callable that takes the graph's inputs and returns its outputs.

    Raises:
        dynreg_core.errors.BackendOptionError: An option is unknown or has a wrong value.
        dynreg_core.errors.UnknownBackendError: The other backend does not exist.
    """
    chosen = parse_options(CompareOptions, options, backend="debug_compare")
    keywords: dict[str, Any] = {"options": dict(chosen.options)} if chosen.options else {}
    if mode is not None:
        keywords["mode"] = mode
    compiler_fn = lookup_backend(chosen.backend)

    def compile_copy(graph: fx.GraphModule, inputs: Sequence[Any]) -> Any:
        return compiler_fn(copied(graph), list(inputs), **keywords)

    return ComparedGraph(graph_module, example_inputs, compile_copy, chosen)


def copied(graph_module: fx.GraphModule) -> fx.GraphModule:
    """Copy a graph for a backend that may rewrite it; parameters and buffers stay shared."""
    return fx.GraphModule(graph_module, copy.deepcopy(graph_module.graph))


class ComparedGraph:
    """A graph that runs on another backend and is held against eager.

    Args:
        graph_module: The graph.
        example_inputs: Its example inputs.
        compile_copy: Compiles a copy of a graph with the other backend.
        options: See :class:`CompareOptions`.
    """

    def __init__(
        self,
        graph_module: fx.GraphModule,
        example_inputs: Sequence[Any],
        compile_copy: Any,
        options: CompareOptions,
    ) -> None:
        self._graph_module = graph_module
        self._options = options
        self._tolerance = Tolerance(options.rtol, options.atol)
        self._compile_copy = compile_copy
        self._compiled = compile_copy(graph_module, example_inputs)

    def __call__(self, *inputs: Any) -> Any:
        """Run the graph on its inputs, and compare."""
        before = clone(inputs)
        reference_inputs = clone(inputs)
        random_state = torch.get_rng_state()
        reference = _as_tuple(self._graph_module(*reference_inputs))
        torch.set_rng_state(random_state)

        watched = [_watch(value) for value in inputs]
        outputs = self._compiled(*watched)
        results = _as_tuple(outputs)

        self._compare("output", results, reference, before, random_state)
        self._compare("input mutation", inputs, reference_inputs, before, random_state)
        self._watch_gradients(watched, results, reference_inputs, reference, before, random_state)
        return outputs

    def _compare(
        self,
        kind: Kind,
        actual: Sequence[Any],
        expected: Sequence[Any],
        before: Sequence[Any],
        random_state: torch.Tensor,
    ) -> None:
        for index, (one, other) in enumerate(zip(actual, expected, strict=True)):
            detail = describe_difference(one, other, self._tolerance)
            if detail:
                self._report(kind, index, detail, before, random_state)
                return

    def _report(
        self,
        kind: Kind,
        index: int,
        detail: str,
        before: Sequence[Any],
        random_state: torch.Tensor,
    ) -> None:
        node = locate(
            self._graph_module,
            before,
            self._compile_copy,
            self._tolerance,
            random_state,
            gradients=kind == "gradient",
        )
        difference = Difference(self._options.backend, kind, index, detail, **node)
        if self._options.on_difference == "raise":
            raise DifferenceError(difference)
        if self._options.on_difference == "warn":
            warnings.warn(str(difference), DifferenceWarning, stacklevel=4)
        else:
            collect(difference)

    def _watch_gradients(
        self,
        watched: Sequence[Any],
        results: Sequence[Any],
        reference_inputs: Sequence[Any],
        reference: Sequence[Any],
        before: Sequence[Any],
        random_state: torch.Tensor,
    ) -> None:
        """Compare gradients when a backward pass has been through the graph."""
        leaves = [i for i, value in enumerate(watched) if _differentiable(value)]
        pairs = [
            (one, other)
            for one, other in zip(results, reference, strict=True)
            if _differentiable(one) and _differentiable(other)
        ]
        if not leaves or not pairs or not torch.is_grad_enabled():
            return
        incoming: dict[int, torch.Tensor | None] = {}

        def remember(gradients: Sequence[torch.Tensor | None]) -> None:
            incoming.update(
                (number, None if gradient is None else gradient.detach().clone())
                for number, gradient in enumerate(gradients)
            )

        def compare(gradients: Sequence[torch.Tensor | None]) -> None:
            reached = [n for n in range(len(pairs)) if incoming.get(n) is not None]
            if not reached:
                return
            expected = torch.autograd.grad(
                [pairs[n][1] for n in reached],
                [reference_inputs[i] for i in leaves],
                [incoming[n] for n in reached],
                allow_unused=True,
                retain_graph=True,
            )
            actual = [None if gradient is None else gradient.detach() for gradient in gradients]
            for index, one, other in zip(leaves, actual, expected, strict=True):
                detail = describe_difference(one, detach(other), self._tolerance)
                if detail:
                    self._report("gradient", index, detail, before, random_state)
                    return

        register_multi_grad_hook([one for one, _ in pairs], remember)
        register_multi_grad_hook([watched[i] for i in leaves], compare)


def _watch(value: Any) -> Any:
    """Return an input through which the graph's own share of the gradient can be seen.

    The gradient of the input itself may have other shares, from elsewhere in the program.
    """
    if not _differentiable(value) or not torch.is_grad_enabled():
        return value
    return value.view_as(value)


def _differentiable(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.requires_grad


def _as_tuple(outputs: Any) -> tuple[Any, ...]:
    return tuple(outputs) if isinstance(outputs, (tuple, list)) else (outputs,)
