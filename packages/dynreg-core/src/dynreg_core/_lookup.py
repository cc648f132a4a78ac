"""Lookups: from a name to its callable, with everything that may have to be done on the way."""

import sys
from typing import TYPE_CHECKING

from dynreg_core._loading import Loader
from dynreg_core._names import closest, is_qualified, split_pin
from dynreg_core._resolution import View, follow
from dynreg_core._torch_backends import distribution_of
from dynreg_core._warn import warn
from dynreg_core.errors import (
    AmbiguousBackendError,
    ArgumentTypeError,
    BackendDeniedError,
    BackendLoadError,
    DeprecatedBackendWarning,
    PluginWarning,
    UnknownBackendError,
)

if TYPE_CHECKING:
    from dynreg_core._environment import Environment
    from dynreg_core._resolution import Candidate
    from dynreg_core._store import Store
    from dynreg_core._types import CompilerFn

__all__ = ["Lookup"]


class Lookup:
    """Looks names up in a store and its environment.

    Args:
        store: What is registered in this process.
        environment: What is installed, the policy, and torch.
    """

    def __init__(self, store: "Store", environment: "Environment") -> None:
        self.loader = Loader(environment.torch)
        self._store = store
        self._environment = environment
        self._last: View | None = None
        self._warned: set[str] = set()

    def cached(self, name: str) -> "CompilerFn | None":
        """Return the callable of a name that was looked up since the last change."""
        last = self._last
        return last.resolved.get(name) if last is not None and self._holds(last) else None

    def view(self) -> View:
        """Return everything that lookups depend on, as it is now."""
        last = self._last
        if last is not None and self._holds(last):
            return last
        view = View(self._store.state, self._environment.current(), self._environment.torch)
        self._last = view
        if last is None or last.surroundings is not view.surroundings:
            self._environment.warn_of_doubts(view)
        return view

    def _holds(self, view: View) -> bool:
        """Whether nothing has changed since a view was made."""
        return view.state is self._store.state and view.surroundings is self._environment.latest

    def refresh(self) -> bool:
        """Look again for what is installed and for the policy; return whether it differs."""
        changed = self._environment.refresh()
        self.loader.forget()
        return changed

    def find(self, name: str) -> "Candidate":
        """Return what ``name`` or ``name@distribution`` stands for.

        Before it fails, it looks whether something has been installed.

        Raises:
            DynregError: As :meth:`Registry.lookup_backend` says, except for loading.
        """
        _check_string(name)
        try:
            return self.view().select(*split_pin(name))
        except UnknownBackendError:
            if self._environment.refresh_if_changed():
                self.loader.forget()
                try:
                    return self.view().select(*split_pin(name))
                except UnknownBackendError:
                    pass  # explained below
        raise self._environment.torch.unknown(_explained(self.view(), name))

    def knows(self, name: str) -> bool:
        """Whether a name stands for something that policy allows."""
        try:
            if is_qualified(name):
                self.check(name)
            else:
                self.find(name)
        except AmbiguousBackendError:
            return True
        except (BackendDeniedError, BackendLoadError, UnknownBackendError):
            return False
        return True

    def check(self, name: str) -> None:
        """Refuse a name whose lookup is certain to fail. Imports no backend.

        Raises:
            DynregError: As :meth:`Registry.lookup_backend` says.
        """
        if is_qualified(name):
            self._check_policy(name)
            self.loader.check_target(name, name)
        else:
            self.loader.check(self.follow(self.find(name)))

    def follow(self, candidate: "Candidate") -> "Candidate":
        """Return what an alias stands for in the end; anything else is returned as it is."""
        return follow(candidate, self.find)

    def resolve(self, name: str) -> "CompilerFn":
        """Return the callable of a name, importing it if needed.

        Raises:
            DynregError: As :meth:`Registry.lookup_backend` says.
        """
        _check_string(name)
        view = self.view()
        if is_qualified(name):
            self._check_policy(name)
            return view.resolved.setdefault(name, self.loader.load_target(name, name))
        candidate = self.find(name)
        if candidate.deprecated:
            warn(
                f"the backend name {name!r} is deprecated: {candidate.deprecated}; use "
                f"{split_pin(candidate.alias_of)[0]!r}",
                DeprecatedBackendWarning,
            )
        self._warn_of_manifest(candidate)
        compiler_fn = self.loader.load(self.follow(candidate))
        # A module may register itself on import; what a program registers comes first.
        registered = self._store.state.registrations.get(name)
        if registered is not None and registered.compiler_fn is not None:
            compiler_fn = registered.compiler_fn
        # Remembered in the view that was there before: if something has changed since, that view
        # is never asked again, and nothing outdated stays.
        return compiler_fn if candidate.deprecated else view.resolved.setdefault(name, compiler_fn)

    def _check_policy(self, name: str) -> None:
        denial = self.view().policy.denial(name, "")
        if denial is not None:
            raise BackendDeniedError(name, str(denial), denial.origin)

    def _warn_of_manifest(self, candidate: "Candidate") -> None:
        if candidate.entry is None or candidate.entry.distribution in self._warned:
            return
        error = self.view().installed.manifest_error(candidate.entry)
        if error is not None:
            self._warned.add(candidate.entry.distribution)
            warn(
                f"the manifest of {candidate.label} is ignored: {error.sentence}; {error.hint}",
                PluginWarning,
            )


def _check_string(name: object) -> None:
    if not isinstance(name, str):
        raise ArgumentTypeError(
            "name", name, expected="a string", hint="`dynreg list` shows all names"
        )


def _explained(view: View, name: str) -> UnknownBackendError:
    """Return the error for a name that stands for nothing, with all that may help."""
    plain, distribution = split_pin(name)
    because: str | None = None
    if distribution:
        providers = sorted({c.label for c in view.candidates(plain) if c.distribution})
        because = f"{distribution} does not provide it"
        if providers:
            because += f"; {', '.join(providers)} {'does' if len(providers) == 1 else 'do'}"
        return UnknownBackendError(name, because=because)
    if not view.policy.plugins and plain in view.installed.names():
        origin = view.policy.origin("plugins")
        return UnknownBackendError(
            name, because=f"plugins are turned off in {origin}", hint=f"change {origin}"
        )
    hint: str | None = None
    provider, module = distribution_of(plain)
    if module and module in sys.modules:
        because = f"{module} is imported, and has not registered it"
    elif module:
        from dynreg_core._availability import module_exists

        if module_exists(module):
            because = f"{provider} registers it when {module} is imported, and has no entry point"
            provider, hint = None, f"`import {module}` first"
    return UnknownBackendError(
        name,
        suggestions=closest(name, view.names()),
        distribution=provider,
        because=because,
        hint=hint,
    )
