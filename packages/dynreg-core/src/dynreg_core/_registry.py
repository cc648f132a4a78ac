"""The registry: names of backends, where they come from, and what they resolve to."""

from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from dynreg_core import _defaults, _targets
from dynreg_core._describe import describe
from dynreg_core._environment import Environment
from dynreg_core._lookup import Lookup
from dynreg_core._names import check_name, check_tags, same_distribution, split_pin
from dynreg_core._registrations import adding, aliasing, check_registration, removing
from dynreg_core._store import Store
from dynreg_core._types import CompilerFn, Registration, State
from dynreg_core.errors import (
    AmbiguousBackendError,
    ArgumentTypeError,
    BackendDeniedError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dynreg_core._handle import BackendHandle
    from dynreg_core._options import OnUnknown
    from dynreg_core._policy import Policy
    from dynreg_core._store import Observer
    from dynreg_core._torch_backends import TorchBackends
    from dynreg_core._types import BackendInfo, EntryPoint, MetadataProblem

__all__ = ["Registry"]

_HIDDEN = ("debug", "experimental")


class Registry:
    """Names of backends, and what they resolve to.

    A name resolves from these sources, in this order: registered in this process; entry points of
    installed distributions; torch's own. A name that torch is built with stays torch's unless it
    is registered with ``replace=True``.

    All methods may be called from any thread. A call that raises has changed nothing.

    Args:
        entry_points: Returns the entry points to use, in place of what is installed.
        policy: Returns the policy to use, in place of that of the project and the environment.
        torch: Torch, as a source of names.
        observer: Called as ``observer(before, after)`` for every change of what is registered,
            before it takes effect; what it raises undoes the change.
    """

    def __init__(
        self,
        *,
        entry_points: "Callable[[], Iterable[EntryPoint]] | None" = None,
        policy: "Callable[[], Policy] | None" = None,
        torch: "TorchBackends | None" = None,
        observer: "Observer | None" = None,
    ) -> None:
        self._store = Store(observer)
        self._lookup = Lookup(self._store, Environment(entry_points, policy, torch))

    @property
    def state(self) -> State:
        """What is registered in this process, and the defaults."""
        return self._store.state

    @property
    def policy(self) -> "Policy":
        """The rules in effect."""
        return self._lookup.view().policy

    # --- registering ---------------------------------------------------------------------------

    def register_backend(
        self,
        compiler_fn: CompilerFn | None = None,
        name: str | None = None,
        tags: "Sequence[str]" = (),
        *,
        options: type[Any] | None = None,
        replace: bool = False,
    ) -> Any:
        """Register a backend, so that ``torch.compile(backend=name)`` finds it.

        Also a decorator, with and without arguments. Registering the same callable again under
        the same name does nothing.

        Args:
            compiler_fn: Any callable that takes a graph module and its example inputs.
            name: The name; that of the callable by default.
            tags: Tags of this name; ``list_backends`` leaves ``debug`` and ``experimental`` out.
            options: Dataclass with one field an option, against which options are checked.
            replace: Take the name over from what is registered or built into torch.

        Returns:
            ``compiler_fn``; without one, a decorator.

        Raises:
            ArgumentTypeError: An argument has the wrong type.
            ArgumentValueError: The name or a tag cannot be one.
            DuplicateBackendError: The name is taken.
        """
        if compiler_fn is None:
            if name is not None:
                check_name(name)
            return partial(
                self.register_backend,
                name=name,
                tags=check_tags(tags),
                options=options,
                replace=replace,
            )
        entry = check_registration(compiler_fn, name, tags, options)
        self._store.change(lambda state: adding(state, entry, replace=replace))
        return compiler_fn

    def register_debug_backend(
        self, compiler_fn: CompilerFn | None = None, name: str | None = None, **keywords: Any
    ) -> Any:
        """Register a backend with the tag ``debug``; see :meth:`register_backend`."""
        return self.register_backend(compiler_fn, name, **{"tags": ("debug",), **keywords})

    def register_experimental_backend(
        self, compiler_fn: CompilerFn | None = None, name: str | None = None, **keywords: Any
    ) -> Any:
        """Register a backend with the tag ``experimental``; see :meth:`register_backend`."""
        return self.register_backend(compiler_fn, name, **{"tags": ("experimental",), **keywords})

    def register_alias(
        self,
        alias: str,
        name: str,
        *,
        tags: "Sequence[str]" = (),
        deprecated: str = "",
        replace: bool = False,
    ) -> None:
        """Give a backend another name.

        Args:
            alias: The other name.
            name: The backend's name, or ``name@distribution``.
            tags: Tags of the other name; those of the backend do not count for it.
            deprecated: Why the other name will go away; a lookup of it warns with this.
            replace: Take the other name over from what holds it.

        Raises:
            ArgumentTypeError: An argument has the wrong type.
            ArgumentValueError: The other name or a tag cannot be one.
            UnknownBackendError: ``name`` stands for nothing, or for the alias itself.
            DuplicateBackendError: The other name is taken.
        """
        entry = Registration(
            check_name(alias, "alias"), None, check_tags(tags), name, deprecated=deprecated
        )
        self._lookup.find(name)
        self._store.change(lambda state: aliasing(state, entry, replace=replace))

    def unregister_backend(self, name: str) -> None:
        """Take back a registration of this process; an installed or built-in name reappears.

        Raises:
            UnknownBackendError: The name is not registered in this process.
        """
        self._store.change(lambda state: removing(state, name))

    @contextmanager
    def using(
        self, backend: str | CompilerFn | None = None, *, device: Any = None
    ) -> "Iterator[None]":
        """Undo registrations and defaults at the end of a block.

        What is registered is visible to every thread. What other threads or tasks register in the
        meantime stays.

        Args:
            backend: Default backend in the block; ``None`` leaves the default alone.
            device: Device, or its type, to set it for; ``None`` for all.

        Raises:
            DynregError: The backend cannot be the default, see :meth:`set_default_backend`.
        """
        with self._store.scope():
            if backend is not None:
                self.set_default_backend(backend, device=device)
            yield

    # --- looking up ----------------------------------------------------------------------------

    def lookup_backend(self, compiler_fn: str | CompilerFn) -> CompilerFn:
        """Return the callable that a name stands for, importing it if needed.

        Args:
            compiler_fn: A name; ``name@distribution``; ``package.module:function``; or a callable,
                which is returned as it is.

        Raises:
            UnknownBackendError: The name stands for nothing, also after a look at what may have
                been installed since.
            AmbiguousBackendError: Several distributions provide the name.
            BackendDeniedError: Policy forbids it.
            BackendUnavailableError: Something that the backend needs is missing.
            BackendLoadError: Its import fails.
        """
        if isinstance(compiler_fn, str):
            return self._lookup.cached(compiler_fn) or self._lookup.resolve(compiler_fn)
        if not callable(compiler_fn):
            raise ArgumentTypeError(
                "backend",
                compiler_fn,
                expected="a name or a callable",
                hint='pass a name, as in "inductor"; `dynreg list` shows them',
            )
        return compiler_fn

    def backend(
        self,
        name: str,
        /,
        *,
        mode: str | None = None,
        on_unknown_option: "OnUnknown" = "error",
        **options: Any,
    ) -> "BackendHandle":
        """Return a backend with mode and options, for ``torch.compile(backend=...)``.

        Args:
            name: As :meth:`lookup_backend` takes it.
            mode: What the backend is passed as ``mode``.
            on_unknown_option: ``"warn"`` leaves out, with a warning, options that the backend does
                not declare; they are then meant for another backend.
            **options: What the backend is passed as ``options``.

        Raises:
            BackendOptionError: The backend does not take these options.
            BackendSignatureError: The backend takes no mode, or no options.
            DynregError: As :meth:`lookup_backend`.
        """
        from dynreg_core._handle import make_handle

        return make_handle(
            self._lookup, name, mode=mode, options=options, on_unknown_option=on_unknown_option
        )

    def compiler_fn_for_torch(self, name: str) -> CompilerFn:
        """Return what torch should call for a name.

        That is the backend's own callable where nothing is left to check, and a handle where the
        backend declares options, or takes no mode or no options.
        """
        from dynreg_core._handle import checked

        return checked(self._lookup, name)

    # --- listing -------------------------------------------------------------------------------

    def list_backends(self, exclude_tags: "Sequence[str] | None" = _HIDDEN) -> list[str]:
        """Return the names that ``torch.compile(backend=...)`` takes, sorted. Imports no backend.

        Args:
            exclude_tags: Leave out names with one of these tags; ``None`` or ``()`` for none.
        """
        view = self._lookup.view()
        excluded = set(check_tags(exclude_tags or (), "exclude_tags"))
        listed = filter(None, map(view.listed, view.names()))
        return sorted(
            candidate.name for candidate in listed if not excluded.intersection(candidate.tags)
        )

    def list_backend_info(
        self, exclude_tags: "Sequence[str] | None" = _HIDDEN
    ) -> "list[BackendInfo]":
        """Return what is known of each name from each source, sorted. Imports no backend.

        A name that several sources have appears once for each; the first is what a lookup finds.

        Args:
            exclude_tags: Leave out names with one of these tags; ``None`` or ``()`` for none.
        """
        view = self._lookup.view()
        excluded = set(check_tags(exclude_tags or (), "exclude_tags"))
        return [
            info
            for name in sorted(view.names())
            for info in describe(view, self._lookup.loader, name)
            if not excluded.intersection(info.tags)
        ]

    def get_backend_info(self, name: str) -> "BackendInfo":
        """Return what is known of a name, without importing the backend.

        Args:
            name: A name, or ``name@distribution``.

        Raises:
            UnknownBackendError: The name stands for nothing.
        """
        with suppress(AmbiguousBackendError, BackendDeniedError):  # the status says it
            self._lookup.find(name)
        plain, distribution = split_pin(name)
        return next(
            info
            for info in describe(self._lookup.view(), self._lookup.loader, plain)
            if not distribution or same_distribution(info.distribution, distribution)
        )

    def is_registered_backend(self, compiler_fn: str | CompilerFn) -> bool:
        """Whether a name stands for a backend, or a callable is one that a name stands for.

        Imports no backend. A name that several distributions provide is one; so is a qualified
        name whose module can be found.
        """
        if isinstance(compiler_fn, str):
            return self._lookup.knows(compiler_fn)
        from dynreg_core._handle import BackendHandle

        if isinstance(compiler_fn, BackendHandle):
            return self.is_registered_backend(compiler_fn.name)
        return self._lookup.loader.holds(compiler_fn) or any(
            _targets.same(entry.compiler_fn, compiler_fn)
            for entry in self.state.registrations.values()
        )

    def problems(self) -> "tuple[MetadataProblem, ...]":
        """Return everything wrong with the metadata and manifests of what is installed."""
        return self._lookup.view().installed.problems()

    # --- defaults ------------------------------------------------------------------------------

    def set_default_backend(self, backend: str | CompilerFn | None, *, device: Any = None) -> None:
        """Set the backend that is meant where none is named.

        Args:
            backend: A name or a callable; ``None`` takes the setting back.
            device: Device, or its type, to set it for; ``None`` for all.

        Raises:
            ArgumentTypeError: It is neither a name nor a callable.
            UnknownBackendError: The name stands for nothing.
            DynregError: The backend is ambiguous, denied, or cannot work here.
        """
        key = "" if device is None else _defaults.device_type(device)
        if isinstance(backend, str):
            self._lookup.check(backend)
        elif backend is not None:
            self.lookup_backend(backend)
        self._store.change(lambda _: ({}, {key: backend}))

    def get_default_backend(self, device: Any = None) -> str | CompilerFn:
        """Return the backend that is meant where none is named.

        Args:
            device: Device, or its type; ``None`` for none in particular.

        Raises:
            PolicyError: The default of the policy cannot be used.
        """
        kind = "" if device is None else _defaults.device_type(device)
        return _defaults.default_for(self._lookup.view(), kind, self._lookup.find)

    def default_for(self, device: Any) -> str | CompilerFn:
        """Return the default backend for a device, or a device type as in ``"cuda"``."""
        return self.get_default_backend(_defaults.device_type(device))

    def refresh(self) -> bool:
        """Look again for what is installed and for the policy.

        Returns:
            Whether anything is different.
        """
        return self._lookup.refresh()
