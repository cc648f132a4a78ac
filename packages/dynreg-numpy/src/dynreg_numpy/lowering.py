"""The lowering table, and the builder that lowerings emit IR with.

A lowering is a function ``(builder, *args, **kwargs)`` with the arguments of its ATen overload:
tensors come as :class:`~dynreg_numpy.ir.Value`, symbolic sizes as SymPy expressions, the rest as it
stands in the graph. It returns the value, or a tuple of values, that the op results in.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
import sympy
import torch
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND, elementwise_dtypes

from dynreg_numpy._dtypes import numpy_dtype, torch_dtype
from dynreg_numpy.functions import CAST, CONTIGUOUS_VIEW, FUNCTIONS, ITEM
from dynreg_numpy.ir import Argument, ArrayType, Function, Kind, Origin, Size, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dynreg_numpy.ir import DType

__all__ = ["LOWERINGS", "Builder", "kernels", "lowers"]

Lowering: TypeAlias = "Callable[..., Any]"
LoweringT = TypeVar("LoweringT", bound="Callable[..., Any]")
Promotion = ELEMENTWISE_TYPE_PROMOTION_KIND

LOWERINGS: dict[Any, Lowering] = {}
"""Overload to lowering; filled by importing ``dynreg_numpy.lowerings``."""

#: Formats that torch's CPU kernels load, compute on as float32, and round on storing.
_WIDENED = {torch.float16: np.dtype(np.float32), torch.bfloat16: np.dtype(np.float32)}


def lowers(*overloads: Any) -> Callable[[LoweringT], LoweringT]:
    """Enter a lowering into the table.

    Args:
        overloads: The overloads that it lowers, as in ``aten.add.Tensor``.

    Raises:
        ValueError: One of them has a lowering already; nothing is entered then.
    """
    for overload in overloads:
        if overload in LOWERINGS:
            raise ValueError(f"{overload} has a lowering already: {LOWERINGS[overload]}")

    def enter(lowering: LoweringT) -> LoweringT:
        LOWERINGS.update(dict.fromkeys(overloads, lowering))
        return lowering

    return enter


def kernels(rows: dict[Any, str | tuple[str, str]]) -> None:
    """Enter overloads that one kernel of the runtime computes with the same arguments.

    Args:
        rows: Overload to kernel, as in ``{aten.mode.default: "sorting.mode"}``, which takes the
            positional arguments of the overload; or to the kernel and the names of those
            arguments of the schema that it takes, in its order, separated by spaces. A name in
            parentheses is passed by keyword.
    """
    for overload, row in rows.items():
        source, _, names = (row, "", "") if isinstance(row, str) else (row[0], "", row[1])
        lowers(overload)(partial(_call_kernel, overload, source, tuple(names.split())))


def _call_kernel(
    overload: Any, source: str, names: tuple[str, ...], b: Builder, *args: Argument, **keywords: Any
) -> Any:
    schema = getattr(overload, "_schema").arguments  # noqa: B009 - torch has no public name
    if not names:
        named = {**dict.fromkeys(argument.name for argument in schema[: len(args)]), **keywords}
        if len(named) > len(args):  # keyword-only arguments, in the order of the schema
            given = dict(zip(named, args, strict=False)) | keywords
            last = max(n for n, argument in enumerate(schema) if argument.name in given)
            args = tuple(given.get(x.name, x.default_value) for x in schema[: last + 1])
        return b.library(source, *args)
    given = {argument.name: argument.default_value for argument in schema}
    given |= dict(zip(given, args, strict=False)) | keywords
    positional = [given[name] for name in names if not name.startswith("(")]
    by_name = {name: given[name] for name in (n[1:-1] for n in names if n.startswith("("))}
    return b.library(source, *positional, **by_name)


class Builder:
    """Emits IR for one op of a graph after another.

    Attributes:
        body: What was emitted so far.
        out: Type of the op's result, as torch's fake tensors have it; a tuple for several.
        origin: Where the op comes from.
    """

    def __init__(self) -> None:
        self.body: list[Value] = []
        self.out: Any = None
        self.origin = Origin()
        self._names: set[str] = set()
        self._hint = "value"

    def start(self, name: str, out: Any, origin: Origin) -> None:
        """Begin with the next op: values are named after it."""
        self._hint, self.out, self.origin = name, out, origin

    # --- emitting ------------------------------------------------------------------------------

    def emit(
        self,
        function: Function,
        *args: Argument,
        result: Any,
        constant: Any = None,
        **keywords: Any,
    ) -> Value:
        """Append an assignment and return its value."""
        value = Value(self._name(), function, args, keywords, result, self.origin, constant)
        self.body.append(value)
        return value

    def _name(self) -> str:
        name, number = self._hint, 0
        while name in self._names:
            number += 1
            name = f"{self._hint}_v{number}"
        self._names.add(name)
        return name

    def call(
        self,
        source: str,
        *args: Argument,
        dtype: DType | None = None,
        shape: Sequence[Size] | None = None,
        effect: bool = False,
        unique: bool = False,
        **keywords: Argument,
    ) -> Value:
        """Call a kernel, as in ``convolution.convolution``, that returns one new array.

        Shape and dtype are those of the op's result where they are not given. ``effect`` and
        ``unique`` are those of :class:`~dynreg_numpy.ir.Function`.
        """
        function = Function(source, Kind.LIBRARY, effect=effect, unique=unique)
        return self.emit(function, *args, result=self._type(shape, dtype), **keywords)

    def call_many(self, source: str, *args: Argument, **keywords: Argument) -> tuple[Any, ...]:
        """Call a kernel that returns the op's several results as a tuple."""
        value = self.emit(Function(source, Kind.LIBRARY), *args, result=self.out, **keywords)
        return self.items(value)

    def call_list(self, source: str, *args: Argument, count: int, dtype: DType) -> Value:
        """Call a kernel that returns a list of ``count`` vectors, to be passed on to another."""
        kinds = (ArrayType((1,), dtype),) * count
        return self.emit(Function(source, Kind.LIBRARY), *args, result=kinds)

    def effect(self, source: str, *args: Argument) -> None:
        """Call a kernel for what it does and not for a result: a check, for instance."""
        self.emit(Function(source, Kind.LIBRARY, effect=True), *args, result=None)

    def library(self, source: str, *args: Argument, **keywords: Argument) -> Any:
        """Call a kernel that returns what the op does: one array, or several as a tuple."""
        args = tuple(_plain(arg) for arg in args)
        keywords = {key: _plain(arg) for key, arg in keywords.items()}
        if isinstance(self.out, tuple):
            return self.call_many(source, *args, **keywords)
        return self.call(source, *args, **keywords)

    def items(self, value: Value) -> tuple[Any, ...]:
        """Take a value with several results apart."""
        return tuple(
            None if kind is None else self.emit(ITEM, value, index, result=kind)
            for index, kind in enumerate(value.type)
        )

    def constant(self, array: Any) -> Value:
        """Embed an array."""
        function = Function("", Kind.CONSTANT)
        return self.emit(function, result=ArrayType(array.shape, array.dtype), constant=array)

    def pointwise(self, name: str, *args: Argument, dtype: DType | None = None) -> Value:
        """Apply a function of the table ``POINTWISE`` to arguments of one dtype.

        Args:
            name: Key in :data:`dynreg_numpy.functions.FUNCTIONS`.
            args: Values and Python numbers, which broadcast.
            dtype: Dtype of the result; that of the first value where it is not given.
        """
        values = [arg for arg in args if isinstance(arg, Value)]
        shape = broadcast(*(value.shape for value in values))
        return self.emit(FUNCTIONS[name], *args, result=ArrayType(shape, dtype or values[0].dtype))

    def reduction(
        self,
        name: str,
        x: Value,
        axes: Sequence[int],
        *,
        keepdims: bool = False,
        dtype: DType | None = None,
        **keywords: Argument,
    ) -> Value:
        """Apply a function of the table ``REDUCTION`` over some dimensions, none being all."""
        axes = tuple(axis % max(x.ndim, 1) for axis in axes) or tuple(range(x.ndim))
        shape = tuple(
            1 if axis in axes else size
            for axis, size in enumerate(x.shape)
            if keepdims or axis not in axes
        )
        if x.ndim == 0:
            axes = ()
        if keepdims:
            keywords["keepdims"] = True
        if name in {"sum", "prod"} and x.dtype.kind in "iu":
            keywords["dtype"] = x.dtype  # NumPy would widen integers
        return self.emit(
            FUNCTIONS[name], x, axis=axes, result=ArrayType(shape, dtype or x.dtype), **keywords
        )

    def view(self, pattern: str, x: Value, *args: Argument, shape: Sequence[Size]) -> Value:
        """Emit a view: ``pattern`` as in :class:`~dynreg_numpy.ir.Function`."""
        function = Function(pattern, Kind.VIEW)
        return self.emit(function, x, *args, result=ArrayType(tuple(shape), x.dtype))

    def reshape(self, x: Value, shape: Sequence[Size]) -> Value:
        """View with another shape; memory is copied where strides do not allow a view."""
        if tuple(x.shape) == tuple(shape):
            return x
        return self.emit(CONTIGUOUS_VIEW, x, tuple(shape), result=ArrayType(tuple(shape), x.dtype))

    def transpose(self, x: Value, order: Sequence[int]) -> Value:
        """View with the dimensions in another order."""
        order = tuple(axis % max(x.ndim, 1) for axis in order)
        if order == tuple(range(x.ndim)):
            return x
        return self.view("np.transpose", x, order, shape=[x.shape[axis] for axis in order])

    def expand(self, x: Value, shape: Sequence[Size]) -> Value:
        """View broadcast to a shape."""
        if tuple(x.shape) == tuple(shape):
            return x
        return self.view("np.broadcast_to", x, tuple(shape), shape=shape)

    # --- dtypes --------------------------------------------------------------------------------

    def cast(self, x: Argument, dtype: DType) -> Argument:
        """Convert a value, or a Python number, to a dtype; nothing where it has it already."""
        if isinstance(x, sympy.Expr):
            return x
        if not isinstance(x, Value):
            return python_number(x, dtype)
        if x.dtype == dtype:
            return x
        return self.emit(CAST, x, dtype, result=ArrayType(x.shape, dtype))

    def promote(
        self,
        *args: Argument,
        kind: Promotion = Promotion.DEFAULT,
    ) -> tuple[list[Argument], DType]:
        """Convert arguments to the dtype that torch computes in.

        Args:
            args: Values and Python numbers that take part in type promotion; ``None`` passes.
            kind: Torch's kind of promotion for the op.

        Returns:
            The converted arguments, and the dtype of the op's result, to be cast to afterwards.
        """
        proxies = [_proxy(arg) for arg in args if arg is not None]
        compute, result = elementwise_dtypes(*proxies, type_promotion_kind=kind)
        wide = _WIDENED.get(compute, numpy_dtype(compute))
        return (
            [None if arg is None else self.cast(arg, wide) for arg in args],
            numpy_dtype(result),
        )

    def widen(self, x: Value) -> Value:
        """Convert float16 and bfloat16 to float32, in which torch accumulates."""
        widened: Value = self.cast(x, _WIDENED.get(torch_dtype(x.dtype), x.dtype))
        return widened

    def elementwise(
        self, name: str, *args: Argument, kind: Promotion = Promotion.DEFAULT
    ) -> Argument:
        """Promote, apply one pointwise function, and convert to the result's dtype."""
        promoted, result = self.promote(*args, kind=kind)
        if not any(isinstance(arg, Value) for arg in promoted):
            promoted[0] = self.full((), promoted[0], result)
        boolean = FUNCTIONS[name] in BOOLEAN
        value = self.pointwise(name, *promoted, dtype=np.dtype(np.bool_) if boolean else None)
        return self.cast(value, result)

    # --- creation ------------------------------------------------------------------------------

    def full(self, shape: Sequence[Size], fill: Argument, dtype: DType) -> Value:
        """Make an array of one number."""
        return self.call(
            "np.full",
            tuple(shape),
            self.cast(fill, dtype),
            dtype,
            shape=shape,
            dtype=dtype,
            unique=True,
        )

    def _type(self, shape: Sequence[Size] | None, dtype: DType | None) -> ArrayType:
        if shape is not None and dtype is not None:
            return ArrayType(tuple(shape), dtype)
        out = self.out
        if not isinstance(out, ArrayType):
            raise TypeError(f"{self.origin.op} has several results: give shape and dtype")
        return ArrayType(out.shape if shape is None else tuple(shape), dtype or out.dtype)


