"""What calls change in a registry: one immutable state, replaced as a whole.

A change computes the next state from the present one, tells the observer, and only then puts the
next state in place. Whatever raises on the way leaves the present state; readers take no lock.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias, TypeVar

from dynreg_core._types import CompilerFn, Registration, State

__all__ = ["Edit", "Observer", "Store"]

Observer: TypeAlias = Callable[[State, State], None]
"""Called as ``observer(before, after)`` under the store's lock; what it raises undoes the change.
"""

Edit: TypeAlias = tuple[
    Mapping[str, "Registration | None"], Mapping[str, "str | CompilerFn | None"]
]
"""Registrations and defaults to put in place; ``None`` takes one away."""


Value = TypeVar("Value")


class _Scope:
    """One ``using`` block: what the names changed in it stood for before."""

    def __init__(self, store: "Store", outer: "_Scope | None") -> None:
        self.store = store
        self.outer = outer
        self.registrations: dict[str, Registration | None] = {}
        self.defaults: dict[str, str | CompilerFn | None] = {}


# A block undoes what its own thread or task has changed, and not what others change meanwhile.
_innermost: ContextVar[_Scope | None] = ContextVar("dynreg_scope", default=None)


class Store:
    """Holder of the state.

    Args:
        observer: Told of every change before it takes effect.
    """

    def __init__(self, observer: Observer | None = None) -> None:
        self.state = State()
        self._observer = observer
        self._lock = threading.RLock()

    def change(self, edit: Callable[[State], Edit]) -> None:
        """Replace the state.

        Args:
            edit: Computes the change from the present state, under the lock; what it raises
                undoes the change.
        """
        self._change(edit, self._scope())

    def _change(self, edit: Callable[[State], Edit], scope: _Scope | None) -> None:
        with self._lock:
            registrations, defaults = edit(self.state)
            if not registrations and not defaults:
                return
            before = self.state
            after = State(
                _merged(before.registrations, registrations), _merged(before.defaults, defaults)
            )
            if self._observer is not None:
                self._observer(before, after)
            if scope is not None:
                for name in registrations:
                    scope.registrations.setdefault(name, before.registrations.get(name))
                for device in defaults:
                    scope.defaults.setdefault(device, before.defaults.get(device))
            self.state = after

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Undo what this thread or task changes in the block."""
        scope = _Scope(self, _innermost.get())
        token = _innermost.set(scope)
        try:
            yield
        finally:
            _innermost.reset(token)
            self._change(lambda _: (scope.registrations, scope.defaults), None)

    def _scope(self) -> _Scope | None:
        scope = _innermost.get()
        while scope is not None and scope.store is not self:
            scope = scope.outer
        return scope


def _merged(old: Mapping[str, Value], new: Mapping[str, Value | None]) -> dict[str, Value]:
    merged = dict(old)
    for key, value in new.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = value
    return merged
