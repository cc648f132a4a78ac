"""From an FX graph of ATen ops to a program of the IR."""

from __future__ import annotations

import logging
import re
from collections import Counter
from dataclasses import dataclass, field
from keyword import iskeyword
from operator import getitem
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy
import torch
from torch import fx
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.utils import _pytree as pytree

import dynreg_numpy.lowerings  # noqa: F401 - fills the table
from dynreg_numpy._dtypes import NUMPY, numpy_dtype
from dynreg_numpy._errors import LoweringError, MissingLoweringError
from dynreg_numpy._fallback import TorchCall
from dynreg_numpy.codegen import RESERVED
from dynreg_numpy.interop import to_array
from dynreg_numpy.ir import (
    Argument,
    ArrayType,
    Function,
    Kind,
    Origin,
    Program,
    Size,
    Value,
    operands,
)
from dynreg_numpy.lowering import LOWERINGS, Builder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Lowered", "lower"]

log = logging.getLogger("dynreg_numpy")

_logged: set[str] = set()
_INPUT = Function("", Kind.INPUT)
_STRIDED = Function("layout.strided", Kind.VIEW)
#: Ops that run another op, with the number of the argument that says which.
_WRAPPERS = {
    torch.ops.higher_order.with_effects: 1,
    torch.ops.higher_order.run_and_save_rng_state: 0,
    torch.ops.higher_order.run_with_rng_state: 1,
}


@dataclass
class Lowered:
    """A program, with what became of the ops of its graph.

    Attributes:
        program: The program.
        native: Ops that were lowered, by overload name.
        fallback: Ops that run with torch's kernel.
    """

    program: Program
    native: Counter[str] = field(default_factory=Counter)
    fallback: Counter[str] = field(default_factory=Counter)


def lower(
    graph_module: fx.GraphModule,
    *,
    allow_fallback: bool = True,
    subgraph: Callable[[Lowered, str], Any] | None = None,
) -> Lowered:
    """Lower a functional graph of ATen ops.

    Args:
        graph_module: Graph with fake tensors in ``node.meta["val"]``, as AOTAutograd makes it.
        allow_fallback: Whether an op without a lowering may run with torch's own kernel.
        subgraph: Makes a function of a graph inside this one, from its program and its name.

    Returns:
        The program and the counts of its ops.

    Raises:
        MissingLoweringError: An op has no lowering and may not fall back.
        LoweringError: A lowering does not give what torch's fake tensors promise.
    """
    return _Lowerer(graph_module, allow_fallback, subgraph).run()


