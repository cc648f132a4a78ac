"""What is installed: one scan of ``sys.path`` for entry points, which imports nothing.

The answer is that of ``importlib.metadata.entry_points``: the same folders in the same order, and
for each distribution the first of them only. Three things make it faster. A file is parsed only
if its bytes contain a group that dynreg reads; no object is built for the distributions that have
none; and ``importlib.metadata`` itself, with the parser of mails that it needs, is imported only
for what is not a folder (zip files, eggs, finders of other projects).

One malformed file makes ``importlib.metadata.entry_points`` fail as a whole. Here it is reported
in :attr:`Scan.problems`, and everything else is found.
"""

import os
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dynreg_core._scanner import Scanner

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dynreg_core._types import EntryPoint, MetadataProblem

__all__ = [
    "BACKENDS",
    "COMMANDS",
    "MANIFESTS",
    "Scan",
    "changed_since",
    "scan",
]

BACKENDS = "torch_dynamo_backends"
MANIFESTS = "dynreg.manifests"
COMMANDS = "dynreg.commands"
_GROUPS = (BACKENDS, MANIFESTS, COMMANDS)

_RACY_NS = 2_000_000_000
"""A folder changed this shortly before a scan may change again without its time stamp showing it:
the coarsest file systems in use count in steps of two seconds."""


@dataclass(frozen=True, slots=True)
class Scan:
    """What one scan found.

    Attributes:
        entry_points: Entry points of the groups that dynreg reads, in the order of ``sys.path``.
        problems: Metadata that is malformed or left over.
        versions: Version of each distribution by normalized name, as its folder's name tells.
        stamp: Time of the scan, and what :func:`changed_since` compares.
    """

    entry_points: "tuple[EntryPoint, ...]"
    problems: "tuple[MetadataProblem, ...]"
    versions: "Mapping[str, str]"
    stamp: tuple[int, "tuple[tuple[str, int], ...] | None"]

    def group(self, name: str) -> "tuple[EntryPoint, ...]":
        """Entry points of one group."""
        return tuple(entry for entry in self.entry_points if entry.group == name)


_last: Scan | None = None


def scan(*, again: bool = False) -> Scan:
    """Return what is installed, scanning once a process.

    Args:
        again: Scan even if this process has done so before.
    """
    global _last  # noqa: PLW0603 - one scan a process is the point
    if _last is None or again:
        _last = scan_paths(sys.path, sys.meta_path)
    return _last


def changed_since(last: Scan) -> bool:
    """Whether something may have been installed or removed since a scan.

    Compares the time stamps of the folders on ``sys.path``, which takes a few microseconds each.
    """
    when, seen = last.stamp
    if seen is None or seen != _time_stamps(map(os.fspath, sys.path)):
        return True
    return any(changed > when - _RACY_NS for _, changed in seen)


def scan_paths(
    paths: "Iterable[str | os.PathLike[str]]",
    finders: "Iterable[Any]",
    groups: tuple[str, ...] = _GROUPS,
    *,
    thorough: bool = False,
) -> Scan:
    """Scan folders and finders; see the module's text.

    Args:
        paths: As ``sys.path``.
        finders: As ``sys.meta_path``.
        groups: Groups of entry points to return.
        thorough: Parse every file, so that each malformed one is among the problems.
    """
    scanner = Scanner(groups, thorough=thorough)
    folders = [os.fspath(path) for path in paths]
    when = time.time_ns()
    stamps: tuple[tuple[str, int], ...] | None = _time_stamps(folders)
    folders_done = False
    for finder in finders:
        if not hasattr(finder, "find_distributions") and not _is_path_finder(finder):
            continue
        if not _is_path_finder(finder):
            stamps = None  # nothing tells whether such a finder's answer has changed
            scanner.foreign(finder)
        elif not folders_done:
            folders_done = True
            for folder in folders:
                scanner.folder(folder)
    return Scan(
        tuple(scanner.entry_points), tuple(scanner.problems), scanner.versions, (when, stamps)
    )


def _is_path_finder(finder: object) -> bool:
    """Whether a finder searches ``sys.path``: Python's own, or that of ``importlib_metadata``.

    The latter, once imported, takes ``find_distributions`` away from the former.
    """
    kind = finder if isinstance(finder, type) else type(finder)
    return (kind.__module__, kind.__name__) in {
        ("_frozen_importlib_external", "PathFinder"),
        ("importlib_metadata", "MetadataPathFinder"),
    }


def _time_stamps(paths: "Iterable[str]") -> tuple[tuple[str, int], ...]:
    stamps = []
    for path in paths:
        try:
            changed = os.stat(path or ".").st_mtime_ns  # noqa: PTH116 - as above
        except OSError:
            changed = -1
        stamps.append((path, changed))
    return tuple(stamps)
