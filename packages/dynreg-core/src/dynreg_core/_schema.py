"""A checker for the part of JSON Schema that ``manifest.schema.json`` uses.

The schema that editors use is the one that manifests are checked against, so that the two cannot
differ. Each node's ``title`` says in words what is expected there.

Source: JSON Schema 2020-12, sections "Core" and "Validation".
"""

import re
from typing import Any

__all__ = ["KEYWORDS", "Violation", "check"]

KEYWORDS = frozenset(
    {
        "$ref",
        "additionalProperties",
        "anyOf",
        "enum",
        "items",
        "maxItems",
        "maxLength",
        "maxProperties",
        "minItems",
        "minProperties",
        "pattern",
        "properties",
        "propertyNames",
        "required",
        "type",
        "uniqueItems",
    }
)
"""Every keyword that is understood; ``title``, ``description`` and ``$defs`` are notes."""

_TYPES: dict[str, type | tuple[type, ...]] = {
    "array": list,
    "boolean": bool,
    "integer": int,
    "object": dict,
    "string": str,
}

Path = tuple[str | int, ...]


class Violation(Exception):  # noqa: N818 - it is caught and turned into an error with a line
    """A value is not what the schema wants.

    Args:
        path: Keys and positions from the top.
        problem: What is there.
        expected: What is wanted.
    """

    def __init__(self, path: Path, problem: str, expected: str) -> None:
        super().__init__(path, problem, expected)
        self.path = path
        self.problem = problem
        self.expected = expected


def check(value: Any, schema: dict[str, Any]) -> None:
    """Check a value.

    Raises:
        Violation: The first thing that is wrong, in the order of the value.
    """
    _check(value, schema, schema, ())


def _check(value: Any, node: dict[str, Any], root: dict[str, Any], path: Path) -> None:
    if "$ref" in node:
        _check(value, _resolve(node["$ref"], root), root, path)
    if "anyOf" in node and not any(_holds(value, option, root, path) for option in node["anyOf"]):
        raise _wrong(value, node, path)
    wanted = node.get("type")
    if wanted and (
        not isinstance(value, _TYPES[wanted])
        or (isinstance(value, bool) and wanted != "boolean")  # a bool is an int to Python only
    ):
        raise _wrong(value, node, path)
    if "enum" in node and value not in node["enum"]:
        raise _wrong(value, node, path)
    if isinstance(value, str):
        _check_string(value, node, path)
    elif isinstance(value, list):
        _check_array(value, node, root, path)
    elif isinstance(value, dict):
        _check_object(value, node, root, path)


def _check_string(value: str, node: dict[str, Any], path: Path) -> None:
    if len(value) > node.get("maxLength", len(value)):
        raise _wrong(value, node, path)
    if "pattern" in node and not re.search(node["pattern"], value):
        raise _wrong(value, node, path)


def _check_array(value: list[Any], node: dict[str, Any], root: dict[str, Any], path: Path) -> None:
    _check_size(value, node, "Items", path)
    if node.get("uniqueItems"):
        for position, item in enumerate(value):
            if item in value[:position]:
                raise Violation((*path, position), f"{item!r} stands twice", "each value once")
    if "items" in node:
        for position, item in enumerate(value):
            _check(item, node["items"], root, (*path, position))


def _check_object(
    value: dict[str, Any], node: dict[str, Any], root: dict[str, Any], path: Path
) -> None:
    _check_size(value, node, "Properties", path)
    properties = node.get("properties", {})
    for key in node.get("required", ()):
        if key not in value:
            raise Violation(path, f"{key!r} is missing", _title(properties[key], root))
    others = node.get("additionalProperties", True)
    for key, item in value.items():
        if "propertyNames" in node:
            _check(key, node["propertyNames"], root, (*path, key))
        if key in properties:
            _check(item, properties[key], root, (*path, key))
        elif others is False:
            raise Violation(
                (*path, key), f"unknown key {key!r}", f"one of {', '.join(map(repr, properties))}"
            )
        elif isinstance(others, dict):
            _check(item, others, root, (*path, key))


def _check_size(
    value: list[Any] | dict[str, Any], node: dict[str, Any], what: str, path: Path
) -> None:
    least, most = node.get(f"min{what}", 0), node.get(f"max{what}", len(value))
    if len(value) < least:
        raise Violation(path, "nothing is there", f"at least {least}")
    if len(value) > most:
        raise Violation(path, f"{len(value)} are there", f"at most {most}")


def _holds(value: Any, node: dict[str, Any], root: dict[str, Any], path: Path) -> bool:
    try:
        _check(value, node, root, path)
    except Violation:
        return False
    return True


def _resolve(reference: str, root: dict[str, Any]) -> dict[str, Any]:
    node: Any = root
    for key in reference.removeprefix("#/").split("/"):
        node = node[key]
    return dict(node)


def _title(node: dict[str, Any], root: dict[str, Any]) -> str:
    return str(node.get("title") or _resolve(node["$ref"], root)["title"])


def _wrong(value: Any, node: dict[str, Any], path: Path) -> Violation:
    text = repr(value)
    return Violation(path, text if len(text) <= 60 else f"{text[:57]}...", str(node["title"]))
