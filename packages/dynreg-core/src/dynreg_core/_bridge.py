"""Everything that touches torch's private tables, and nothing else does.

Two things are done to torch, and both can be undone:

* *Mirroring*: names registered in this process are put into torch's registry, so that they are
  valid strings for ``torch.compile``. What torch had under such a name comes back when it goes.
* *Installing*: torch's lookups are replaced by dynreg's, so that plain strings get dynreg's
  errors, pins, policy, qualified names and refresh.

Torch is never imported for either. Where it is not in memory yet, both wait for its import.
"""

import sys
import warnings
from typing import TYPE_CHECKING, Any

from dynreg_core._types import State
from dynreg_core.errors import BridgeError, PluginWarning, UnknownBackendError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dynreg_core._types import CompilerFn, Registration

__all__ = ["install", "lookup_torch_backend", "sync", "torch_backends", "uninstall"]

_DYNAMO = "torch._dynamo"
_REGISTRY = "torch._dynamo.backends.registry"

_TABLES = ("_BACKENDS", "_COMPILER_FNS")
"""Torch's tables: name to entry point or ``None``, and name to callable. Torch 2.14 has a third,
``_BACKEND_TAGS``; before, tags are an attribute of the callable."""

_LOOKUPS = {
    _REGISTRY: ("lookup_backend", "list_backends", "get_default_backend"),
    _DYNAMO: ("lookup_backend", "list_backends"),
    "torch._dynamo.eval_frame": ("lookup_backend",),
    "torch._dynamo.repro.after_dynamo": ("lookup_backend",),
}
"""Every place where torch binds one of these functions at import. Elsewhere it imports them from
the first when it calls them."""

_replaced: "dict[str, dict[str, Any]]" = {}
"""For each mirrored name, what torch's tables held before, by table; absent where nothing."""

_postponed: "dict[str, Registration]" = {}
"""Names to mirror once torch has registered its own backends."""

_originals: "dict[tuple[str, str], Any]" = {}
"""While installed: what torch had, by module and name."""

_waiting: "set[str]" = set()
"""What is done when torch is imported: ``mirror``, ``install``."""


# --- torch as it is ----------------------------------------------------------------------------


def _torch_registry() -> Any:
    """Return torch's registry module if torch's compiler is in memory, or ``None``.

    Raises:
        BridgeError: It is not built the way this module knows.
    """
    if _DYNAMO not in sys.modules:
        return None
    registry = sys.modules.get(_REGISTRY)
    tables = [getattr(registry, table, None) for table in _TABLES]
    if not all(isinstance(table, dict) for table in tables):
        raise _changed(f"{_REGISTRY} has no tables {' and '.join(_TABLES)}")
    return registry


def _changed(what: str) -> BridgeError:
    torch = sys.modules.get("torch")
    version = getattr(torch, "__version__", "of an unknown version")
    return BridgeError(
        f"torch {version} is not built the way dynreg-core knows: {what}",
        hint="update dynreg-core; until then pass dynreg_core.lookup_backend(name) to "
        "torch.compile in place of the name",
    )


def torch_backends() -> "Mapping[str, tuple[str, ...]]":
    """Return tags by name of what is registered with torch itself.

    Without what dynreg put there, and without entry points. Empty where torch is not in memory.
    """
    registry = sys.modules.get(_REGISTRY)
    if registry is None:
        return {}
    functions: dict[str, Any] = {**registry._COMPILER_FNS}  # noqa: SLF001 - this module's purpose
    for name, before in _replaced.items():
        functions.pop(name, None)
        if "_COMPILER_FNS" in before:
            functions[name] = before["_COMPILER_FNS"]
    backends = registry._BACKENDS  # noqa: SLF001 - this module's purpose
    return {
        name: _tags_of(registry, name, function)
        for name, function in functions.items()
        if name in _replaced or backends.get(name) is None
    }


