"""Where a target is defined, found by reading files and importing nothing."""

import ast
import os
from importlib.util import find_spec

__all__ = ["locate"]


def locate(target: str) -> tuple[str, int]:
    """Return file and line of ``package.module:attribute``.

    Args:
        target: As an entry point has it.

    Returns:
        The module's file, or an empty string where it cannot be found; and the line, from 1, of
        the last definition of the attribute, or 0 where the file does not show one.
    """
    module, _, attribute = target.partition(":")
    file = _file_of(module)
    if not file:
        return "", 0
    try:
        with open(file, "rb") as stream:  # noqa: PTH123 - pathlib is costly to import
            tree = ast.parse(stream.read())
    except (OSError, SyntaxError, ValueError):
        return file, 0
    return file, _line_of(tree.body, attribute.split(".")[0]) if attribute else 0


def _file_of(module: str) -> str:
    """Find a module's file: the spec of the first component, then names of files."""
    first, *rest = module.split(".")
    try:
        spec = find_spec(first) if first else None
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        return ""
    if not rest:
        return spec.origin or ""
    for folder in spec.submodule_search_locations or ():
        path = os.path.join(folder, *rest)  # noqa: PTH118 - pathlib is costly to import
        for candidate in (f"{path}.py", os.path.join(path, "__init__.py")):  # noqa: PTH118 - as above
            if os.path.isfile(candidate):  # noqa: PTH113 - as above
                return candidate
    return ""


def _line_of(body: list[ast.stmt], name: str) -> int:
    line = 0
    for statement in body:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names = {statement.name}
            case ast.Assign():
                names = {t.id for t in statement.targets if isinstance(t, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=target)):
                names = {target}
            case ast.Import() | ast.ImportFrom():
                names = {alias.asname or alias.name for alias in statement.names}
            case _:
                continue
        if name in names:
            line = statement.lineno
    return line
