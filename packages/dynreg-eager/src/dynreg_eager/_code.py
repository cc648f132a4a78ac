"""From a graph to straight-line Python: one line a node, every constant bound once."""

from __future__ import annotations

import itertools
import keyword
import linecache
import operator
import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import fx

from dynreg_eager._nodes import add_note, describe_failure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dynreg_eager._reuse import InPlace

__all__ = ["INFIX", "StraightLine", "call_of"]

INFIX: dict[Any, str] = {
    operator.add: "+",
    operator.sub: "-",
    operator.mul: "*",
    operator.truediv: "/",
    operator.floordiv: "//",
    operator.mod: "%",
    operator.pow: "**",
    operator.matmul: "@",
    operator.and_: "&",
    operator.or_: "|",
    operator.xor: "^",
    operator.lt: "<",
    operator.le: "<=",
    operator.gt: ">",
    operator.ge: ">=",
    operator.eq: "==",
    operator.ne: "!=",
}
"""Functions that Python has an operator for, which costs less than a call."""

_graphs = itertools.count()


@dataclass(frozen=True)
class Call:
    """What a node calls.

    Attributes:
        target: A callable, or for a method its name.
        args: Arguments, of a method with the object first; nodes stand for their values.
        kwargs: Keyword arguments.
    """

    target: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def call_of(module: torch.nn.Module, node: fx.Node) -> Call:
    """Return what a node of the kinds ``call_function``, ``call_method``, ``call_module`` calls."""
    target: Any = node.target
    if node.op == "call_module":
        target = module.get_submodule(target)
    return Call(target, tuple(node.args), dict(node.kwargs))