def _tags_of(registry: Any, name: str, function: object) -> tuple[str, ...]:
    table = getattr(registry, "_BACKEND_TAGS", None)
    if table is None:
        return tuple(getattr(function, "_tags", ()))
    before = _replaced.get(name, {})
    return tuple(before.get("_BACKEND_TAGS", ()) if before else table.get(name, ()))


def lookup_torch_backend(name: str) -> "CompilerFn":
    """Import torch and return what torch itself has under a name."""
    from torch._dynamo.backends import registry

    original: Callable[[str], CompilerFn]
    original = _originals.get((_REGISTRY, "lookup_backend"), registry.lookup_backend)
    found = original(name)
    before: CompilerFn = _replaced.get(name, {}).get("_COMPILER_FNS", found)
    return before


# --- mirroring ---------------------------------------------------------------------------------


def sync(before: State, after: State) -> None:
    """Make torch's registry follow a change of what is registered in this process.

    Args:
        before: What was registered.
        after: What is about to be.

    Raises:
        BridgeError: Torch is not built the way this module knows; it is left as it was.
    """
    from dynreg_core._torch_backends import BUILT_IN

    registry = _torch_registry()
    if registry is None:
        if after.registrations:
            _wait("mirror")
        return
    gone = before.registrations.keys() - after.registrations.keys()
    for name in gone:
        _postponed.pop(name, None)
        _restore(registry, name)
    known = registry._COMPILER_FNS  # noqa: SLF001 - this module's purpose
    for name, entry in after.registrations.items():
        if name in BUILT_IN and name not in known:
            _postpone(registry, name, entry)
        elif entry is not before.registrations.get(name) or name not in _replaced:
            _mirror(registry, name, entry)


def _postpone(registry: Any, name: str, entry: "Registration") -> None:
    """Mirror a name that torch has too once torch has registered its own backend of that name.

    Torch does so at its first lookup of a name that it does not know, which a name that is
    mirrored before would break.
    """
    _postponed[name] = entry
    load_all = registry._lazy_import  # noqa: SLF001 - this module's purpose
    if getattr(load_all, "_mirrors", False):
        return

    def load_all_and_mirror() -> None:
        registry._lazy_import = load_all  # noqa: SLF001 - this module's purpose
        load_all()
        for postponed, its_entry in [*_postponed.items()]:
            _mirror(registry, postponed, its_entry)
        _postponed.clear()

    load_all_and_mirror._mirrors = True  # type: ignore[attr-defined] # noqa: SLF001 - its own mark
    registry._lazy_import = load_all_and_mirror  # noqa: SLF001 - this module's purpose


def _mirror(registry: Any, name: str, entry: "Registration") -> None:
    tables = _tables(registry)
    if name not in _replaced:
        _replaced[name] = {
            table: content[name] for table, content in tables.items() if name in content
        }
    # A handle, and not the callable: torch 2.13 writes tags on what it finds in its table.
    handle = _handle(name, entry)
    handle._tags = entry.tags  # noqa: SLF001 - where torch reads it
    tables["_BACKENDS"][name] = None
    tables["_COMPILER_FNS"][name] = handle
    if "_BACKEND_TAGS" in tables:
        tables["_BACKEND_TAGS"][name] = entry.tags


def _handle(name: str, entry: "Registration") -> Any:
    from dynreg_core._handle import BackendHandle

    # An alias is resolved when it is used: what it stands for may change, or need importing.
    return BackendHandle(name, entry.compiler_fn, schema=entry.options)


def _restore(registry: Any, name: str) -> None:
    before = _replaced.pop(name, None)
    if before is None:
        return
    for table, content in _tables(registry).items():
        if table in before:
            content[name] = before[table]
        else:
            content.pop(name, None)


def _tables(registry: Any) -> dict[str, dict[str, Any]]:
    names = (*_TABLES, "_BACKEND_TAGS")
    return {name: getattr(registry, name) for name in names if hasattr(registry, name)}


# --- installing --------------------------------------------------------------------------------


