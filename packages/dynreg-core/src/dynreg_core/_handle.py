"""Handles: a backend by name with its options, as one value."""

from typing import Any

from dynreg_core._types import CompilerFn


class BackendHandle:
    """A backend by name, with mode and options; equal to every handle of the same."""

    def __init__(
        self, name: str, compiler_fn: CompilerFn, mode: str | None, options: dict[str, Any]
    ) -> None:
        self.__name__ = name
        self._compiler_fn = compiler_fn
        self.mode = mode
        self.options = options

    def __call__(self, graph_module: Any, example_inputs: Any, **kwargs: Any) -> Any:
        """Compile a graph, as torch calls it."""
        return self._compiler_fn(graph_module, example_inputs, **kwargs)
