"""From a program to readable NumPy source, and from the source to a function."""

from __future__ import annotations

import itertools
import linecache
import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy
from torch.utils._sympy.printers import PythonPrinter

from dynreg_numpy._dtypes import BITS, NUMPY
from dynreg_numpy.ir import Argument, ArrayType, Kind, Origin, Program, Value, operands, root, uses

if TYPE_CHECKING:
    from collections.abc import Callable


__all__ = ["FAMILIES", "RESERVED", "Generated", "generate", "load"]

FAMILIES = frozenset(
    {
        "activation",
        "attention",
        "checks",
        "control",
        "convolution",
        "elementwise",
        "fft",
        "indexing",
        "layout",
        "linalg",
        "loss",
        "matrix",
        "normalization",
        "pooling",
        "random",
        "reductions",
        "resampling",
        "sorting",
        "special",
    }
)
"""Modules of ``dynreg_numpy.runtime``."""

RESERVED = FAMILIES | {"np", "math", "kernel"}
"""Names that the source uses."""

#: Dtypes that NumPy knows only through ml_dtypes.
_EXTRA = {NUMPY[dtype] for dtype in BITS if NUMPY[dtype].names is None}


@dataclass
class Generated:
    """Source of one graph.

    Attributes:
        name: Name of the graph, which is also that of the source in tracebacks.
        source: A module with one function, ``kernel``, that takes and returns arrays.
        constants: What the source refers to and cannot spell: arrays, and ops of torch.
        lines: For each line of the source, counted from 1, where it comes from.
    """

    name: str
    source: str
    constants: dict[str, Any] = field(default_factory=dict)
    lines: dict[int, Origin] = field(default_factory=dict)

    @property
    def filename(self) -> str:
        """Name of the source in tracebacks."""
        return f"<dynreg_numpy {self.name}>"


class SizePrinter(PythonPrinter):
    """Prints sizes for code that runs without torch, on plain Python numbers."""

    def _print_ToFloat(self, expr: sympy.Expr) -> str:  # noqa: N802 - SymPy dispatches by this name
        return f"float({self._print(expr.args[0])})"

    def _helper_sqrt(self, expr: sympy.Expr) -> str:
        return f"math.sqrt({self._print(expr)})"

    def _print_Piecewise(self, expr: sympy.Expr) -> str:  # noqa: N802 - as above
        *cases, (last, _) = expr.args
        chosen = self._print(last)
        for value, condition in reversed(cases):
            chosen = f"({self._print(value)} if {self._print(condition)} else {chosen})"
        return str(chosen)


_print_size = SizePrinter().doprint


def generate(program: Program, name: str) -> Generated:
    """Write a program as source."""
    return _Writer(program, name).write()


