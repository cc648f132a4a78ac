"""One graph, from ATen ops to a callable on tensors."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from dynreg_numpy import counters
from dynreg_numpy._lower import Lowered, lower
from dynreg_numpy.codegen import Generated, generate, load, next_graph_name
from dynreg_numpy.interop import from_array, from_view, to_array
from dynreg_numpy.ir import Program, Value, root
from dynreg_numpy.passes import run_passes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import fx

    from dynreg_numpy._options import Options

__all__ = ["CompiledGraph", "compile_graph"]

log = logging.getLogger("dynreg_numpy")


def compile_graph(
    graph_module: fx.GraphModule, example_inputs: Sequence[Any], *, options: Options, kind: str
) -> CompiledGraph:
    """Compile one functional graph of ATen ops.

    Args:
        graph_module: The graph, with fake tensors in ``node.meta["val"]``.
        example_inputs: Its inputs as AOTAutograd passes them; their types are in the graph too.
        options: The backend's options.
        kind: ``forward``, ``backward`` or ``inference``, for its name.

    Returns:
        A callable in AOTAutograd's boxed convention: it takes a list, which it empties.

    Raises:
        MissingLoweringError: An op has no lowering and ``options.fallback`` is ``error``.
    """
    del example_inputs

    def generated_from(lowered: Lowered, name: str) -> tuple[Program, Generated]:
        program = run_passes(lowered.program, disable=options.disable_passes)
        generated = generate(program, next_graph_name(name))
        if options.dump:
            dump(generated, Path(options.dump))
        log.debug("%s\n%s", generated.filename, generated.source)
        return program, generated

    lowered = lower(
        graph_module,
        allow_fallback=options.fallback == "torch",
        subgraph=lambda inner, name: load(generated_from(inner, name)[1]),
    )
    counters.record(lowered.native, lowered.fallback)
    return CompiledGraph(*generated_from(lowered, kind))


def dump(generated: Generated, folder: Path) -> None:
    """Write the source of a graph into a folder, which is made if need be."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{generated.name}.py").write_text(generated.source, encoding="utf-8")


class CompiledGraph:
    """A compiled graph, called with a list of tensors and numbers.

    Attributes:
        source: The NumPy source that it runs.
    """

    def __init__(self, program: Program, generated: Generated) -> None:
        # AOTAutograd's mark of the boxed convention. torch._dynamo.disable wraps what a backward
        # compiler returns and carries only the instance's own attributes over.
        self._boxed_call = True
        self.source = generated.source
        self._generated = generated
        self._kernel = load(generated)
        self._into = [_converter(value) for value in program.inputs]
        inputs = {value: i for i, value in enumerate(program.inputs) if isinstance(value, Value)}
        self._out_of = [
            _Output.of(output, storage, inputs)
            for output, storage in zip(program.outputs, program.storages, strict=True)
        ]

    def __call__(self, args: list[Any]) -> list[Any]:
        """Run the graph; ``args`` is emptied, so that what dies in it can be freed."""
        kept = {output.base: args[output.base] for output in self._out_of if output.base >= 0}
        arrays = [into(arg) for into, arg in zip(self._into, args, strict=True)]
        args.clear()
        results = self._run(arrays)
        return [
            output.convert(result, kept.get(output.base))
            for output, result in zip(self._out_of, results, strict=True)
        ]

    def _run(self, arrays: list[Any]) -> tuple[Any, ...]:
        try:
            with np.errstate(all="ignore"):  # torch is silent about overflow and invalid values
                return self._kernel(*arrays)
        except Exception as error:
            self._explain(error)
            if _is_linalg_error(error):
                kind = torch.linalg.LinAlgError  # type: ignore[attr-defined]  # not in its stub
                raised = kind(str(error)).with_traceback(error.__traceback__)
                _add_note(raised, *getattr(error, "__notes__", ()))
                raise raised from None
            raise

    def _explain(self, error: Exception) -> None:
        """Add to an error which op it comes from, and where the user wrote it."""
        traceback = error.__traceback__
        while traceback is not None:
            if traceback.tb_frame.f_code.co_filename == self._generated.filename:
                origin = self._generated.lines.get(traceback.tb_lineno)
                if origin is not None:
                    where = f" at {origin.location}: {origin.code}" if origin.location else ""
                    _add_note(error, f"in {origin.op}{where}")
            traceback = traceback.tb_next


@dataclass(frozen=True)
class _Output:
    """How a result of the kernel becomes one of the graph.

    Attributes:
        convert: Called with the result and the input below.
        base: Number of the input that it is, or that it may share memory with; -1 for none.
    """

    convert: Callable[[Any, Any], Any]
    base: int = -1

    @classmethod
    def of(cls, output: Any, storage: str, inputs: Mapping[Value, int]) -> _Output:
        """Look at an output of a program, and at which memory torch has it in."""
        if not isinstance(output, Value):
            return cls(lambda result, _: result)
        owner = root(output)
        if owner not in inputs or owner.name != storage:
            return cls(lambda result, _: from_array(result))
        if output is owner:  # the very tensor that came in
            return cls(lambda _, base: base, inputs[owner])
        return cls(from_view, inputs[owner])


def _is_linalg_error(error: Exception) -> bool:
    """Whether it is the one error of the runtime that stands for a type of torch's."""
    linalg = sys.modules.get("dynreg_numpy.runtime.linalg")
    return linalg is not None and isinstance(error, linalg.LinAlgError)


def _add_note(error: Exception, *notes: str) -> None:
    # BaseException.add_note came with Python 3.11; this is what it does.
    error.__notes__ = [*getattr(error, "__notes__", ()), *notes]


def _converter(value: Any) -> Callable[[Any], Any]:
    """Return what makes an argument of the kernel from one of the graph."""
    return _array_or_token if isinstance(value, Value) else _plain_number


def _array_or_token(tensor: torch.Tensor | None) -> Any:
    """AOTAutograd passes ``None`` for a token, which orders effects and has no value."""
    return None if tensor is None else to_array(tensor)


def _plain_number(number: Any) -> Any:
    """Sizes come as numbers; an input that is not used may be anything, and is not looked at."""
    return None if isinstance(number, torch.Tensor) else number
