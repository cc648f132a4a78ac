"""Handles: a backend by name with mode and options, as one value.

torch.compile compares the backend of a call with that of earlier calls, and compiles again where
they differ. Frameworks copy and pickle what they pass to it. A handle is made for both: it is the
same value however often it is built, copied or sent to another process.
"""

from typing import TYPE_CHECKING, Any

from dynreg_core import _targets
from dynreg_core._names import is_qualified
from dynreg_core._options import check_options
from dynreg_core.errors import ArgumentValueError, BackendSignatureError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dynreg_core._lookup import Lookup
    from dynreg_core._options import OnUnknown, OptionSchema
    from dynreg_core._resolution import Candidate
    from dynreg_core._types import CompilerFn

__all__ = ["BackendHandle", "checked", "make_handle"]

_KEYWORDS = ("mode", "options")

_FORWARDED = frozenset({"backend_ctx_ctor", "get_compiler_config", "reset"})
"""What torch asks a backend for besides calling it."""


class BackendHandle:
    """A backend by name, with mode and options. ``dynreg_core.backend`` makes them.

    Handles are equal if their names, modes and options are, and their names stand for the same
    callable. They cannot be changed. Pickling stores the name, and the process that loads it looks
    the name up in its own default registry, when the handle is first used.

    Args:
        name: Name of the backend.
        compiler_fn: Its callable, or ``None`` to look it up when it is needed.
        mode: What torch.compile would be passed as ``mode``.
        options: What torch.compile would be passed as ``options``.
        schema: The options that the backend declares, or ``None`` where it declares none.
        on_unknown_option: What happens to an option that is not among them.
    """

    def __init__(
        self,
        name: str,
        compiler_fn: "CompilerFn | None" = None,
        *,
        mode: str | None = None,
        options: "Mapping[str, Any] | None" = None,
        schema: "OptionSchema | None" = None,
        on_unknown_option: "OnUnknown" = "error",
    ) -> None:
        self.__name__ = name  # torch names a backend by this
        self._compiler_fn = compiler_fn
        self._schema = schema
        self._mode = mode
        self._on_unknown_option = on_unknown_option
        self._options = dict(options or {})

    @property
    def name(self) -> str:
        """Name of the backend."""
        return self.__name__

    @property
    def mode(self) -> str | None:
        """Mode, as torch.compile would be passed it."""
        return self._mode

    @property
    def options(self) -> dict[str, Any]:
        """A copy of the options."""
        return dict(self._options)

    @property
    def compiler_fn(self) -> "CompilerFn":
        """The callable that the name stands for."""
        if self._compiler_fn is None:
            self._resolve()
        return self._compiler_fn  # type: ignore[return-value]

    def _resolve(self) -> None:
        from dynreg_core._default import registry

        resolved = registry.backend(
            self.__name__,
            mode=self._mode,
            on_unknown_option=self._on_unknown_option,
            **self._options,
        )
        self._schema = resolved._schema  # noqa: SLF001 - its own class
        self._compiler_fn = resolved._compiler_fn  # noqa: SLF001 - its own class

    def __call__(
        self,
        graph_module: Any,
        example_inputs: Any,
        *,
        mode: str | None = None,
        options: "Mapping[str, Any] | None" = None,
    ) -> Any:
        """Compile a graph, as torch calls it.

        Args:
            graph_module: The graph, a ``torch.fx.GraphModule``.
            example_inputs: Its example inputs.
            mode: What torch.compile was passed; wins over the handle's own.
            options: Likewise, option by option.

        Raises:
            BackendOptionError: The backend does not take these options.
            BackendSignatureError: The backend takes no mode, or no options.
        """
        compiler_fn = self.compiler_fn
        keywords = _keywords(
            self.__name__,
            compiler_fn,
            self._schema,
            mode=self._mode if mode is None else mode,
            options={**self._options, **(options or {})},
            on_unknown_option=self._on_unknown_option,
        )
        return compiler_fn(graph_module, example_inputs, **keywords)

    def __getattr__(self, name: str) -> Any:
        if name in _FORWARDED:
            return getattr(self.compiler_fn, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BackendHandle):
            return NotImplemented
        return (
            self.__name__ == other.__name__
            and self._mode == other._mode
            and self._on_unknown_option == other._on_unknown_option
            and equal_values(self._options, other._options)
            and (
                # Before it is first used, a handle means whatever the name stands for.
                self._compiler_fn is None
                or other._compiler_fn is None
                or _targets.same(self._compiler_fn, other._compiler_fn)
            )
        )

    def __hash__(self) -> int:
        return hash((self.__name__, self._mode, frozenset(self._options)))

    def __copy__(self) -> "BackendHandle":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "BackendHandle":
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.__name__, self._mode, self._options, self._on_unknown_option)

    def __repr__(self) -> str:
        words = [repr(self.__name__)]
        if self._mode is not None:
            words.append(f"mode={self._mode!r}")
        words += [f"{name}={value!r}" for name, value in self._options.items()]
        return f"backend({', '.join(words)})"


