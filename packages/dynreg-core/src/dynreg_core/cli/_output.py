"""What commands print: tables for people, and JSON for programs."""

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from _typeshed import DataclassInstance
    from rich.console import Console

    from dynreg_core._types import BackendInfo, Status

__all__ = ["console", "print_json", "print_table", "status_style", "summary"]

_STYLES = {"loaded": "green", "ready": "green", "shadowed": "yellow", "unavailable": "yellow"}


def console() -> "Console":
    """Return where to print: as wide as the terminal, and unlimited where output is piped."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else 10_000, highlight=False, soft_wrap=False)


def print_table(
    headers: "Sequence[str]", rows: "Iterable[Sequence[str]]", styles: "Sequence[str]" = ()
) -> None:
    """Print rows in columns. A cell may hold rich's markup; the last column wraps.

    Args:
        headers: Heading of each column.
        rows: Cells of each row.
        styles: Style of each column, or none.
    """
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for number, header in enumerate(headers):
        last = number == len(headers) - 1
        style = styles[number] if number < len(styles) else ""
        table.add_column(header, style=style, no_wrap=not last, overflow="fold")
    for row in rows:
        table.add_row(*row)
    out = console()
    with out.capture() as captured:
        out.print(table)
    # Rich fills the last column with spaces.
    for line in captured.get().splitlines():
        print(line.rstrip())  # noqa: T201 - as captured from rich


def print_json(value: Any) -> None:
    """Print data classes, mappings and lists as JSON."""
    print(json.dumps(value, indent=2, default=_plain, ensure_ascii=False))  # noqa: T201


def _plain(value: "DataclassInstance") -> Any:
    return asdict(value)


def status_style(status: "Status") -> str:
    """Return a status with its colour, as markup."""
    colour = _STYLES.get(status.kind, "red")
    return f"[{colour}]{status.kind}[/]"


def summary(info: "BackendInfo") -> dict[str, Any]:
    """Return what ``--json`` tells of a backend."""
    manifest = info.manifest
    return {
        "name": info.name,
        "source": info.source,
        "status": info.status.kind,
        "reason": info.status.detail,
        "hint": info.status.hint,
        "tags": list(info.tags),
        "distribution": info.distribution,
        "version": info.version,
        "target": info.target,
        "description": info.description,
        "alias_of": info.alias_of,
        "deprecated": info.deprecated,
        "torch": manifest.torch if manifest else "",
        "devices": list(manifest.devices) if manifest else [],
    }