class _Lowerer:
    def __init__(
        self,
        graph_module: fx.GraphModule,
        allow_fallback: bool,
        subgraph: Callable[[Lowered, str], Any] | None,
    ) -> None:
        self.graph_module = graph_module
        self.subgraph = subgraph
        self.subgraphs: dict[str, Any] = {}
        self.allow_fallback = allow_fallback
        self.builder = Builder()
        self.environment: dict[fx.Node, Argument] = {}
        self.storages: dict[fx.Node, str] = {}
        self.result = Lowered(Program([], self.builder.body, [], []))

    def run(self) -> Lowered:
        for node in self.graph_module.graph.nodes:
            out = result_type(node.meta["val"]) if "val" in node.meta else _rng_result(node)
            self.builder.start(safe_name(node.name), out, origin_of(node))
            self.environment[node] = getattr(self, node.op)(node, out)
        return self.result

    # --- one method for each kind of node ------------------------------------------------------

    def placeholder(self, node: fx.Node, out: Any) -> Argument:
        value: Any = None
        if isinstance(out, ArrayType):
            value = self.builder.emit(_INPUT, result=out)
            self.storages[node] = value.name
        elif isinstance(out, sympy.Expr):
            value = out
        elif isinstance(out, (int, float, bool)):
            value = out  # torch knows the number, though it may pass it as a symbol
        self.result.program.inputs.append(value if isinstance(value, (Value, sympy.Expr)) else None)
        return value

    def get_attr(self, node: fx.Node, _: Any) -> Argument:
        attribute: Any = self.graph_module
        for part in str(node.target).split("."):
            attribute = getattr(attribute, part)
        if isinstance(attribute, torch.Tensor):
            # A constant of the graph is a real tensor, and compilation runs under fake ones.
            with unset_fake_temporarily():
                value = self.builder.constant(to_array(attribute))
            self.storages[node] = value.name
            return value
        if isinstance(attribute, fx.GraphModule) and self.subgraph is not None:
            users: set[Any] = {user.target for user in node.users}
            if users <= LOWERINGS.keys():
                return self.inner(str(node.target), attribute)
        return attribute

    def inner(self, name: str, graph_module: fx.GraphModule) -> Any:
        """Compile a graph that an op of this one takes as an argument."""
        if name not in self.subgraphs and self.subgraph is not None:
            lowered = lower(
                graph_module, allow_fallback=self.allow_fallback, subgraph=self.subgraph
            )
            self.result.native.update(lowered.native)
            self.result.fallback.update(lowered.fallback)
            self.subgraphs[name] = self.subgraph(lowered, name)
        return self.subgraphs[name]

    def call_function(self, node: fx.Node, out: Any) -> Argument:
        target: Any = node.target
        args = self.arguments(node.args)
        if target in BY_STRIDES:
            args = (self.laid_out(node.args[0]), *args[1:])
        keywords = {key: self.arguments(arg) for key, arg in node.kwargs.items()}
        self.storages[node] = self.storage(node)
        if target is getitem:
            return args[0][args[1]]
        if out is not None and not isinstance(out, (ArrayType, tuple)) and _is_symbolic(node):
            return out  # arithmetic on sizes: its expression stands for it
        name = str(target)
        lowering = LOWERINGS.get(target)
        if target in _WRAPPERS:
            wrapped: Any = node.args[_WRAPPERS[target]]
            name = str(wrapped)
            lowering = lowering if wrapped in LOWERINGS else None
        if lowering is None or _has_half_complex(node):
            return self.fall_back(node, target, out)
        self.result.native[name] += 1
        result = lowering(self.builder, *args, **keywords)
        self.check(name, result, out)
        bind_unbacked(node, result)
        if isinstance(out, sympy.Expr):
            result.binds.setdefault(out, result.name)
            return out
        return result

    def output(self, node: fx.Node, _: Any) -> None:
        for result in node.args[0] if isinstance(node.args[0], (tuple, list)) else node.args:
            value = self.arguments(result)
            if isinstance(value, Value) and isinstance(result, fx.Node):
                promised = result_type(result.meta.get("val"))
                if isinstance(promised, ArrayType) and value.function.kind is not Kind.INPUT:
                    self.builder.start(f"{value.name}_out", promised, value.origin)
                    value = self.promised(value, promised)
                self.result.program.storages.append(self.storages[result])
            else:
                self.result.program.storages.append("")
            self.result.program.outputs.append(value)

    # --- parts ---------------------------------------------------------------------------------

    def promised(self, value: Value, promised: ArrayType) -> Value:
        """Give an output the strides that torch promises for it."""
        item = value.dtype.itemsize
        strides = tuple(step * item for step in promised.strides or ())
        return self.builder.emit(_STRIDED, value, strides, result=promised)

    def arguments(self, argument: Any) -> Any:
        """Replace nodes by what they were lowered to, and sizes by expressions."""
        if isinstance(argument, fx.Node):
            return self.environment[argument]
        if isinstance(argument, (tuple, list)):
            return tuple(self.arguments(part) for part in argument)
        if isinstance(argument, slice):
            return slice(*map(self.arguments, (argument.start, argument.stop, argument.step)))
        if isinstance(argument, dict):
            return {key: self.arguments(part) for key, part in argument.items()}
        return symbolic(argument)

    def storage(self, node: fx.Node) -> str:
        """Return which memory the result of a node lies in: its own, or that which it views."""
        target: Any = node.target
        tensors = [arg for arg in node.args if isinstance(arg, fx.Node) and arg in self.storages]
        if tensors and _may_alias(target):
            return self.storages[tensors[0]]
        if tensors and target is getitem and _may_alias(tensors[0].target):
            return self.storages[tensors[0]]
        return safe_name(node.name)

    def laid_out(self, argument: Any) -> Any:
        """Replace nodes like :meth:`arguments`, arrays in the strides that torch has them in."""
        if isinstance(argument, fx.Node):
            value = self.environment[argument]
            promised = result_type(argument.meta.get("val"))
            if not isinstance(value, Value) or value.function.kind is Kind.INPUT:
                return value
            return self.promised(value, promised) if isinstance(promised, ArrayType) else value
        if isinstance(argument, (tuple, list)):
            return tuple(self.laid_out(part) for part in argument)
        if isinstance(argument, dict):
            return {key: self.laid_out(part) for key, part in argument.items()}
        return self.arguments(argument)

    def fall_back(self, node: fx.Node, target: Any, out: Any) -> Argument:
        name, origin = str(target), self.builder.origin
        if not self.allow_fallback:
            raise MissingLoweringError(name, origin.location)
        self.result.fallback[name] += 1
        if name not in _logged:
            _logged.add(name)
            log.warning("%s has no lowering and runs with torch's kernel", name)
        # Torch's kernels may count on the strides that its fake tensors have.
        args = self.laid_out(node.args)
        keywords = {key: self.laid_out(arg) for key, arg in node.kwargs.items()}
        kind = Kind.VIEW if _may_alias(target) else Kind.FALLBACK
        source = f"torch_{re.sub(r'[^A-Za-z0-9]+', '_', name)}"
        schema: Any = getattr(target, "_schema", None)
        random = torch.Tag.nondeterministic_seeded in getattr(target, "tags", ())
        value = self.builder.emit(
            Function(source, kind, effect=random or schema is None or out is None, unique=True),
            *args,
            result=out,
            constant=TorchCall(target),
            **keywords,
        )
        bind_unbacked(node, value)
        if isinstance(out, sympy.Symbol):
            value.binds.setdefault(out, value.name)
        if isinstance(out, tuple):
            return self.builder.items(value)
        return value if isinstance(out, ArrayType) or out is None else out

    def check(self, name: str, result: Any, out: Any) -> None:
        """Hold what a lowering returned against what torch's fake tensors promise."""
        if isinstance(out, tuple):
            for part, promised in zip(result, out, strict=True):
                self.check(name, part, promised)
        elif isinstance(out, ArrayType) and result is not None:
            value, promised = result, out
            have = (value.dtype, _concrete(value.shape))
            want = (promised.dtype, _concrete(promised.shape))
            if have[0] != want[0] or len(have[1]) != len(want[1]) or _differ(have[1], want[1]):
                location = self.builder.origin.location
                raise LoweringError(name, f"it gives {have}, torch promises {want}", location)


