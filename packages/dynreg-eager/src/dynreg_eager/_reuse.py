"""Which nodes may write their result over an argument that dies there, proved before it runs.

What is known of values is what Dynamo's fake tensors have: shape, strides, dtype, and which memory
they lie in. A node may overwrite an argument if nothing else reads that memory from then on, if no
input or attribute of the graph lies in it, and if the result is laid out just as the argument.
"""

from __future__ import annotations

import operator
import types
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import fx
from torch.multiprocessing.reductions import StorageWeakRef
from torch.nn import functional
from torch.utils import _pytree as pytree

from dynreg_eager._bindings import KERNELS
from dynreg_eager._code import Call

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = [
    "InPlace",
    "is_plain",
    "plan_in_place",
    "shares_memory",
    "uses_gradients",
    "value_of",
]

_UNARY = (
    *("abs", "ceil", "cos", "cosh", "erf", "erfc", "exp", "exp2", "expm1", "floor", "frac", "log"),
    *("log10", "log1p", "log2", "neg", "reciprocal", "relu", "round", "rsqrt", "sigmoid", "sign"),
    *("sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc"),
)
_BINARY = {
    operator.add: operator.iadd,
    operator.sub: operator.isub,
    operator.mul: operator.imul,
    operator.truediv: operator.itruediv,
}
_COMMUTATIVE = {operator.add, operator.mul}
_METHODS = {*_UNARY, "add", "sub", "mul", "div", "clamp", "clamp_min", "clamp_max", "masked_fill"}
_FUNCTIONS: dict[Any, Any] = {
    **{getattr(torch, name): getattr(torch, f"{name}_", f"{name}_") for name in _UNARY},
    **{getattr(torch, name): f"{name}_" for name in ("add", "sub", "mul", "div", "clamp")},
    **{
        getattr(KERNELS, name): getattr(KERNELS, f"{name}_")
        for name in ("gelu", "hardsigmoid", "hardswish", "leaky_relu", "mish", "relu6", "silu")
    },
}
"""Functions and what does the same in place: a function, or the name of a method."""


@dataclass(frozen=True)
class InPlace:
    """How a node is run in place.

    Attributes:
        call: What to call instead.
    """

    call: Call


def plan_in_place(
    graph: fx.Graph, call_of_node: Callable[[fx.Node], Call | None]
) -> dict[fx.Node, InPlace]:
    """Find the nodes that may overwrite an argument.

    Args:
        graph: A graph with fake tensors in ``node.meta``, of which every node is plain.
        call_of_node: Returns what a node calls.
    """
    nodes = list(graph.nodes)
    place = {node: number for number, node in enumerate(nodes)}
    kept: set[int] = set()
    touched: dict[int, int] = {}  # by memory: the last place where something in it is read or made
    memory: dict[fx.Node, set[int]] = {}
    holders: list[Any] = []  # an address is one of a kind only while what lies there lives
    for node in nodes:
        storages = [_storage(x) for x in _tensors(node)]
        holders += storages
        memory[node] = {storage.cdata for storage in storages}
        if node.op in {"placeholder", "get_attr"}:
            kept |= memory[node]
        last = max([place[node], *(place[user] for user in node.users)])
        for storage in memory[node]:
            touched[storage] = max(touched.get(storage, 0), last)
    plan = {}
    for node in nodes:
        if node.op not in {"call_function", "call_method"}:
            continue
        call = call_of_node(node)
        if call is None:
            continue
        for number, replaced in _candidates(call):
            victim = call.args[number]
            if (
                isinstance(victim, fx.Node)
                and _is_array(value_of(victim))
                and len(memory[victim]) == 1
                and not memory[victim] & (kept | memory[node])
                and all(touched[storage] == place[node] for storage in memory[victim])
                and pytree.tree_leaves((call.args, call.kwargs)).count(victim) == 1
                and _same_layout(value_of(node), value_of(victim))
                and not any(
                    other is not victim and memory[other] & memory[victim]
                    for other in node.all_input_nodes
                )
            ):
                plan[node] = InPlace(replaced)
                break
    return plan


