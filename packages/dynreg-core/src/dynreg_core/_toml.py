"""TOML with the line of each key, within bounds.

``tomllib`` does not say where a value stands. An error message that names a line is worth a second
look at the text, which is taken only when there is an error.
"""

from typing import Any

__all__ = ["MAX_BYTES", "TOMLError", "line_of", "parse"]

MAX_BYTES = 64 * 1024
_MAX_LINE = 1000
_MAX_DEPTH = 100


class TOMLError(Exception):
    """A text is not TOML, or exceeds the bounds. Callers turn it into an error of their own."""

    def __init__(self, line: int, problem: str, expected: str) -> None:
        super().__init__(line, problem, expected)
        self.line = line
        self.problem = problem
        self.expected = expected


def parse(data: bytes, *, bounded: bool = True) -> dict[str, Any]:
    """Parse TOML.

    Args:
        data: The file's bytes.
        bounded: Refuse a text that costs much time or memory to parse, as a text from somebody
            else should be.

    Raises:
        TOMLError: The text is not TOML, or exceeds the bounds.
    """
    if bounded and len(data) > MAX_BYTES:
        raise TOMLError(0, f"the file has {len(data)} bytes", f"at most {MAX_BYTES} bytes")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise TOMLError(line, f"byte {error.start} is not UTF-8", "a file in UTF-8") from None
    if bounded:
        _check_bounds(text)
    try:
        return _loads(text)
    except ValueError as error:
        problem = str(error)
        line = 0
        head, at, place = problem.rpartition(" (at line ")
        if at:
            problem, line = head, int(place.partition(",")[0])
        elif problem.endswith(" (at end of document)"):
            problem, line = problem.partition(" (at")[0], text.count("\n") + 1
        raise TOMLError(line, f"not TOML: {problem}", "a file in TOML 1.0") from None


def _loads(text: str) -> dict[str, Any]:
    try:
        import tomllib
    except ModuleNotFoundError:  # Python 3.10
        import tomli as tomllib  # type: ignore[no-redef,import-not-found,unused-ignore]
    return tomllib.loads(text)


def _check_bounds(text: str) -> None:
    depth = 0
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > _MAX_LINE:
            # A key of many dots takes time that grows with the square of their number.
            raise TOMLError(
                number,
                f"the line has {len(line)} characters",
                f"at most {_MAX_LINE} characters a line",
            )
        for character in line:
            if character in "[{":
                depth += 1
            elif character in "]}":
                depth = max(depth - 1, 0)
        if depth > _MAX_DEPTH:
            raise TOMLError(number, "brackets are nested too deeply", f"at most {_MAX_DEPTH} deep")


def line_of(text: str, path: "tuple[str | int, ...]") -> int:
    """Return the line on which a key is defined, counted from 1.

    Args:
        text: TOML that parses.
        path: Keys from the top; numbers are positions in arrays, and are ignored.

    Returns:
        Line of the key, or of the closest table around it; 0 if there is none.
    """
    wanted = tuple(key for key in path if isinstance(key, str))
    table: tuple[str, ...] = ()
    best, best_length = 0, 0
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if stripped.startswith("["):
            table = found = _keys(stripped.partition("#")[0].strip().strip("[]"))
        elif "=" in stripped:
            found = (*table, *_keys(stripped.partition("=")[0]))
        else:
            continue
        common = 0
        for a, b in zip(found, wanted, strict=False):
            if a != b:
                break
            common += 1
        if common > best_length:
            best, best_length = number, common
    return best


def _keys(text: str) -> tuple[str, ...]:
    """Split a dotted key; one with quotes is left to the parser of TOML."""
    if '"' not in text and "'" not in text:
        return tuple(key.strip() for key in text.split("."))
    try:
        node: object = _loads(f"{text} = 0")
    except ValueError:
        return ()
    keys: list[str] = []
    while isinstance(node, dict):
        key, node = next(iter(node.items()))
        keys.append(key)
    return tuple(keys)
