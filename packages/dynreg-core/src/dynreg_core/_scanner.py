"""Reading of metadata folders: what stands in them, without building objects for the rest."""

import os
from typing import TYPE_CHECKING, Any

from dynreg_core._types import EntryPoint, MetadataProblem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["Scanner", "normalized", "read_headers"]

_SUFFIXES = (".dist-info", ".egg-info")

# What importlib.metadata takes for "this distribution has no such file".
_ABSENT = (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)


def normalized(name: str) -> str:
    """Return a distribution's name in the spelling in which names are compared.

    The rule is that of the packaging specifications ("Names and normalization"), with underscores
    for dashes as in the names of metadata folders.
    """
    name = name.lower().replace("-", "_").replace(".", "_")
    while "__" in name:
        name = name.replace("__", "_")
    return name


def read_headers(folder: str) -> "Mapping[str, list[str]]":
    """Return the headers of a distribution's ``METADATA`` or ``PKG-INFO``, without its text.

    Args:
        folder: The distribution's metadata folder.

    Returns:
        Values by header in lower case, in the order of the file; empty where there is no file.
    """
    headers: dict[str, list[str]] = {}
    for name in ("METADATA", "PKG-INFO"):
        data = _read(os.path.join(folder, name))  # noqa: PTH118 - pathlib is costly to import
        if data is None:
            continue
        for line in data.decode("utf-8", "replace").splitlines():
            if not line:
                break
            if line[0] not in " \t":
                header, _, value = line.partition(":")
                headers.setdefault(header.strip().lower(), []).append(value.strip())
        break
    return headers


class Scanner:
    """What a scan has collected so far."""

    def __init__(self, groups: tuple[str, ...], *, thorough: bool) -> None:
        self.entry_points: list[EntryPoint] = []
        self.problems: list[MetadataProblem] = []
        self.versions: dict[str, str] = {}
        self._groups = frozenset(groups)
        self._needles = tuple(group.encode() for group in groups)
        self._thorough = thorough

    def folder(self, root: str) -> None:
        """Scan one entry of ``sys.path``."""
        if root.lower().endswith(".egg"):
            self._by_importlib(root)
            return
        try:
            children = os.listdir(root or ".")  # noqa: PTH208 - as above
        except NotADirectoryError:
            self._by_importlib(root)
            return
        except OSError:
            return
        found: dict[str, list[str]] = {}
        for child in children:
            if child.endswith(_SUFFIXES) or child.lower().endswith(_SUFFIXES):
                # A second folder of one name is a leftover: the order of names decides, not the
                # order of folders.
                name = normalized(child.rpartition(".")[0].partition("-")[0])
                found.setdefault(name, []).append(child)
        for name, folders in found.items():
            if name in self.versions:
                continue
            first, *leftovers = folders
            path = os.path.join(root, first)  # noqa: PTH118 - as above
            self._distribution(name, first, path)
            for other in leftovers:
                self.problems.append(
                    MetadataProblem(
                        os.path.join(root, other),  # noqa: PTH118 - as above
                        f"{other} and {first} describe the same distribution, and only the latter "
                        "is read",
                        f"remove the one that is left over, or reinstall {name.replace('_', '-')}",
                        name,
                    )
                )

    def _distribution(self, name: str, child: str, path: str) -> None:
        version = child.rpartition(".")[0].partition("-")[2]
        if child.endswith(".egg-info"):
            version = version.partition("-py")[0]
        self.versions[name] = version
        file = f"{path}{os.sep}entry_points.txt"
        data = _read(file)
        if data is None:
            return
        if not self._thorough and not any(needle in data for needle in self._needles):
            return
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            self._malformed(file, name, f"is not UTF-8: {error.reason} at byte {error.start}")
            return

        def identify() -> tuple[str, str]:
            headers = read_headers(path)
            if not headers:
                self._incomplete(path, name)
            return (
                headers.get("name", [name.replace("_", "-")])[0],
                headers.get("version", [version])[0],
            )

        self._entry_points(text, name, file, path, identify)

    def _entry_points(
        self,
        text: str,
        name: str,
        place: str,
        path: str,
        identify: "Callable[[], tuple[str, str]]",
    ) -> None:
        """Add the entry points of one distribution; ``identify`` is asked only if there are any."""
        identity: tuple[str, str] | None = None
        for number, group, line in _sections(text):
            left, equals, value = line.partition("=")
            if not equals:
                self._malformed(f"{place}:{number}", name, f"has no equals sign: {line!r}")
            elif group in self._groups:
                identity = identity or identify()
                self.entry_points.append(
                    EntryPoint(left.strip(), value.strip(), group, *identity, path)
                )

    def _malformed(self, place: str, name: str, what: str) -> None:
        self.problems.append(
            MetadataProblem(
                place,
                f"{place} {what}; importlib.metadata fails on it, and torch with it",
                f"reinstall or remove {name.replace('_', '-')}",
                name,
            )
        )

    def _incomplete(self, path: str, name: str) -> None:
        self.problems.append(
            MetadataProblem(
                path,
                f"{path} has entry points and no METADATA: an installation was interrupted, or "
                "only partly removed",
                f"reinstall or remove {name.replace('_', '-')}",
                name,
            )
        )

    def _by_importlib(self, root: str) -> None:
        from importlib.metadata import DistributionFinder, MetadataPathFinder

        context = DistributionFinder.Context(path=[root])
        for distribution in MetadataPathFinder.find_distributions(context):
            self._foreign_distribution(distribution, root)

    def foreign(self, finder: Any) -> None:
        """Ask a finder of another project for its distributions."""
        from importlib.metadata import DistributionFinder

        try:
            for distribution in finder.find_distributions(DistributionFinder.Context()):
                self._foreign_distribution(distribution, repr(finder))
        except Exception as error:  # noqa: BLE001 - one broken finder must not hide the rest
            self.problems.append(
                MetadataProblem(
                    repr(finder),
                    f"the finder {finder!r} on sys.meta_path fails: "
                    f"{type(error).__name__}: {error}",
                    "update or remove the package that installs it",
                )
            )

    def _foreign_distribution(self, distribution: Any, place: str) -> None:
        name = normalized(
            getattr(distribution, "_normalized_name", None) or distribution.metadata["Name"]
        )
        if name in self.versions:
            return
        self.versions[name] = version = str(distribution.version)
        self._entry_points(
            distribution.read_text("entry_points.txt") or "",
            name,
            place,
            "",
            lambda: (str(distribution.metadata["Name"]), version),
        )


def _read(path: str) -> bytes | None:
    """Return a file's bytes, or ``None`` where importlib.metadata would see no file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    except _ABSENT:
        return None
    try:
        # Almost all of these files are small, and one read is what a scan's time consists of.
        data = os.read(descriptor, 16384)
        if len(data) == 16384:
            while more := os.read(descriptor, 1 << 20):
                data += more
    except _ABSENT:
        return None
    finally:
        os.close(descriptor)
    return data


def _sections(text: str) -> "Iterator[tuple[int, str, str]]":
    """Yield line number, section and line for what stands in sections, as importlib reads it."""
    section = None
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        if not line or line[0] == "#":
            continue
        if line[0] == "[" and line[-1] == "]":
            section = line.strip("[]")
        elif section is not None:
            yield number, section, line
