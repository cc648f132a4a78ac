"""``dynreg list``."""

from typing import TYPE_CHECKING

import click

from dynreg_core.cli._output import print_json, print_table, status_style, summary

if TYPE_CHECKING:
    from dynreg_core._types import BackendInfo

__all__ = ["command"]

_HIDDEN = ("debug", "experimental")


@click.command("list")
@click.option("--all", "everything", is_flag=True, help="Also debug and experimental backends.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only backends with this tag.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(everything: bool, tags: tuple[str, ...], as_json: bool) -> None:
    """List backends: name, status, tags, distribution.

    Nothing is imported to make the list, neither torch nor a backend.
    """
    from dynreg_core import _default

    registry = _default.registry
    infos = registry.list_backend_info(None if everything or tags else _HIDDEN)
    infos = [info for info in infos if set(tags) <= set(info.tags)]
    if as_json:
        print_json([summary(info) for info in infos])
        return
    if not infos:
        click.echo("no backend matches; `dynreg list --all` shows every name")
        return
    print_table(
        ("NAME", "STATUS", "FROM", "TAGS", "DESCRIPTION"),
        (
            (
                info.name,
                status_style(info.status),
                f"{info.distribution} {info.version}".strip() or "this process",
                ", ".join(info.tags),
                _description(info),
            )
            for info in infos
        ),
        styles=("bold",),
    )
    if not everything and not tags:
        hidden = len(registry.list_backend_info(None)) - len(infos)
        if hidden:
            click.echo(f"\n{hidden} more with the tags debug or experimental: dynreg list --all")


def _description(info: "BackendInfo") -> str:
    from rich.markup import escape

    if not info.status.usable:
        return escape(info.status.detail)
    return escape(f"alias of {info.alias_of}" if info.alias_of else info.description)