class _Writer:
    def __init__(self, program: Program, name: str) -> None:
        self.program = program
        self.generated = Generated(name, "")
        self.modules: set[str] = set()
        self.needs: set[str] = set()
        self.bound: set[sympy.Symbol] = set()
        self.body: list[tuple[str, Origin | None]] = []

    def write(self) -> Generated:
        program = self.program
        parameters = [
            "_" if value is None else value.name if isinstance(value, Value) else f"size_{number}"
            for number, value in enumerate(program.inputs)
        ]
        parameters = [f"_{n}" if name == "_" else name for n, name in enumerate(parameters)]
        self.bind_inputs(parameters)
        deaths = self.deaths()
        for value in program.body:
            if value.function.kind not in {Kind.INPUT, Kind.CONSTANT}:
                self.assign(value)
            if value in deaths:
                self.body.append((f"del {', '.join(deaths[value])}", None))
        self.body.append((f"return ({''.join(f'{item}, ' for item in self.outputs())})", None))
        return self.finish(parameters)

    def finish(self, parameters: list[str]) -> Generated:
        head = [f'"""{self.generated.name}, compiled by dynreg-numpy."""', ""]
        head += [f"import {name}" for name in sorted(self.needs)]
        head += ["import numpy as np", ""]
        if self.modules:
            head += [f"from dynreg_numpy.runtime import {', '.join(sorted(self.modules))}", ""]
        head += ["", f"def kernel({', '.join(parameters)}):"]
        lines = list(head)
        for code, origin in self.body:
            if origin is not None:
                self.generated.lines[len(lines) + 1] = origin
            where = f"  # {origin.location or origin.op}" if origin is not None else ""
            lines.append(f"    {code}{where}")
        self.generated.source = "\n".join(lines) + "\n"
        return self.generated

    # --- sizes ---------------------------------------------------------------------------------

    def bind_inputs(self, parameters: list[str]) -> None:
        """Give every symbol of the inputs its value, from a parameter or from a shape."""
        pairs = list(zip(self.program.inputs, parameters, strict=True))
        for value, name in pairs:
            if isinstance(value, sympy.Symbol):
                self.bind(value, name)
        for value, name in pairs:
            if isinstance(value, Value):
                self.bind_shape(name, value.array)

    def bind_shape(self, name: str, array: ArrayType) -> None:
        """Give symbols that are sizes of an array their values: it is known once it exists."""
        for axis, size in enumerate(array.shape):
            if isinstance(size, sympy.Symbol):
                self.bind(size, f"{name}.shape[{axis}]")

    def bind(self, symbol: sympy.Symbol, source: str) -> None:
        if symbol not in self.bound:
            self.bound.add(symbol)
            if source.startswith("layout."):
                self.modules.add("layout")
            if str(symbol) != source:
                self.body.append((f"{symbol} = {source}", None))

    # --- assignments ---------------------------------------------------------------------------

    def assign(self, value: Value) -> None:
        if value.function.kind is Kind.FALLBACK or value.function.source.startswith("torch_"):
            self.generated.constants[value.function.source] = value.constant
        args = [self.argument(arg) for arg in value.args]
        keywords = [f"{key}={self.argument(arg)}" for key, arg in value.keywords.items()]
        if value.out is not None:
            keywords.append(f"out={value.out.name}")
        source = value.function.source
        if "{" in source:
            code = source.format(*args)
            if source == "{0}[{1}]":
                code = f"{args[0]}[{self.index(value.args[1])}]"
        else:
            family = source.partition(".")[0]
            if family in FAMILIES:
                self.modules.add(family)
            code = f"{source}({', '.join(args + keywords)})"
        self.body.append((f"{value.name} = {code}", value.origin))
        for symbol, where in value.binds.items():
            self.bind(symbol, where)
        types = value.type if isinstance(value.type, tuple) else (value.type,)
        for number, array in enumerate(types):
            if isinstance(array, ArrayType):
                name = value.name if array is value.type else f"{value.name}[{number}]"
                self.bind_shape(name, array)

    def argument(self, argument: Argument) -> str:
        """Write an argument."""
        match argument:
            case Value() if argument.function.kind is Kind.CONSTANT:
                self.generated.constants[argument.name] = argument.constant
                return argument.name
            case Value():
                return argument.name
            case sympy.Basic():
                return self.size(argument)
            case bool() | int() | str() | None:
                return repr(argument)
            case float() | complex():
                return _number(argument)
            case tuple() | list():
                parts = ", ".join(self.argument(part) for part in argument)
                return f"({parts},)" if len(argument) == 1 else f"({parts})"
            case slice():
                ends = (argument.start, argument.stop, argument.step)
                return f"slice({', '.join(self.argument(end) for end in ends)})"
            case np.dtype():
                return self.dtype(argument)
        return self.object(argument)

    def index(self, index: Argument) -> str:
        """Write an index as one does by hand: ``[:, 1:3]``."""
        if not isinstance(index, tuple):
            return self.argument(index)
        parts = []
        for part in index:
            if isinstance(part, slice):
                start, stop, step = (
                    "" if end is None else self.argument(end)
                    for end in (part.start, part.stop, part.step)
                )
                parts.append(f"{start}:{stop}" + (f":{step}" if step not in {"", "1"} else ""))
            else:
                parts.append(self.argument(part))
        return ", ".join(parts)

    def size(self, size: sympy.Basic) -> str:
        code = str(_print_size(size))
        if "math." in code:
            self.needs.add("math")
        return code

    def dtype(self, dtype: np.dtype[Any]) -> str:
        return f"np.dtype({dtype.name!r})" if dtype in _EXTRA else f"np.{_dtype_name(dtype)}"

    def object(self, thing: Any) -> str:
        for name, known in self.generated.constants.items():
            if known is thing:
                return name
        name = f"object_{len(self.generated.constants)}"
        self.generated.constants[name] = thing
        return name

    # --- lifetimes and outputs -----------------------------------------------------------------

    def deaths(self) -> dict[Value, list[str]]:
        """For each assignment, the names that nothing reads after it."""
        last: dict[Value, Value] = {}
        for value in self.program.body:
            last[value] = value
            for operand in uses(value):
                last[operand] = value
        kept = set(operands([x for x in self.program.outputs if isinstance(x, Value)]))
        deaths: dict[Value, list[str]] = defaultdict(list)
        final = self.program.body[-1] if self.program.body else None
        for value, at in last.items():
            if value not in kept and value.function.kind is not Kind.CONSTANT and at is not final:
                deaths[at].append(value.name)
        return deaths

    def outputs(self) -> list[str]:
        """Write the outputs; memory that torch has apart is kept apart."""
        owners: dict[Value, str] = {
            value: value.name for value in self.program.inputs if isinstance(value, Value)
        }
        written = []
        for output, storage in zip(self.program.outputs, self.program.storages, strict=True):
            code = self.argument(output)
            if isinstance(output, Value):
                owner = root(output)
                shared = owners.setdefault(owner, storage) != storage
                if shared or owner.function.kind is Kind.CONSTANT:
                    self.modules.add("layout")
                    code = f"layout.own({code})"
            written.append(code)
        return written


def _number(number: Any) -> str:
    if isinstance(number, complex):
        return f"complex({_number(number.real)}, {_number(number.imag)})"
    if math.isnan(number):
        return "np.nan"
    if math.isinf(number):
        return "np.inf" if number > 0 else "-np.inf"
    return repr(number)


def _dtype_name(dtype: np.dtype[Any]) -> str:
    return "bool_" if dtype.kind == "b" else dtype.name


_serial = itertools.count()


def load(generated: Generated) -> Callable[..., tuple[Any, ...]]:
    """Run the source and return its function; tracebacks through it show its lines."""
    namespace = dict(generated.constants)
    code = compile(generated.source, generated.filename, "exec")
    exec(code, namespace)  # noqa: S102 - the source was written by this module
    lines = generated.source.splitlines(keepends=True)
    linecache.cache[generated.filename] = (len(generated.source), None, lines, generated.filename)
    kernel: Callable[..., tuple[Any, ...]] = namespace["kernel"]
    return kernel


def next_graph_name(kind: str) -> str:
    """Return a new name for a graph: its number in this process and its kind."""
    return f"graph_{next(_serial)}_{kind}"
