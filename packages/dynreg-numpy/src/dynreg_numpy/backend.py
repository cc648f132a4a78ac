"""The backend itself, as torch.compile calls it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from torch._dynamo.backends.common import aot_autograd

from dynreg_core import parse_options
from dynreg_numpy._compile import compile_graph
from dynreg_numpy._decompositions import decompositions
from dynreg_numpy._options import Options

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from torch import fx

__all__ = ["numpy_backend"]


def numpy_backend(
    graph_module: fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Callable[..., Any]:
    """Compile a Dynamo graph to NumPy source, forward and backward.

    Args:
        graph_module: The graph that Dynamo captured.
        example_inputs: Fake tensors and sizes that stand for its inputs.
        mode: Accepted so that a call can move over from another backend; there is one mode.
        options: See :class:`dynreg_numpy.Options`.

    Returns:
        The compiled function.

    Raises:
        dynreg_core.errors.BackendOptionError: An option is unknown or has a wrong value.
        MissingLoweringError: An op has no lowering and ``fallback`` is ``error``.
    """
    del mode
    chosen = parse_options(Options, options, backend="numpy")
    compilers = {
        kind: partial(compile_graph, options=chosen, kind=kind)
        for kind in ("forward", "backward", "inference")
    }
    compile_dynamo_graph = aot_autograd(
        fw_compiler=compilers["forward"],
        bw_compiler=compilers["backward"],
        inference_compiler=compilers["inference"],
        decompositions=decompositions(),
    )
    return compile_dynamo_graph(graph_module, example_inputs)
