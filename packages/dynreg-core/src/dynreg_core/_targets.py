"""Callables as values: where one lives, whether two are one, what it takes, how it is imported."""

from types import BuiltinMethodType, MethodType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dynreg_core._types import CompilerFn

__all__ = ["accepts", "describe", "load", "parse", "same"]


def parse(value: str) -> tuple[str, tuple[str, ...]]:
    """Split ``package.module:attribute.attribute [extras]`` into module and attributes.

    Raises:
        ValueError: It has another form.
    """
    module, colon, attributes = value.partition("[")[0].partition(":")
    parts = tuple(part.strip() for part in attributes.split(".")) if colon else ()
    module = module.strip()
    if not all(part.isidentifier() for part in (*module.split("."), *parts)):
        raise ValueError(f"{value!r} is not of the form package.module:function")
    return module, parts


def load(value: str) -> Any:
    """Import what ``package.module:attribute`` names.

    Raises:
        ValueError: The text has another form.
        Exception: Whatever the import raises.
    """
    from importlib import import_module

    module, attributes = parse(value)
    found: Any = import_module(module)
    for attribute in attributes:
        found = getattr(found, attribute)
    return found


def same(a: object, b: object) -> bool:
    """Whether two callables are one backend.

    ``object.method`` is a new object each time it is written, and is one backend. Other callables
    are compared by identity, since comparing them by value runs code that may do anything.
    """
    return a is b or (
        type(a) is type(b) and isinstance(a, (MethodType, BuiltinMethodType)) and a == b
    )


def describe(compiler_fn: "CompilerFn") -> str:
    """Return ``package.module:name`` of a callable, or the nearest to it that can be said."""
    function = getattr(compiler_fn, "func", compiler_fn)  # functools.partial
    if not hasattr(function, "__qualname__"):
        function = type(function)
    module = getattr(function, "__module__", None) or type(compiler_fn).__module__
    return f"{module}:{function.__qualname__}"


def accepts(compiler_fn: "CompilerFn", keyword: str) -> bool:
    """Whether a callable can be called with a keyword argument; true where it cannot be told."""
    import inspect

    try:
        parameters = inspect.signature(compiler_fn).parameters.values()
    except (TypeError, ValueError):
        return True
    return any(
        parameter.kind is parameter.VAR_KEYWORD
        or (
            parameter.name == keyword
            and parameter.kind in {parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD}
        )
        for parameter in parameters
    )
