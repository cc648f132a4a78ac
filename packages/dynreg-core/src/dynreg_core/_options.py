"""Options of backends, checked against a dataclass or a manifest."""

import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import lru_cache
from typing import Any, Literal, TypeAlias, TypeVar

from dynreg_core._names import closest
from dynreg_core._types import OptionSpec
from dynreg_core._warn import warn
from dynreg_core.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    BackendOptionError,
    IgnoredOptionWarning,
    OptionTypeError,
    OptionValueError,
    UnknownOptionError,
)

__all__ = [
    "OnUnknown",
    "OptionSchema",
    "check_options",
    "matches_type",
    "option_specs",
    "parse_options",
]

OptionsT = TypeVar("OptionsT")

OnUnknown: TypeAlias = Literal["error", "warn"]
"""What happens to an option that a backend does not have."""

OptionSchema: TypeAlias = "type[Any] | tuple[OptionSpec, ...]"
"""A dataclass with one field an option, or the options of a manifest."""


@dataclass(frozen=True, slots=True)
class _Rule:
    """What one option takes."""

    spec: OptionSpec
    accepts: Callable[[Any], bool]


def parse_options(
    schema: type[OptionsT],
    options: Mapping[str, Any] | None,
    *,
    backend: str,
    on_unknown_option: OnUnknown = "error",
) -> OptionsT:
    """Turn the mapping that ``torch.compile(options=...)`` passes into a dataclass instance.

    Args:
        schema: A dataclass with one field an option. Its annotations say what each option takes:
            ``bool``, ``int``, ``float``, ``str``, ``None``, other classes, unions, ``Literal``,
            ``list``, ``tuple``, ``dict``, ``Callable`` and ``Any``.
        options: What the user passed; ``None`` for nothing. It is not changed.
        backend: Name of the backend, for errors.
        on_unknown_option: ``"warn"`` leaves an option out that the dataclass does not have.

    Returns:
        An instance, with the dataclass's own defaults for what was not passed.

    Raises:
        BackendOptionError: An option is unknown, missing, of the wrong type, or none of its
            choices. What the dataclass's own ``__post_init__`` raises as a ``ValueError`` becomes
            one as well.
    """
    checked = check_options(schema, options, backend=backend, on_unknown_option=on_unknown_option)
    try:
        return schema(**checked)
    except BackendOptionError:
        raise
    except ValueError as error:
        raise BackendOptionError(
            f"backend {backend!r} cannot take these options: {error}",
            hint=f"`dynreg info {backend}` shows all options",
        ) from error


def check_options(
    schema: OptionSchema,
    options: Mapping[str, Any] | None,
    *,
    backend: str,
    on_unknown_option: OnUnknown = "error",
) -> dict[str, Any]:
    """Return a copy of options that a backend takes; see :func:`parse_options`."""
    if options is not None and not isinstance(options, Mapping):
        raise ArgumentTypeError(
            f"options of backend {backend!r}",
            options,
            expected="a mapping of names to values",
            hint='pass a dict, as in {"name": value}',
        )
    rules = _rules(schema)
    checked = {}
    for name, value in (options or {}).items():
        rule = rules.get(name)
        if rule is None:
            error = UnknownOptionError(
                backend, name, known=rules, suggestions=closest(str(name), rules)
            )
            if on_unknown_option == "error":
                raise error
            warn(f"{error.sentence}, which was left out; {error.hint}", IgnoredOptionWarning)
            continue
        _check_value(backend, rule, value)
        checked[name] = value
    for name, rule in rules.items():
        if rule.spec.required and name not in checked:
            raise BackendOptionError(
                f"option {name!r} of backend {backend!r} is missing",
                hint=f"pass {name} as {rule.spec.type}",
            )
    return checked


def option_specs(schema: OptionSchema) -> tuple[OptionSpec, ...]:
    """Return the options that a dataclass or a manifest declares."""
    return tuple(rule.spec for rule in _rules(schema).values())


def matches_type(value: object, kind: str) -> bool:
    """Whether a value is of one of the types that a manifest can name."""
    return _accepts(_MANIFEST_TYPES[kind], value)


_MANIFEST_TYPES: dict[str, Any] = {
    "bool": bool,
    "int": int,
    "float": float,
    "str": str,
    "list": list,
    "table": dict,
    "any": Any,
}


def _check_value(backend: str, rule: _Rule, value: object) -> None:
    spec = rule.spec
    if spec.choices:
        if not any(_equal(value, choice) for choice in spec.choices):
            words = [choice for choice in spec.choices if isinstance(choice, str)]
            raise OptionValueError(
                backend,
                spec.name,
                value,
                choices=spec.choices,
                suggestions=closest(value, words) if isinstance(value, str) else (),
            )
    elif not rule.accepts(value):
        raise OptionTypeError(backend, spec.name, value, expected=spec.type)


