"""What surrounds a registry: what is installed, the policy, and torch."""

import threading
from typing import TYPE_CHECKING, NamedTuple

from dynreg_core import _metadata
from dynreg_core._installed import Installed
from dynreg_core._names import closest
from dynreg_core._policy import Policy, load_policy
from dynreg_core._torch_backends import TorchBackends
from dynreg_core._warn import warn
from dynreg_core.errors import PolicyWarning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dynreg_core._resolution import View
    from dynreg_core._types import EntryPoint

__all__ = ["Environment", "Surroundings"]


class Surroundings(NamedTuple):
    """What surrounds a registry at one moment."""

    installed: Installed
    policy: Policy


class Environment:
    """Finds what is installed and the policy: once, and again when it is asked to.

    Args:
        entry_points: Returns the entry points, in place of what is installed.
        policy: Returns the policy.
        torch: Torch, as a source of names.

    Attributes:
        torch: As passed in.
        latest: What was found last; ``None`` before anything was looked for.
    """

    def __init__(
        self,
        entry_points: "Callable[[], Iterable[EntryPoint]] | None" = None,
        policy: "Callable[[], Policy] | None" = None,
        torch: TorchBackends | None = None,
    ) -> None:
        self.torch = torch or TorchBackends()
        self._entry_points = entry_points
        self._policy = policy or load_policy
        self._lock = threading.Lock()
        self.latest: Surroundings | None = None
        self._warned: set[str] = set()

    def current(self) -> Surroundings:
        """Return what was found, looking only the first time.

        Raises:
            PolicyError: The policy cannot be understood.
        """
        current = self.latest
        if current is None:
            with self._lock:
                if self.latest is None:
                    self.latest = Surroundings(self._find(again=False), self._policy())
                current = self.latest
        return current

    def refresh(self) -> bool:
        """Look again, and return whether anything is different.

        Raises:
            PolicyError: The policy cannot be understood; what was found before stays.
        """
        from importlib import invalidate_caches

        invalidate_caches()  # the import system remembers folders, as we do
        with self._lock:
            before = self.latest
            after = self.latest = Surroundings(self._find(again=True), self._policy())
        return (
            before is None
            or before.installed.entry_points != after.installed.entry_points
            or before.policy != after.policy
        )

    def refresh_if_changed(self) -> bool:
        """Look again if the folders of ``sys.path`` have changed; return as :meth:`refresh`."""
        if self._entry_points is None and not _metadata.changed_since(_metadata.scan()):
            return False
        return self.refresh()

    def warn_of_doubts(self, view: "View") -> None:
        """Warn, once each, of rules that match nothing and variables that look misspelt."""
        for doubt in (*view.policy.doubts, *_unmatched(view)):
            if doubt not in self._warned:
                self._warned.add(doubt)
                warn(doubt, PolicyWarning)

    def _find(self, *, again: bool) -> Installed:
        if self._entry_points is not None:
            return Installed(self._entry_points())
        found = _metadata.scan(again=again)
        return Installed(found.entry_points, found.problems)


def _unmatched(view: "View") -> "Iterable[str]":
    policy = view.policy
    if not policy.rules and not policy.defaults:
        return
    names = view.names()
    distributions = {
        (name, candidate.distribution)
        for name in names
        for candidate in view.candidates(name, every=True)
    }
    for rule in policy.rules:
        # Whether a qualified name stands for something is known only by importing it.
        if ":" not in rule.text and not any(rule.matches(*pair) for pair in distributions):
            yield _doubt(f"{rule} in {rule.origin}", rule.text, names)
    for device, name in policy.defaults.items():
        if name.partition("@")[0] not in names and ":" not in name:
            key = f"defaults.{device}" if device else "default"
            yield _doubt(f'{key} = "{name}" in {policy.origins[device]}', name, names)


def _doubt(what: str, text: str, names: "Iterable[str]") -> str:
    close = closest(text.partition("@")[0], names, 1)
    return f"{what} matches no backend" + (f": did you mean {close[0]!r}?" if close else "")
