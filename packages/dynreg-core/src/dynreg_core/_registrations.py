"""Changes of what is registered, each computed from the present state and not yet made."""

from typing import TYPE_CHECKING, Any

from dynreg_core import _targets, _torch_backends
from dynreg_core._names import check_name, check_tags, closest
from dynreg_core._types import Registration
from dynreg_core.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    DuplicateBackendError,
    UnknownBackendError,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dynreg_core._store import Edit
    from dynreg_core._types import CompilerFn, State

__all__ = ["adding", "aliasing", "check_registration", "removing"]


def check_registration(
    compiler_fn: "CompilerFn",
    name: str | None,
    tags: "Iterable[str]",
    options: type[Any] | None,
) -> Registration:
    """Return a registration whose every part is valid.

    Raises:
        ArgumentTypeError: An argument has the wrong type.
        ArgumentValueError: The name or a tag cannot be one, or the callable has no name.
    """
    if not callable(compiler_fn):
        raise ArgumentTypeError(
            "compiler_fn",
            compiler_fn,
            expected="callable",
            hint=f"pass the name by keyword: register_backend(name={compiler_fn!r})"
            if isinstance(compiler_fn, str)
            else "pass a function of a graph module and its example inputs",
        )
    if name is None:
        name = getattr(compiler_fn, "__name__", None)
        if not isinstance(name, str) or name == "<lambda>":
            raise ArgumentValueError(
                "compiler_fn",
                compiler_fn,
                problem="has no name of its own",
                hint='pass one, as in register_backend(compiler_fn, name="my_backend")',
            )
    if options is not None:
        from dynreg_core._options import option_specs

        option_specs(options)
    return Registration(check_name(name), compiler_fn, check_tags(tags), options=options)


def adding(state: "State", entry: Registration, *, replace: bool) -> "Edit":
    """Add a registration.

    Raises:
        DuplicateBackendError: The name is taken, and ``replace`` is false.
    """
    held = state.registrations.get(entry.name)
    if held is None:
        if entry.name in _torch_backends.BUILT_IN and not replace:
            raise DuplicateBackendError(entry.name, "torch's built-in backend", undo=False)
    elif _repeats(entry, held):
        return {}, {}
    elif not replace:
        raise DuplicateBackendError(entry.name, _holder(entry, held))
    return {entry.name: entry}, {}


def aliasing(state: "State", entry: Registration, *, replace: bool) -> "Edit":
    """Add an alias.

    Raises:
        UnknownBackendError: It would stand for itself.
        DuplicateBackendError: The name is taken, and ``replace`` is false.
    """
    target: Registration | None = entry
    while target is not None and target.alias_of:
        if target.alias_of == entry.name:
            raise UnknownBackendError(entry.name, because="an alias cannot stand for itself")
        target = state.registrations.get(target.alias_of)
    return adding(state, entry, replace=replace)


def removing(state: "State", name: str) -> "Edit":
    """Take a registration away.

    Raises:
        UnknownBackendError: The name is not registered in this process.
    """
    if name not in state.registrations:
        raise UnknownBackendError(
            name,
            suggestions=closest(name, state.registrations),
            because="nothing of this name was registered in this process",
        )
    return {name: None}, {}


def _repeats(entry: Registration, held: Registration) -> bool:
    """Whether a registration says nothing that the held one does not say."""
    return (
        _targets.same(entry.compiler_fn, held.compiler_fn)
        and entry.alias_of == held.alias_of
        and entry.deprecated == held.deprecated
        and entry.tags in {(), held.tags}
        and entry.options in {None, held.options}
    )


def _holder(entry: Registration, held: Registration) -> str:
    if held.compiler_fn is None:
        return f"an alias of {held.alias_of!r}"
    target = _targets.describe(held.compiler_fn)
    if _targets.same(entry.compiler_fn, held.compiler_fn):
        return f"{target} with the tags {list(held.tags)}"
    if entry.compiler_fn is not None and _targets.describe(entry.compiler_fn) == target:
        return f"an earlier definition of {target}"
    return target