def _equal(value: object, choice: object) -> bool:
    """Whether a value is a choice: equal and of the same type, so that 1 is not True."""
    return type(value) is type(choice) and bool(value == choice)


def _rules(schema: OptionSchema) -> Mapping[str, _Rule]:
    if isinstance(schema, tuple):
        return {spec.name: _manifest_rule(spec) for spec in schema}
    return _dataclass_rules(schema)  # type: ignore[arg-type] # typeshed has no hashable type[Any]


@lru_cache(maxsize=256)
def _dataclass_rules(schema: type[Any]) -> Mapping[str, _Rule]:
    if not is_dataclass(schema):
        raise ArgumentTypeError(
            "the declaration of options", schema, expected="a dataclass", hint="add @dataclass"
        )
    try:
        hints = typing.get_type_hints(schema)
    except NameError as error:
        raise ArgumentValueError(
            "the dataclass",
            schema,
            problem=f"has an annotation that cannot be resolved: {error}",
            hint="import the name where the module runs, not under TYPE_CHECKING",
        ) from error
    return {
        field.name: _dataclass_rule(field, hints[field.name])
        for field in fields(schema)
        if field.init
    }


def _manifest_rule(spec: OptionSpec) -> _Rule:
    kinds = spec.type.split(" or ")
    # Without a default an option is unset unless it is passed, and None says so.
    unset = spec.default is None and not spec.required
    return _Rule(
        spec,
        lambda value: (unset and value is None) or any(matches_type(value, kind) for kind in kinds),
    )


def _dataclass_rule(field: "Field[Any]", annotation: Any) -> _Rule:
    required = field.default is MISSING and field.default_factory is MISSING
    default = None if field.default is MISSING else field.default
    if field.default_factory is not MISSING:
        default = field.default_factory()
    annotation = _plain(annotation)
    _accepts(annotation, None)  # an annotation that is not understood fails here, not for a user
    spec = OptionSpec(
        field.name,
        _words(annotation),
        default,
        typing.get_args(annotation) if typing.get_origin(annotation) is Literal else (),
        str(field.metadata.get("description", "")),
        required,
    )
    return _Rule(spec, lambda value: _accepts(annotation, value))


def _plain(annotation: Any) -> Any:
    """Return what a ``NewType`` is a name for. ``get_type_hints`` has taken ``Annotated`` away."""
    while hasattr(annotation, "__supertype__"):
        annotation = annotation.__supertype__
    return annotation


def _words(annotation: Any) -> str:
    """Say an annotation in a sentence."""
    annotation = _plain(annotation)
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is type(None):
        return "None"
    if origin is Literal:
        return " or ".join(map(repr, args))
    if origin in _UNIONS:
        return " or ".join(map(_words, args))
    if origin is None and isinstance(annotation, type):
        return annotation.__name__
    return str(annotation).replace("typing.", "").replace("collections.abc.", "")


_UNIONS = (typing.Union, types.UnionType)
_OPAQUE: tuple[Any, ...] = (Callable, type)
"""What has arguments in an annotation that no value can be checked for."""


def _accepts(annotation: Any, value: object) -> bool:
    """Whether a value is what an annotation says."""
    annotation = _plain(annotation)
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is Any:
        return True
    if origin in _UNIONS:
        return any(_accepts(arg, value) for arg in args)
    if origin is Literal:
        return any(_equal(value, arg) for arg in args)
    if annotation is float:
        # The numeric tower of typing (PEP 484): an int will do for a float.
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if annotation is int:
        return isinstance(value, int) and not isinstance(value, bool)
    kind: Any = origin or annotation
    if not isinstance(kind, type):
        raise ArgumentValueError(
            "annotation",
            annotation,
            problem="is not understood",
            hint="use classes, unions, Literal, list, tuple, dict, Callable or Any",
        )
    if not isinstance(value, kind):
        return False
    return not args or kind in _OPAQUE or _items_accepted(kind, args, value)


def _items_accepted(kind: type, args: tuple[Any, ...], value: Any) -> bool:
    if isinstance(value, str):
        return False  # a text is a sequence of texts to Python, and is never meant as one
    if kind is tuple and args[-1] is not Ellipsis:
        return len(args) == len(value) and all(map(_accepts, args, value))
    if isinstance(value, Mapping):
        return all(_accepts(args[0], k) and _accepts(args[1], v) for k, v in value.items())
    return not isinstance(value, Iterable) or all(_accepts(args[0], item) for item in value)
