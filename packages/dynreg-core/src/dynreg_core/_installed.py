"""Backends that are installed: entry points joined with their distributions' manifests."""

from typing import TYPE_CHECKING

from dynreg_core._manifest import load_manifest
from dynreg_core._metadata import BACKENDS, MANIFESTS
from dynreg_core._scanner import normalized
from dynreg_core._types import MetadataProblem
from dynreg_core.errors import ManifestError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dynreg_core._types import Alias, BackendManifest, EntryPoint

__all__ = ["Installed"]


class Installed:
    """An index of entry points. Manifests are read when they are first needed.

    Args:
        entry_points: Entry points of the groups ``torch_dynamo_backends`` and ``dynreg.manifests``.
        problems: What the scan that found them has to say.
    """

    def __init__(
        self, entry_points: "Iterable[EntryPoint]", problems: "Iterable[MetadataProblem]" = ()
    ) -> None:
        self.entry_points = tuple(entry_points)
        self._problems = list(problems)
        self._backends: dict[str, dict[str, EntryPoint]] = {}
        self._manifest_entries: dict[str, list[EntryPoint]] = {}
        self._manifests: dict[str, Mapping[str, BackendManifest]] = {}
        self._errors: dict[str, ManifestError] = {}
        self._aliases: Mapping[str, tuple[tuple[Alias, EntryPoint], ...]] | None = None
        for entry in self.entry_points:
            distribution = normalized(entry.distribution)
            if entry.group == BACKENDS:
                by_distribution = self._backends.setdefault(entry.name, {})
                if distribution in by_distribution:
                    self._report_twice(by_distribution[distribution], entry)
                by_distribution.setdefault(distribution, entry)
            elif entry.group == MANIFESTS:
                self._manifest_entries.setdefault(distribution, []).append(entry)

    def names(self) -> "tuple[str, ...]":
        """Names of all entry points."""
        return tuple(self._backends)

    def named(self, name: str) -> "tuple[EntryPoint, ...]":
        """Entry points of a name, one a distribution, in the order of ``sys.path``."""
        return tuple(self._backends.get(name, {}).values())

    def manifest(self, entry: "EntryPoint") -> "BackendManifest | None":
        """What the entry point's distribution states about it, if it states anything."""
        return self._manifests_of(normalized(entry.distribution)).get(entry.name)

    def manifest_error(self, entry: "EntryPoint") -> ManifestError | None:
        """Why the manifest of the entry point's distribution cannot be used, if so."""
        distribution = normalized(entry.distribution)
        self._manifests_of(distribution)
        return self._errors.get(distribution)

    def aliases(self) -> "Mapping[str, tuple[tuple[Alias, EntryPoint], ...]]":
        """What manifests declare as aliases, by name. Reads every manifest."""
        if self._aliases is not None:
            return self._aliases
        found: dict[str, list[tuple[Alias, EntryPoint]]] = {}
        for distribution in self._manifest_entries:
            for name, manifest in self._manifests_of(distribution).items():
                entry = self._backends.get(name, {}).get(distribution)
                if entry is not None:
                    for alias in manifest.aliases:
                        found.setdefault(alias.name, []).append((alias, entry))
        self._aliases = {name: tuple(pairs) for name, pairs in found.items()}
        return self._aliases

    def problems(self) -> "tuple[MetadataProblem, ...]":
        """Everything wrong with what is installed. Reads every manifest."""
        problems = list(self._problems)
        for distribution, entries in self._manifest_entries.items():
            manifests = self._manifests_of(distribution)
            spelled = entries[0].distribution
            if distribution in self._errors:
                error = self._errors[distribution]
                problems.append(MetadataProblem(error.file, error.sentence, error.hint, spelled))
            for name, manifest in manifests.items():
                if distribution not in self._backends.get(name, {}):
                    problems.append(
                        MetadataProblem(
                            manifest.file,
                            f"{manifest.file}:{manifest.line} describes {name!r}, and "
                            f"{spelled} has no entry point of this name in {BACKENDS}",
                            f"add the entry point to {spelled}, or take the table out",
                            spelled,
                        )
                    )
        return tuple(problems)

    def _manifests_of(self, distribution: str) -> "Mapping[str, BackendManifest]":
        found = self._manifests.get(distribution)
        if found is None:
            found = {}
            try:
                for entry in self._manifest_entries.get(distribution, ()):
                    for manifest in load_manifest(entry):
                        found.setdefault(manifest.name, manifest)
            except ManifestError as error:
                self._errors[distribution] = error
                found = {}
            self._manifests[distribution] = found
        return found

    def _report_twice(self, first: "EntryPoint", second: "EntryPoint") -> None:
        if first.value == second.value:
            return
        self._problems.append(
            MetadataProblem(
                first.path,
                f"{first.distribution} has two entry points named {first.name!r}: {first.value} "
                f"and {second.value}; the first is used",
                f"report this to the authors of {first.distribution}",
                first.distribution,
            )
        )