def _plain(argument: Argument) -> Argument:
    """Give kernels, which know no torch, NumPy's dtype for torch's."""
    return numpy_dtype(argument) if isinstance(argument, torch.dtype) else argument


BOOLEAN = {
    FUNCTIONS[name]
    for name in (
        *("eq", "ne", "lt", "le", "gt", "ge"),
        *("isnan", "isinf", "isfinite", "signbit"),
        *("logical_and", "logical_or", "logical_xor", "logical_not"),
    )
}
"""Pointwise functions that give booleans whatever they are given."""


def broadcast(*shapes: tuple[Size, ...]) -> tuple[Size, ...]:
    """Return the shape that shapes broadcast to; torch has checked that they do."""
    result: list[Size] = []
    for back in range(max(map(len, shapes), default=0)):
        sizes = [shape[-1 - back] for shape in shapes if len(shape) > back]
        result.append(next((size for size in sizes if size != 1), 1))
    return tuple(reversed(result))


def python_number(number: Any, dtype: DType) -> Any:
    """Return a Python number of the kind that NumPy combines with ``dtype`` without promotion."""
    if dtype.kind == "c":
        return complex(number)
    if isinstance(number, complex):
        number = number.real
    if dtype.kind == "b":
        return bool(number)
    if dtype.kind in "iu":
        bits = np.iinfo(dtype)
        return (int(number) - int(bits.min)) % (1 << bits.bits) + int(bits.min)
    return float(number)


_proxies: dict[tuple[torch.dtype, bool], torch.Tensor] = {}


def _proxy(arg: Argument) -> Any:
    """Stand-in for an argument in torch's own type promotion, which asks dtype and rank only."""
    if isinstance(arg, sympy.Expr):
        return 1 if arg.is_integer else 1.0
    if not isinstance(arg, Value):
        return arg
    key = (torch_dtype(arg.dtype), arg.ndim == 0)
    if key not in _proxies:
        _proxies[key] = torch.empty(() if key[1] else (1,), dtype=key[0], device="meta")
    return _proxies[key]
