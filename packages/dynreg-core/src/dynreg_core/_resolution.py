"""What a name stands for, from everything that is known at one moment."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dynreg_core import _targets, _torch_backends
from dynreg_core._names import pin_of, same_distribution, split_pin
from dynreg_core.errors import AmbiguousBackendError, BackendDeniedError, UnknownBackendError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from dynreg_core._environment import Surroundings
    from dynreg_core._installed import Installed
    from dynreg_core._options import OptionSchema
    from dynreg_core._policy import Policy
    from dynreg_core._types import BackendManifest, CompilerFn, EntryPoint, Source, State

__all__ = ["Candidate", "View", "follow"]


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """One thing that a name may stand for.

    Attributes:
        name: The name.
        source: Where it comes from.
        tags: Tags of this name.
        alias_of: The name it stands for; empty where it is no alias.
        deprecated: Why the name will go away; empty where it will not.
        compiler_fn: The callable, for a name of this process.
        options: The options that the backend declares, or ``None``.
        entry: The entry point, for an installed name.
        manifest: What its distribution states about it.
    """

    name: str
    source: "Source"
    tags: tuple[str, ...] = ()
    alias_of: str = ""
    deprecated: str = ""
    compiler_fn: "CompilerFn | None" = None
    options: "OptionSchema | None" = None
    entry: "EntryPoint | None" = None
    manifest: "BackendManifest | None" = None

    @property
    def distribution(self) -> str:
        """Distribution that provides it; empty for a name of this process."""
        if self.entry is not None:
            return self.entry.distribution
        return _torch_backends.DISTRIBUTION if self.source == "torch" else ""

    @property
    def built_in(self) -> bool:
        """Whether torch is built with it."""
        return self.source == "torch" and self.name in _torch_backends.BUILT_IN

    @property
    def target(self) -> str:
        """Where its callable lives; empty where it is not known."""
        if self.entry is not None:
            return self.entry.value
        return _targets.describe(self.compiler_fn) if self.compiler_fn is not None else ""

    @property
    def label(self) -> str:
        """What holds the name, for a sentence."""
        if self.source == "torch":
            return "torch's built-in backend"
        if self.entry is not None:
            return f"{self.entry.distribution} {self.entry.version}".strip()
        if self.alias_of:
            return f"an alias of {self.alias_of!r} that was registered in this process"
        return f"{self.target}, registered in this process"


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """Everything that a lookup depends on, at one moment.

    Attributes:
        state: What is registered in this process.
        surroundings: What is installed, and the policy.
        torch: Tags by name of what torch has.
        resolved: Callables by name, for names that have been looked up in this view.
    """

    state: "State"
    surroundings: "Surroundings"
    torch: "_torch_backends.TorchBackends"
    resolved: "dict[str, CompilerFn]" = field(default_factory=dict)

    @property
    def installed(self) -> "Installed":
        """What is installed."""
        return self.surroundings.installed

    @property
    def policy(self) -> "Policy":
        """The rules in effect."""
        return self.surroundings.policy

    def names(self) -> set[str]:
        """Every name from every source, whether it can be used or not."""
        names = {*self.state.registrations, *self.torch.names()}
        if self.policy.plugins:
            names.update(self.installed.names(), self.installed.aliases())
        return names

    def candidates(self, name: str, *, every: bool = False) -> "Iterator[Candidate]":
        """Yield what a name may stand for, what comes first first.

        Args:
            name: The name.
            every: Also yield aliases that an entry point of the same name hides.
        """
        yield from self._from_process(name)
        # A name that torch is built with is torch's; one that was registered with torch while the
        # program runs is usually that of a plugin which registers itself on import.
        built_in = name in _torch_backends.BUILT_IN
        if built_in:
            yield from self._from_torch(name)
        if self.policy.plugins:
            yield from self._from_plugins(name, every=every)
        if not built_in:
            yield from self._from_torch(name)

    def select(self, name: str, distribution: str = "") -> Candidate:
        """Return what a name stands for.

        Args:
            name: The name.
            distribution: If not empty, take it from this distribution.

        Raises:
            UnknownBackendError: The name stands for nothing.
            BackendDeniedError: Policy forbids everything that it stands for.
            AmbiguousBackendError: Several distributions provide it.
        """
        allowed, denial = [], None
        for candidate in self.candidates(name):
            if distribution and not same_distribution(candidate.distribution, distribution):
                continue
            rule = self.policy.denial(name, candidate.distribution)
            if rule is not None:
                denial = denial or rule
            elif distribution or candidate.source == "process" or candidate.built_in:
                return candidate
            else:
                allowed.append(candidate)
        if allowed:
            return self._pinned(name, allowed)
        if denial is not None:
            raise BackendDeniedError(name, str(denial), denial.origin)
        raise UnknownBackendError(pin_of(name, distribution) if distribution else name)

    def listed(self, name: str) -> Candidate | None:
        """Return what a list of names shows for a name: what it stands for, or the first rival.

        ``None`` where policy forbids the name.
        """
        try:
            return self.select(name)
        except AmbiguousBackendError:
            return next(iter(self.candidates(name)))
        except BackendDeniedError:
            return None

    def _pinned(self, name: str, found: "Sequence[Candidate]") -> Candidate:
        pin = self.policy.pin(name)
        if pin is not None:
            wanted = split_pin(pin.text)[1]
            found = [c for c in found if same_distribution(c.distribution, wanted)]
            if not found:
                raise BackendDeniedError(name, str(pin), pin.origin)
            return found[0]
        plugins = [c for c in found if c.source == "entry point"]
        rivals = [c for c in plugins if not c.alias_of] or plugins or found
        if len(rivals) > 1:
            raise AmbiguousBackendError(
                name, [c.label for c in rivals], [pin_of(name, c.distribution) for c in rivals]
            )
        return rivals[0]

    def _from_process(self, name: str) -> "Iterator[Candidate]":
        found = self.state.registrations.get(name)
        if found is not None:
            yield Candidate(
                name,
                "process",
                found.tags,
                found.alias_of,
                found.deprecated,
                found.compiler_fn,
                found.options,
            )

    def _from_plugins(self, name: str, *, every: bool) -> "Iterator[Candidate]":
        entries = self.installed.named(name)
        for entry in entries:
            manifest = self.installed.manifest(entry)
            yield Candidate(
                name,
                "entry point",
                manifest.tags if manifest else (),
                options=manifest.options if manifest else None,
                entry=entry,
                manifest=manifest,
            )
        if entries and not every:
            return  # aliases come last, and looking for them reads the manifest of every plugin
        for alias, entry in self.installed.aliases().get(name, ()):
            yield Candidate(
                name,
                "entry point",
                alias.tags,
                pin_of(entry.name, entry.distribution),
                alias.deprecated,
                entry=entry,
                manifest=self.installed.manifest(entry),
            )

    def _from_torch(self, name: str) -> "Iterator[Candidate]":
        names: Mapping[str, tuple[str, ...]] = self.torch.names()
        if name in names:
            yield Candidate(name, "torch", names[name])


def follow(candidate: Candidate, find: "Callable[[str], Candidate]") -> Candidate:
    """Return what an alias stands for in the end; anything else is returned as it is.

    Args:
        candidate: What to start from.
        find: Returns what ``name`` or ``name@distribution`` stands for.

    Raises:
        UnknownBackendError: Aliases stand for one another.
    """
    seen: list[str] = []
    while candidate.alias_of:
        if candidate.alias_of in seen:
            raise UnknownBackendError(
                seen[0], because=f"the aliases {', '.join(seen)} stand for one another"
            )
        seen.append(candidate.alias_of)
        candidate = find(candidate.alias_of)
    return candidate