def _rebuild(
    name: str, mode: str | None, options: dict[str, Any], on_unknown_option: "OnUnknown"
) -> BackendHandle:
    return BackendHandle(name, mode=mode, options=options, on_unknown_option=on_unknown_option)


def _keywords(
    name: str,
    compiler_fn: "CompilerFn",
    schema: "OptionSchema | None",
    *,
    mode: str | None,
    options: "Mapping[str, Any]",
    on_unknown_option: "OnUnknown",
) -> dict[str, Any]:
    """Return the keyword arguments that a backend is called with, checked.

    Raises:
        BackendOptionError: The backend does not take these options.
        BackendSignatureError: It takes no mode, or no options.
    """
    keywords: dict[str, Any] = {}
    if mode is not None:
        keywords["mode"] = mode
    if schema is not None:
        options = check_options(schema, options, backend=name, on_unknown_option=on_unknown_option)
    if options:
        keywords["options"] = dict(options)
    for keyword in keywords:
        if not _targets.accepts(compiler_fn, keyword):
            raise BackendSignatureError(name, _targets.describe(compiler_fn), keyword)
    return keywords


def make_handle(
    lookup: "Lookup",
    name: str,
    *,
    mode: str | None,
    options: "Mapping[str, Any]",
    on_unknown_option: "OnUnknown",
) -> BackendHandle:
    """Resolve a name, check mode and options, and return the handle.

    An alias gives the handle of what it stands for.

    Raises:
        DynregError: As :meth:`Registry.backend` says.
    """
    if on_unknown_option not in {"error", "warn"}:
        raise ArgumentValueError(
            "on_unknown_option",
            on_unknown_option,
            problem="is no choice",
            hint="pass 'error' or 'warn'",
        )
    compiler_fn, name, candidate = _resolved(lookup, name)
    schema = candidate.options if candidate else None
    keywords = _keywords(
        name,
        compiler_fn,
        schema,
        mode=mode,
        options=options,
        on_unknown_option=on_unknown_option,
    )
    return BackendHandle(
        name,
        compiler_fn,
        mode=mode,
        options=keywords.get("options"),
        schema=schema,
        on_unknown_option=on_unknown_option,
    )


def checked(lookup: "Lookup", name: str) -> "CompilerFn":
    """Return a backend's callable, or its handle where mode or options are to be checked.

    Raises:
        DynregError: As :meth:`Registry.lookup_backend` says.
    """
    compiler_fn, name, candidate = _resolved(lookup, name)
    if candidate is not None and candidate.source == "torch":
        return compiler_fn  # torch knows its own
    schema = candidate.options if candidate else None
    if schema is None and all(_targets.accepts(compiler_fn, word) for word in _KEYWORDS):
        return compiler_fn
    return BackendHandle(name, compiler_fn, schema=schema)


def _resolved(lookup: "Lookup", name: str) -> "tuple[CompilerFn, str, Candidate | None]":
    """Return the callable of a name, the name that an alias stands for, and what that is."""
    compiler_fn = lookup.cached(name) or lookup.resolve(name)
    if is_qualified(name):
        return compiler_fn, name, None
    candidate = lookup.follow(lookup.find(name))
    return compiler_fn, name if "@" in name else candidate.name, candidate


def equal_values(a: Any, b: Any) -> bool:
    """Whether two option values are equal; arrays and tensors by content.

    ``a == b`` of two tensors is a tensor, whose truth value raises; comparing what is inside a
    dict or list raises as well. Values that refuse to be compared are different.
    """
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal_values(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(equal_values, a, b))
    try:
        for attribute in ("shape", "dtype", "device"):
            if getattr(a, attribute, None) != getattr(b, attribute, None):
                return False
        equal = a == b
        return bool(equal.all() if hasattr(equal, "all") else equal)
    except Exception:  # noqa: BLE001 - a comparison runs code of the value's class
        return False