def install() -> None:
    """Make torch's own lookups go through dynreg.

    ``torch.compile(backend="name")`` then has dynreg's errors, pins, policy and refresh, and takes
    ``name@distribution`` and ``package.module:function``; ``backend=None`` means dynreg's default;
    ``torch.compiler.list_backends`` lists what dynreg lists. Once installed, a second call does
    nothing. Where torch is not in memory yet, this takes effect when it is imported.

    Raises:
        BridgeError: Torch is not built the way dynreg knows; it is left as it was.
    """
    if _originals:
        return
    if _torch_registry() is None:
        _wait("install")
        return
    found: dict[tuple[str, str], Any] = {}
    for module in _LOOKUPS.keys() & sys.modules.keys():
        for name in _LOOKUPS[module]:
            function = getattr(sys.modules[module], name, None)
            if not callable(function):
                raise _changed(f"{module} has no function {name}")
            found[module, name] = function
    for (module, name), function in found.items():
        if function is not found[_REGISTRY, name]:
            raise _changed(f"{name} in {module} is not that of {_REGISTRY}")
    _originals.update(found)
    for module, name in found:
        setattr(sys.modules[module], name, _REPLACEMENTS[name])


def uninstall() -> None:
    """Give torch its own lookups back. Does nothing where dynreg is not installed."""
    _waiting.discard("install")
    for (module, name), function in _originals.items():
        if getattr(sys.modules.get(module), name, None) is _REPLACEMENTS[name]:
            setattr(sys.modules[module], name, function)
    _originals.clear()


def _lookup_backend(compiler_fn: "str | CompilerFn") -> "CompilerFn":
    """Expand backend strings to functions, through dynreg."""
    from dynreg_core._default import registry

    if not isinstance(compiler_fn, str):
        return compiler_fn
    try:
        return registry.compiler_fn_for_torch(compiler_fn)
    except UnknownBackendError as error:
        raise invalid_backend(error) from None


def _list_backends(
    exclude_tags: "tuple[str, ...] | None" = ("debug", "experimental"),
) -> list[str]:
    """List names, through dynreg."""
    from dynreg_core._default import registry

    return registry.list_backends(exclude_tags)


def _get_default_backend() -> "str | CompilerFn":
    """Return dynreg's default; where it has none of its own, that of torch."""
    from dynreg_core._default import registry

    chosen = registry.get_default_backend()
    if chosen != "inductor":
        return chosen
    original: str | CompilerFn = _originals[_REGISTRY, "get_default_backend"]()
    return original


_REPLACEMENTS = {
    "lookup_backend": _lookup_backend,
    "list_backends": _list_backends,
    "get_default_backend": _get_default_backend,
}


def invalid_backend(error: UnknownBackendError) -> Exception:
    """Return an error as torch's own ``InvalidBackend``, with dynreg's sentence."""
    cls = __getattr__("InvalidBackend")
    invalid: Exception = cls.__new__(cls)
    invalid.args = error.args
    invalid.__dict__.update(error.__dict__)
    return invalid


def __getattr__(name: str) -> Any:
    # The class exists only where torch does; pickle finds it by this name.
    if name != "InvalidBackend":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from torch._dynamo import exc

    namespace = {"__doc__": UnknownBackendError.__doc__, "__module__": __name__}
    cls = type("InvalidBackend", (UnknownBackendError, exc.InvalidBackend), namespace)
    globals()[name] = cls
    return cls


# --- waiting for torch -------------------------------------------------------------------------


def _wait(what: str) -> None:
    if not _waiting:
        import wrapt

        wrapt.register_post_import_hook(_torch_is_imported, _DYNAMO)
    _waiting.add(what)


def _torch_is_imported(_: object) -> None:
    """Do what waited for torch. Nothing raised here may break the import of torch."""
    from dynreg_core._default import registry

    waited = set(_waiting)
    _waiting.clear()
    try:
        if "mirror" in waited:
            sync(State(), registry.state)
        if "install" in waited:
            install()
    except BridgeError as error:
        warnings.warn(str(error), PluginWarning, stacklevel=2)