class StraightLine:
    """A graph as a Python function.

    An exception keeps its type, and gains a note with the node, its arguments and the line of the
    user's code.

    Args:
        graph_module: The graph.
        calls: What is called for a node, where it is not what the graph says; ``None`` for a node
            that is its first argument.
        in_place: Nodes that overwrite an argument which dies there.
        around: Makes a context that the function runs in, or ``None``.
        boxed: Whether the function takes one list, which it empties, so that inputs can be freed.

    Attributes:
        source: The source.
        function: The function.
    """

    def __init__(
        self,
        graph_module: fx.GraphModule,
        *,
        calls: Mapping[fx.Node, Call | None] | None = None,
        in_place: Mapping[fx.Node, InPlace] | None = None,
        around: Callable[[], Any] | None = None,
        boxed: bool = False,
    ) -> None:
        self._module = graph_module
        self._calls = calls or {}
        self._in_place = in_place or {}
        self._names: dict[fx.Node, str] = {}
        self._bound: dict[str, Any] = {}
        self._bound_names: dict[int, str] = {}
        self._lines: dict[int, fx.Node] = {}
        self._filename = f"<dynreg_eager graph_{next(_graphs)}>"
        self.source = self._write(around, boxed)
        code = compile(self.source, self._filename, "exec")
        exec(code, self._bound)  # noqa: S102 - the source is made above, from the graph
        self.function: Callable[..., Any] = self._bound["graph"]
        # Tracebacks show the lines of the source as long as the function lives.
        entry = (len(self.source), None, self.source.splitlines(keepends=True), self._filename)
        linecache.cache[self._filename] = entry

    def __del__(self) -> None:
        """Forget the lines that tracebacks would show."""
        linecache.cache.pop(getattr(self, "_filename", ""), None)

    def explain(self, error: BaseException) -> None:
        """Add to an exception which node it comes from, on what, and where the user wrote it."""
        traceback = error.__traceback__
        while traceback is not None:
            frame = traceback.tb_frame
            if frame.f_code.co_filename == self._filename:
                node = self._lines.get(traceback.tb_lineno)
                if node is not None:
                    values = frame.f_locals

                    def value(used: fx.Node, values: Mapping[str, Any] = values) -> Any:
                        name = self._names[used]
                        return values.get(name, self._bound.get(name))

                    args = fx.map_arg(tuple(node.args), value)
                    kwargs = fx.map_arg(dict(node.kwargs), value)
                    add_note(error, describe_failure(node, args, kwargs))
                return
            traceback = traceback.tb_next

    # --- writing -------------------------------------------------------------------------------

    def _write(self, around: Callable[[], Any] | None, boxed: bool) -> str:
        nodes = list(self._module.graph.nodes)
        taken: set[str] = set()
        for node in nodes:
            self._names[node] = _identifier(node.name, taken)
        inputs = [node for node in nodes if node.op == "placeholder"]
        parameters = [self._parameter(node) for node in inputs]
        lines = [f"def graph({'args' if boxed else ', '.join(parameters)}):"]
        indent = "    "
        if boxed and inputs:
            lines += [f"    {', '.join(self._names[node] for node in inputs)}, = args"]
        if boxed:
            lines += ["    args.clear()"]
        if around is not None:
            lines.append(f"    with {self._bind(around, 'around')}():")
            indent += "    "
        dead = _deaths(nodes, boxed)
        for node in nodes:
            if node.op == "output":
                lines.append(f"{indent}return {self._argument(node.args[0])}")
            elif node.op == "get_attr":
                # A name of the function's globals: found once, when the function is made.
                self._bound[self._names[node]] = _attribute(self._module, str(node.target))
            elif node.op != "placeholder":
                lines.append(indent + self._statement(node))
                self._lines[len(lines)] = node
            if dead.get(node):
                lines.append(f"{indent}del {', '.join(self._names[used] for used in dead[node])}")
        return "\n".join(lines) + "\n"

    def _parameter(self, node: fx.Node) -> str:
        name = self._names[node]
        return f"{name}={self._argument(node.args[0])}" if node.args else name

    def _statement(self, node: fx.Node) -> str:
        name = self._names[node]
        reuse = self._in_place.get(node)
        if reuse is not None:
            return f"{name} = {self._call(reuse.call)}"
        call = self._calls.get(node, _UNCHANGED)
        if call is _UNCHANGED:
            call = call_of(self._module, node)
        if call is None:
            return f"{name} = {self._argument(node.args[0])}"
        if node.op == "call_method":
            owner, *rest = call.args
            return f"{name} = {self._argument(owner)}.{call.target}({self._given(rest, call)})"
        return f"{name} = {self._call(call)}"

    def _call(self, call: Call) -> str:
        target = call.target
        if isinstance(target, str):
            owner, *rest = call.args
            return f"{self._argument(owner)}.{target}({self._given(rest, call)})"
        if not call.kwargs and len(call.args) == 2:
            left, right = map(self._argument, call.args)
            if target in INFIX:
                return f"{left} {INFIX[target]} {right}"
            if target is operator.getitem and not isinstance(call.args[1], slice):
                return f"{left}[{right}]"
        name = getattr(target, "__name__", None) or type(target).__name__
        return f"{self._bind(target, name)}({self._given(call.args, call)})"

    def _given(self, args: Sequence[Any], call: Call) -> str:
        keywords = (f"{key}={self._argument(value)}" for key, value in call.kwargs.items())
        return ", ".join([*map(self._argument, args), *keywords])

    def _argument(self, argument: Any) -> str:
        if isinstance(argument, fx.Node):
            return self._names[argument]
        if type(argument) is tuple:
            inside = ", ".join(map(self._argument, argument))
            return f"({inside},)" if len(argument) == 1 else f"({inside})"
        if isinstance(argument, tuple) and hasattr(argument, "_fields"):
            parts = ", ".join(map(self._argument, argument))
            return f"{self._bind(type(argument), type(argument).__name__)}({parts})"
        if isinstance(argument, (list, fx.immutable_collections.immutable_list)):
            return f"[{', '.join(map(self._argument, argument))}]"
        if isinstance(argument, dict):
            pairs = (f"{key!r}: {self._argument(value)}" for key, value in argument.items())
            return f"{{{', '.join(pairs)}}}"
        if isinstance(argument, slice):
            ends = (argument.start, argument.stop, argument.step)
            return f"slice({', '.join(map(self._argument, ends))})"
        if argument is None or argument is Ellipsis or type(argument) in {bool, int, str}:
            return repr(argument)
        return self._bind(argument, type(argument).__name__)

    def _bind(self, value: Any, hint: str) -> str:
        """Give a constant a name among the function's globals; the same object gets the same."""
        if id(value) not in self._bound_names:
            name = _identifier(f"_{hint}", self._bound.keys() | set(self._names.values()))
            self._bound_names[id(value)] = name
            self._bound[name] = value
        return self._bound_names[id(value)]


_UNCHANGED: Any = object()


def _identifier(text: str, taken: Any) -> str:
    """Make a name of Python that is not taken, and take it where that can be done."""
    plain = re.sub(r"\W", "_", text)
    if not plain.isidentifier() or keyword.iskeyword(plain) or plain in {"graph", "args", "slice"}:
        plain = f"_{plain}"
    name = next(
        name
        for name in (plain, *(f"{plain}_{n}" for n in range(1, len(taken) + 2)))
        if name not in taken
    )
    if isinstance(taken, set):
        taken.add(name)
    return name


def _deaths(nodes: Sequence[fx.Node], boxed: bool) -> dict[fx.Node, list[fx.Node]]:
    """For each node, the values that it is the last to read; the caller holds plain inputs."""
    last: dict[fx.Node, fx.Node] = {}
    for node in nodes:
        if node.op not in {"get_attr", "output"} and (boxed or node.op != "placeholder"):
            last[node] = node
        for used in node.all_input_nodes:
            if used in last:
                last[used] = node
    dead: dict[fx.Node, list[fx.Node]] = defaultdict(list)
    for used, node in last.items():
        if node.op not in {"output", "placeholder"}:
            dead[node].append(used)
    return dead


def _attribute(module: torch.nn.Module, path: str) -> Any:
    found: Any = module
    for part in path.split("."):
        found = getattr(found, part)
    return found
