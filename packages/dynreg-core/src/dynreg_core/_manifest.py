"""Manifests: what a distribution states about its backends, read without importing it.

The format is documented in ``docs/manifest.md``; ``manifest.schema.json`` defines it.
"""

import os
import sys
from typing import TYPE_CHECKING, Any

from dynreg_core import _schema, _toml
from dynreg_core._options import matches_type
from dynreg_core._types import Alias, BackendManifest, OptionSpec, Requirements
from dynreg_core.errors import ManifestError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dynreg_core._types import EntryPoint

__all__ = ["load_manifest", "parse_manifest", "schema"]


def schema() -> dict[str, Any]:
    """Return the JSON Schema of ``dynreg.toml``."""
    import json

    file = os.path.join(os.path.dirname(__file__), "manifest.schema.json")  # noqa: PTH118, PTH120
    with open(file, encoding="utf-8") as stream:  # noqa: PTH123 - pathlib is costly to import
        return dict(json.load(stream))


def load_manifest(entry: "EntryPoint") -> tuple[BackendManifest, ...]:
    """Read the manifest that an entry point of the group ``dynreg.manifests`` names.

    Args:
        entry: Its value is ``package:file.toml``.

    Raises:
        ManifestError: There is no such file, or it does not follow the format.
    """
    package, colon, name = entry.value.partition(":")
    place = f"{entry.distribution}: {entry.group}: {entry.name} = {entry.value}"
    if not colon or not package or "/" in name or "\\" in name or not name.endswith(".toml"):
        raise ManifestError(place, 0, "not the place of a manifest", expected="package:file.toml")
    for path, read in _places(package.strip(), name.strip()):
        try:
            data = read(path)
        except OSError:
            continue
        return parse_manifest(data, path)
    raise ManifestError(
        place, 0, "no such file in the package", expected=f"{name} beside the package's modules"
    )


def _places(package: str, name: str) -> "Iterator[tuple[str, Any]]":
    """Yield where a package's file can be, each with what reads it. Nothing is imported.

    Only the top-level package is asked for, because asking for a submodule imports its parents.
    """
    from importlib.util import find_spec

    top, *rest = package.split(".")
    try:
        spec = find_spec(top)
    except (ImportError, ValueError, AttributeError):
        return  # a finder fails, or the module in sys.modules has no specification
    if spec is None:
        return
    folders = spec.submodule_search_locations
    if folders is None:
        return
    read = getattr(spec.loader, "get_data", None) or _read_file
    for folder in folders:
        yield os.path.join(folder, *rest, name), read  # noqa: PTH118 - as above


def _read_file(path: str) -> bytes:
    with open(path, "rb") as stream:  # noqa: PTH123 - as above
        return stream.read(_toml.MAX_BYTES + 1)


def parse_manifest(data: bytes, file: str) -> tuple[BackendManifest, ...]:
    """Check a manifest's bytes and return its backends, in the order of the file.

    Args:
        data: The bytes.
        file: Their path, for errors.

    Raises:
        ManifestError: They do not follow the format.
    """
    try:
        table = _toml.parse(data)
    except _toml.TOMLError as error:
        raise ManifestError(file, error.line, error.problem, expected=error.expected) from None
    text = data.decode("utf-8")
    try:
        _schema.check(table, schema())
        _check_names(table["backends"])
        return tuple(
            _backend(name, backend, file, _toml.line_of(text, ("backends", name)))
            for name, backend in table["backends"].items()
        )
    except _schema.Violation as error:
        key = ".".join(str(part) for part in error.path if isinstance(part, str))
        raise ManifestError(
            file,
            _toml.line_of(text, error.path),
            f"{key}: {error.problem}" if key else error.problem,
            expected=error.expected,
        ) from None


def _check_names(backends: dict[str, Any]) -> None:
    """Refuse an alias that is the name of something else in the file."""
    taken = set(backends)
    for name, backend in backends.items():
        for alias in backend.get("aliases", {}):
            if alias in taken:
                raise _schema.Violation(
                    ("backends", name, "aliases", alias),
                    f"the name {alias!r} stands twice in this file",
                    "each name once, as a backend or as an alias",
                )
            taken.add(alias)


def _backend(name: str, table: dict[str, Any], file: str, line: int) -> BackendManifest:
    path = ("backends", name)
    if "torch" in table:
        _check_specifier(table["torch"], (*path, "torch"))
    options = None
    if "options" in table:
        options = tuple(
            _option(option, spec, (*path, "options", option))
            for option, spec in table["options"].items()
        )
    return BackendManifest(
        name,
        sys.intern(file),
        line,
        description=table.get("description", ""),
        tags=tuple(table.get("tags", ())),
        homepage=table.get("homepage", ""),
        op_counts=table.get("op-counts", ""),
        torch=table.get("torch", ""),
        devices=tuple(table.get("devices", ())),
        training=table.get("training"),
        inference=table.get("inference"),
        dynamic=table.get("dynamic-shapes"),
        aliases=tuple(
            Alias(alias, tuple(spec.get("tags", ())), spec.get("deprecated", ""))
            for alias, spec in table.get("aliases", {}).items()
        ),
        options=options,
        requires=Requirements(
            **{kind: tuple(names) for kind, names in table.get("requires", {}).items()}
        ),
    )


def _option(name: str, table: dict[str, Any], path: tuple[str, ...]) -> OptionSpec:
    types = [table["type"]] if isinstance(table["type"], str) else table["type"]
    choices = table.get("choices", [])
    for choice in choices:
        if not any(matches_type(choice, kind) for kind in types):
            raise _schema.Violation(
                (*path, "choices"), repr(choice), f"values of the type {' or '.join(types)}"
            )
    if "default" in table:
        default = table["default"]
        if not any(matches_type(default, kind) for kind in types):
            raise _schema.Violation(
                (*path, "default"), repr(default), f"a value of the type {' or '.join(types)}"
            )
        if choices and default not in choices:
            raise _schema.Violation(
                (*path, "default"), repr(default), f"one of {', '.join(map(repr, choices))}"
            )
        if table.get("required"):
            raise _schema.Violation(
                (*path, "default"), repr(default), "no default for an option that is required"
            )
    return OptionSpec(
        name,
        " or ".join(types),
        table.get("default"),
        tuple(choices),
        table.get("description", ""),
        table.get("required", False),
    )


def _check_specifier(text: str, path: tuple[str, ...]) -> None:
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        SpecifierSet(text)
    except InvalidSpecifier:
        raise _schema.Violation(
            path, repr(text), 'a version specifier, as in ">=2.13" or ">=2.13,<3"'
        ) from None
