"""The intermediate representation: straight-line code over arrays, in single-assignment form.

A :class:`Program` is a list of :class:`Value`, each of which applies a :class:`Function` to
earlier values and constants. Values know shape and dtype; sizes are integers or SymPy expressions
over the symbols of the graph. Nothing here runs anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import sympy

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "Argument",
    "ArrayType",
    "Function",
    "Kind",
    "Origin",
    "Program",
    "Size",
    "Value",
    "operands",
    "root",
    "uses",
]

DType: TypeAlias = np.dtype[Any]

Size: TypeAlias = "int | sympy.Expr"

Argument: TypeAlias = Any
"""A :class:`Value`, a constant, a size, or a tuple, list or slice of these."""


class Kind(Enum):
    """What a pass may assume of a function."""

    INPUT = "input"
    CONSTANT = "constant"
    POINTWISE = "pointwise"
    REDUCTION = "reduction"
    VIEW = "view"
    ITEM = "item"
    LIBRARY = "library"
    FALLBACK = "fallback"


@dataclass(frozen=True)
class Function:
    """How an operation of the IR is written in NumPy source.

    Attributes:
        source: A callable, as in ``np.add``, or a pattern with ``{0}``, ``{1}``, … for the
            arguments, as in ``{0}[{1}]``.
        kind: What a pass may assume. The result of a ``VIEW`` may share memory with its first
            argument; an ``ITEM`` is one of several results; that of any other kind is a new array.
        out: Whether it takes ``out=``, and ``out`` may be one of its arguments of equal shape.
        effect: Whether calling it does more than give its result: random numbers, assertions.
            It is called as often as the graph says, and in that order.
        unique: Whether each result is an array of its own even where arguments are equal.
    """

    source: str
    kind: Kind
    out: bool = False
    effect: bool = False
    unique: bool = False


@dataclass(frozen=True)
class ArrayType:
    """Shape and dtype of an array; ``strides`` in elements where torch promises them."""

    shape: tuple[Size, ...]
    dtype: DType
    strides: tuple[Size, ...] | None = None


@dataclass(frozen=True)
class Origin:
    """Where a value comes from.

    Attributes:
        op: The ATen overload, as in ``aten.add.Tensor``.
        location: The user's ``file:line``; empty where it is not known.
        code: The user's line of code.
    """

    op: str = ""
    location: str = ""
    code: str = ""


@dataclass(eq=False)
class Value:
    """One assignment: ``name = function(*args, **keywords)``.

    Attributes:
        name: Name in the source, unique in the program.
        function: What is applied.
        args: Its arguments.
        keywords: Its keyword arguments.
        type: Type of the result; a tuple for several results, ``None`` inside it for a result
            that is not an array.
        origin: Where it comes from.
        constant: The array of a ``CONSTANT``, or the callable that a ``FALLBACK`` calls.
        binds: Symbols that get their value here, each with its expression in the source.
        out: The value whose memory the result is written to, set by the reuse pass.
    """

    name: str
    function: Function
    args: tuple[Argument, ...] = ()
    keywords: dict[str, Argument] = field(default_factory=dict)
    type: Any = None
    origin: Origin = Origin()
    constant: Any = None
    binds: dict[sympy.Symbol, str] = field(default_factory=dict)
    out: Value | None = None

    @property
    def shape(self) -> tuple[Size, ...]:
        """Shape of a single result."""
        return self.array.shape

    @property
    def dtype(self) -> DType:
        """Dtype of a single result."""
        return self.array.dtype

    @property
    def ndim(self) -> int:
        """Number of dimensions of a single result."""
        return len(self.array.shape)

    @property
    def array(self) -> ArrayType:
        """Type of a single result."""
        if not isinstance(self.type, ArrayType):
            raise TypeError(f"{self.name} has several results, or none that is an array")
        return self.type


@dataclass
class Program:
    """A graph, lowered.

    Attributes:
        inputs: One value or symbol an input, in order; ``None`` for an input that is not used
            by anything that was lowered.
        body: The assignments, in the order in which they run.
        outputs: What is returned: values, sizes, or ``None``.
        storages: For each output, which memory torch has it in: outputs may share memory with one
            another, and with an input of that name, only where this is the same.
    """

    inputs: list[Value | sympy.Symbol | None]
    body: list[Value]
    outputs: list[Value | Size | None]
    storages: list[str]


def operands(argument: Argument) -> Iterator[Value]:
    """Yield the values inside an argument, or inside all arguments of a value."""
    if isinstance(argument, Value):
        yield argument
    elif isinstance(argument, (tuple, list)):
        for part in argument:
            yield from operands(part)
    elif isinstance(argument, slice):
        yield from operands((argument.start, argument.stop, argument.step))


def uses(value: Value) -> Iterator[Value]:
    """Yield the values that an assignment reads, including the memory that it writes to."""
    yield from operands(value.args)
    yield from operands(tuple(value.keywords.values()))
    if value.out is not None:
        yield value.out


def root(value: Value) -> Value:
    """Return the value that owns the memory which ``value`` may share."""
    while True:
        base = value.out or next(operands(value.args), None)
        kind = value.function.kind
        # The several results of a function lie in memory of their own, unless they are views.
        shares = kind is Kind.VIEW or (
            kind is Kind.ITEM and base and base.function.kind is Kind.VIEW
        )
        if base is None or not (value.out or shares):
            return value
        value = base