def _candidates(call: Call) -> Iterable[tuple[int, Call]]:
    """Yield the arguments that a call could overwrite, each with the call that does."""
    args, target = call.args, call.target
    if not args:
        return
    if isinstance(target, str):
        if target in _METHODS:
            yield 0, Call(f"{target}_", args, call.kwargs)
    elif target in _BINARY and not call.kwargs:
        yield 0, Call(_BINARY[target], args, {})
        if target in _COMMUTATIVE:
            yield 1, Call(_BINARY[target], args[::-1], {})
    elif target in _FUNCTIONS and "out" not in call.kwargs:
        yield 0, Call(_FUNCTIONS[target], args, call.kwargs)


def value_of(node: fx.Node) -> Any:
    """Return the fake value that Dynamo or AOTAutograd has for a node."""
    return node.meta.get("example_value", node.meta.get("val"))


def _tensors(node: fx.Node) -> list[torch.Tensor]:
    leaves = pytree.tree_leaves(value_of(node))
    return [leaf for leaf in leaves if _is_array(leaf)]


def _is_array(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.layout is torch.strided


def _storage(x: torch.Tensor) -> StorageWeakRef:
    return StorageWeakRef(x.untyped_storage())  # type: ignore[no-untyped-call]


def _same_layout(one: Any, other: torch.Tensor) -> bool:
    """Whether two tensors have the same dtype, shape and strides, without gaps or overlaps."""
    if not _is_array(one) or one.dtype != other.dtype or one.device != other.device:
        return False
    if _sizes(one.shape) != _sizes(other.shape) or _sizes(one.stride()) != _sizes(other.stride()):
        return False
    # A view into a larger memory would keep all of it alive, and may overlap itself.
    return bool(_is_dense(other)) and _sizes([other.storage_offset()]) == [0]


def _sizes(sizes: Any) -> list[Any]:
    """Return sizes that can be compared without adding a guard."""
    return [size.node.expr if isinstance(size, torch.SymInt) else size for size in sizes]


def _is_dense(x: torch.Tensor) -> bool:
    """Whether the elements fill the memory, each place once."""
    expected: Any = 1
    order = sorted(zip(_sizes(x.stride()), _sizes(x.shape), strict=True), key=lambda p: str(p[0]))
    remaining = [pair for pair in order if pair[1] != 1]
    while remaining:
        match = next((pair for pair in remaining if pair[0] == expected), None)
        if match is None:
            return False
        remaining.remove(match)
        expected = match[1] * expected
    (held,) = _sizes([x.untyped_storage().nbytes()])
    return bool(held == expected * x.element_size())


_MODULES = ("torch", "torch._C", "torch.nn.functional", "math", "_operator", "operator")
_STATEFUL_METHODS = {"backward", "detach_", "register_hook", "requires_grad_", "retain_grad"}


def is_plain(node: fx.Node) -> bool:
    """Whether a node runs kernels of torch and does nothing else that autograd would see."""
    if node.op == "call_method":
        return node.target not in _STATEFUL_METHODS
    if node.op != "call_function":
        return node.op in {"placeholder", "get_attr", "output"}
    target: Any = node.target
    name = getattr(target, "__name__", "_")
    if target in {functional.dropout, functional.embedding}:
        return True
    if isinstance(target, types.BuiltinFunctionType) or target is operator.getitem:
        module = getattr(target, "__module__", None) or "torch"
        return not name.startswith("_") and module.startswith(_MODULES)
    module = getattr(target, "__module__", "")
    return module in _MODULES and not name.startswith("_")


def uses_gradients(graph: fx.Graph) -> bool:
    """Whether a value that the graph computes takes part in autograd."""
    return any(
        x.requires_grad for node in graph.nodes if node.op != "placeholder" for x in _tensors(node)
    )


def shares_memory(graph: fx.Graph) -> bool:
    """Whether the graph writes to what it is given, or returns tensors that share memory."""
    given, returned = [], []
    for node in graph.nodes:
        if node.op in {"placeholder", "get_attr"}:
            given += _tensors(node)
        elif node.op == "output":
            for used in node.all_input_nodes:
                returned += _tensors(used)
    storages = [_storage(x) for x in (*given, *returned)]
    addresses = [storage.cdata for storage in storages]
    inside = set(addresses[: len(given)])
    outside = addresses[len(given) :]
    written = any(x._version for x in given)  # noqa: SLF001 - counts the writes while traced
    return written or len(set(outside)) < len(outside) or not inside.isdisjoint(outside)