def _concrete(shape: Sequence[Size]) -> tuple[Any, ...]:
    return tuple(int(size) if isinstance(size, (int, sympy.Integer)) else None for size in shape)


def _differ(one: Sequence[Any], other: Sequence[Any]) -> bool:
    return any(None not in pair and pair[0] != pair[1] for pair in zip(one, other, strict=True))


def _has_half_complex(node: fx.Node) -> bool:
    """Whether an op reads or makes complex numbers of float16, with which NumPy cannot compute."""
    values = [node.meta.get("val"), *(arg.meta.get("val") for arg in node.all_input_nodes)]
    leaves = pytree.tree_leaves(values)
    return any(isinstance(x, torch.Tensor) and x.dtype == torch.complex32 for x in leaves)


def _rng_result(node: fx.Node) -> Any:
    """Return the result's type of an op that saves or restores the generator; torch notes none."""
    target: Any = node.target
    first = _WRAPPERS.get(target)
    if first is None:
        return None
    op: Any = node.args[first]
    args, keywords = fx.map_arg(
        (node.args[first + 1 :], node.kwargs), lambda argument: argument.meta["val"]
    )
    result = result_type(op(*args, **keywords))
    saves = node.target is torch.ops.higher_order.run_and_save_rng_state
    return (ArrayType((5056,), np.dtype(np.uint8)), result) if saves else result


