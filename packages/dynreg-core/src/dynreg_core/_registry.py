"""The registry: names of backends, where they come from, and what they resolve to."""

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dynreg_core._types import BackendInfo, CompilerFn, Registration, State, Status
from dynreg_core.errors import DuplicateBackendError, UnknownBackendError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dynreg_core._handle import BackendHandle

__all__ = ["Registry"]


class Registry:
    """Names of backends and what they resolve to.

    Args:
        observer: Called as ``observer(before, after)`` for every change, before it takes effect;
            what it raises undoes the change.
    """

    def __init__(self, *, observer: "Callable[[State, State], None] | None" = None) -> None:
        self._lock = threading.RLock()
        self._state = State()
        self._observer = observer

    @property
    def state(self) -> State:
        """What is registered in this process, and the defaults."""
        return self._state

    def register_backend(
        self,
        compiler_fn: CompilerFn | None = None,
        name: str | None = None,
        tags: "Sequence[str]" = (),
        *,
        options: type[Any] | None = None,
        replace: bool = False,
    ) -> Any:
        """Register a backend; also a decorator, with and without arguments."""
        if compiler_fn is None:
            return lambda fn: self.register_backend(
                fn, name, tags, options=options, replace=replace
            )
        name = name or str(getattr(compiler_fn, "__name__", None))
        if name in self._state.registrations and not replace:
            raise DuplicateBackendError(name, repr(self._state.registrations[name].compiler_fn))
        self._change(
            {
                **self._state.registrations,
                name: Registration(name, compiler_fn, tuple(tags), options=options),
            }
        )
        return compiler_fn

    def register_debug_backend(
        self, compiler_fn: CompilerFn | None = None, name: str | None = None, **kwargs: Any
    ) -> Any:
        """``register_backend`` with the tag ``debug``."""
        return self.register_backend(compiler_fn, name, ("debug",), **kwargs)

    def register_experimental_backend(
        self, compiler_fn: CompilerFn | None = None, name: str | None = None, **kwargs: Any
    ) -> Any:
        """``register_backend`` with the tag ``experimental``."""
        return self.register_backend(compiler_fn, name, ("experimental",), **kwargs)

    def register_alias(
        self,
        alias: str,
        name: str,
        *,
        tags: "Sequence[str]" = (),
        deprecated: str = "",
        replace: bool = False,
    ) -> None:
        """Give a backend another name."""
        self._change(
            {
                **self._state.registrations,
                alias: Registration(alias, None, tuple(tags), name, deprecated),
            }
        )

    def unregister_backend(self, name: str) -> None:
        """Take a name that was registered in this process away."""
        rest = dict(self._state.registrations)
        if rest.pop(name, None) is None:
            raise UnknownBackendError(name)
        self._change(rest)

    def _change(self, registrations: dict[str, Registration]) -> None:
        with self._lock:
            after = State(registrations, self._state.defaults)
            if self._observer is not None:
                self._observer(self._state, after)
            self._state = after

    def lookup_backend(self, compiler_fn: str | CompilerFn) -> CompilerFn:
        """Return the callable that a name stands for; a callable is returned as it is."""
        if not isinstance(compiler_fn, str):
            return compiler_fn
        found = self._state.registrations.get(compiler_fn)
        if found is None or found.compiler_fn is None:
            raise UnknownBackendError(compiler_fn)
        return found.compiler_fn

    def list_backends(
        self, exclude_tags: "Sequence[str] | None" = ("debug", "experimental")
    ) -> list[str]:
        """Sorted names, without those that have one of the tags."""
        return sorted({info.name for info in self.list_backend_info(exclude_tags)})

    def list_backend_info(
        self, exclude_tags: "Sequence[str] | None" = ("debug", "experimental")
    ) -> list[BackendInfo]:
        """What is known of each name from each source, sorted by name; imports no backend."""
        excluded = set(exclude_tags or ())
        return [
            BackendInfo(entry.name, "process", "", tags=entry.tags, status=Status("loaded"))
            for entry in self._state.registrations.values()
            if not excluded.intersection(entry.tags)
        ]

    def get_backend_info(self, name: str) -> BackendInfo:
        """What is known of a name, without importing the backend."""
        for info in self.list_backend_info(None):
            if info.name == name:
                return info
        raise UnknownBackendError(name)

    def is_registered_backend(self, compiler_fn: str | CompilerFn) -> bool:
        """Whether a name resolves, or a callable is a registered backend."""
        return any(
            compiler_fn in (entry.name, entry.compiler_fn)
            for entry in self._state.registrations.values()
        )

    def set_default_backend(
        self, backend: str | CompilerFn | None, *, device: str | None = None
    ) -> None:
        """Set the default for a device type, or for all; ``None`` takes it back."""
        self._state = State(self._state.registrations, {device or "": backend or "inductor"})

    def get_default_backend(self) -> str | CompilerFn:
        """The default backend."""
        return self._state.defaults.get("", "inductor")

    def default_for(self, device: Any = None) -> str | CompilerFn:
        """The default backend for a device type."""
        return self._state.defaults.get(str(device), self.get_default_backend())

    def refresh(self) -> bool:
        """Look again for what is installed and for the policy; whether anything changed."""
        return False

    @contextmanager
    def using(
        self, backend: str | CompilerFn | None = None, *, device: str | None = None
    ) -> "Iterator[None]":
        """Undo registrations and defaults at the end of the block."""
        before = self._state
        try:
            if backend is not None:
                self.set_default_backend(backend, device=device)
            yield
        finally:
            self._state = before

    def backend(
        self,
        name: str,
        /,
        *,
        mode: str | None = None,
        on_unknown_option: str = "error",
        **options: Any,
    ) -> "BackendHandle":
        """Return a handle of a backend with options, for ``torch.compile(backend=...)``."""
        from dynreg_core._handle import BackendHandle

        return BackendHandle(name, self.lookup_backend(name), mode, options)
