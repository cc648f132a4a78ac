"""``dynreg info NAME``."""

from typing import TYPE_CHECKING

import click

from dynreg_core.cli._output import console, print_json, print_table, status_style, summary

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dynreg_core._types import BackendInfo, OptionSpec

__all__ = ["command"]


@click.command("info")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(name: str, as_json: bool) -> None:
    """Tell all that is known of one backend, without importing it."""
    from dynreg_core import _default
    from dynreg_core._source import locate

    info = _default.registry.get_backend_info(name)
    file, line = locate(info.target)
    options = info.manifest.options if info.manifest else None
    if as_json:
        print_json({**summary(info), "file": file, "line": line, "options": options})
        return
    for label, value in _facts(info, file, line):
        console().print(f"[bold]{label:<13}[/]{value}")
    if options:
        click.echo()
        print_table(("OPTION", "TYPE", "DEFAULT", "DESCRIPTION"), map(_option, options), ("bold",))


def _facts(info: "BackendInfo", file: str, line: int) -> "Iterator[tuple[str, str]]":
    from rich.markup import escape

    yield "name", escape(info.name)
    status = status_style(info.status)
    yield "status", f"{status}: {escape(info.status.detail)}" if info.status.detail else status
    if info.status.hint:
        yield "hint", escape(info.status.hint)
    if info.description:
        yield "description", escape(info.description)
    yield "from", escape(f"{info.distribution} {info.version}".strip() or "this process")
    if info.target:
        yield "target", escape(info.target)
    if file:
        yield "file", escape(f"{file}:{line}" if line else file)
    if info.alias_of:
        yield "alias of", escape(info.alias_of)
    if info.deprecated:
        yield "deprecated", escape(info.deprecated)
    yield "tags", ", ".join(info.tags) or "none"
    manifest = info.manifest
    if manifest is not None:
        if manifest.homepage:
            yield "homepage", escape(manifest.homepage)
        yield "torch", escape(manifest.torch or "any version")
        yield "devices", ", ".join(manifest.devices) or "not stated"
        yield "works in", _abilities(info) or "not stated"
        yield "manifest", escape(manifest.file)


def _abilities(info: "BackendInfo") -> str:
    manifest = info.manifest
    stated = {
        "inference": manifest and manifest.inference,
        "training": manifest and manifest.training,
        "dynamic shapes": manifest and manifest.dynamic,
    }
    return ", ".join(ability for ability, works in stated.items() if works)


def _option(spec: "OptionSpec") -> tuple[str, str, str, str]:
    from rich.markup import escape

    choices = " | ".join(map(repr, spec.choices)) if spec.choices else spec.type
    default = "required" if spec.required else repr(spec.default)
    return escape(spec.name), escape(choices), escape(default), escape(spec.description)