def _is_symbolic(node: fx.Node) -> bool:
    target: Any = node.target
    return not isinstance(target, OpOverload) or target in SIZE_OPS


SIZE_OPS = {
    torch.ops.aten.sym_size.int,
    torch.ops.aten.sym_stride.int,
    torch.ops.aten.sym_numel.default,
    torch.ops.aten.sym_storage_offset.default,
}
"""Ops whose result is the expression that torch's fake tensors have for it."""


BY_STRIDES = {
    torch.ops.aten.as_strided.default,
    torch.ops.aten.as_strided_copy.default,
    torch.ops.aten.as_strided_scatter.default,
}
"""Ops that address memory, and so need their first argument in the strides that torch has it in."""


def _may_alias(target: Any) -> bool:
    """Whether a result of an op may share memory with an argument."""
    schema = getattr(target, "_schema", None)
    return schema is not None and any(result.alias_info is not None for result in schema.returns)


def bind_unbacked(node: fx.Node, result: Any) -> None:
    """Give the sizes and places that an op decides their value, read off its result."""
    promised = node.meta.get("val")
    if isinstance(promised, torch.Tensor) and isinstance(result, Value):
        offset = symbolic(promised.storage_offset())
        # Torch's name of an offset may be another than that which it binds.
        if isinstance(offset, sympy.Symbol) and result.function.kind is Kind.VIEW:
            result.binds[offset] = _offset_source(result)
    for symbol, path in (node.meta.get("unbacked_bindings") or {}).items():
        value, steps = result, tuple(path)
        if isinstance(value, tuple):
            value, steps = value[steps[0].idx], steps[1:]
        if not isinstance(value, Value):
            continue
        if steps and getattr(steps[0], "name", "") == "storage_offset":
            value.binds[symbol] = _offset_source(value)
        else:
            value.binds[symbol] = _path_source(value.name, steps)


def _offset_source(view: Value) -> str:
    """Write where a view begins, counted from the beginning of what it is a view of."""
    base = next(operands(view.args))
    return f"layout.offset_in({view.name}, {base.name})"


def _path_source(name: str, path: Sequence[Any]) -> str:
    """Write how an unbacked symbol is read off a result, from torch's path to it."""
    for step in path:
        kind = type(step).__name__
        if kind == "CallMethodKey":
            name = f"{name}.shape" if step.name == "size" else f"{name}.{step.name}()"
        elif kind == "SequenceKey":
            name = f"{name}[{step.idx}]"
        elif kind == "ConvertIntKey":
            name = f"int({name})"
    return name


def symbolic(value: Any) -> Any:
    """Return the SymPy expression, or number, of a symbolic number; other things as they are."""
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        expression = value.node.expr
        if isinstance(expression, sympy.Integer):
            return int(expression)
        if isinstance(expression, sympy.Float):
            return float(expression)
        return expression
    return value


def result_type(value: Any) -> Any:
    """Return the type of a node's result from its fake tensor or symbolic number."""
    if isinstance(value, torch.Tensor):
        if value.dtype not in NUMPY:
            return None
        strides = tuple(map(symbolic, value.stride())) if value.layout is torch.strided else None
        return ArrayType(tuple(map(symbolic, value.shape)), numpy_dtype(value.dtype), strides)
    if isinstance(value, (tuple, list)):
        return tuple(result_type(part) for part in value)
    return symbolic(value)


_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in [^\n]*\n(?P<code>[^\n]*)')


def origin_of(node: fx.Node) -> Origin:
    """Return where in the user's code a node comes from: the innermost frame of its trace."""
    target: Any = node.target
    op = str(node.args[_WRAPPERS[target]] if target in _WRAPPERS else target)
    frames = list(_FRAME.finditer(node.meta.get("stack_trace") or ""))
    if not frames:
        return Origin(op)
    last = frames[-1]
    return Origin(op, f"{last['file']}:{last['line']}", last["code"].strip())


def safe_name(name: str) -> str:
    """Return a name that does not hide a module that the source uses."""
    return f"{name}_" if name in RESERVED or iskeyword(name) else name
