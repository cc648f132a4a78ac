"""``dynreg info NAME``."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dynreg_core.cli._output import console, print_json, print_table, status_style, summary

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dynreg_core._types import BackendInfo, OptionSpec

__all__ = ["command"]


@click.command("info")
@click.argument("name")
@click.argument("script_args", metavar="[-- SCRIPT_ARGS]...", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--run",
    "script",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="SCRIPT",
    help="Run a Python script first, then count the ops of the graphs that the backend compiled.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(name: str, script: Path | None, script_args: tuple[str, ...], as_json: bool) -> None:
    """Tell all that is known of one backend, without importing it.

    With --run, tell which ops of a program run natively and which on fallback instead.
    """
    from dynreg_core import _default
    from dynreg_core._source import locate

    info = _default.registry.get_backend_info(name)
    if script is not None:
        _count_ops(info, script, script_args, as_json)
        return
    if script_args:
        raise click.UsageError("arguments are for a script: --run SCRIPT -- ARGUMENTS")
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


def _count_ops(
    info: "BackendInfo", script: Path, arguments: "Sequence[str]", as_json: bool
) -> None:
    from dynreg_core import _targets
    from dynreg_core.errors import DynregError

    place = info.manifest.op_counts if info.manifest else ""
    if not place:
        raise DynregError(
            f"backend {info.name!r} does not count the ops that it compiles",
            hint="a backend that does names a function as op-counts in its manifest",
        )
    status = _run(script, arguments)
    counts = _targets.load(place)()
    kinds = {"native": dict(counts.native), "fallback": dict(counts.fallback)}
    if as_json:
        print_json(kinds)
    elif not any(kinds.values()):
        click.echo(f"{script} compiled nothing with backend {info.name!r}")
    else:
        rows = [(op, str(n), kind) for kind, ops in kinds.items() for op, n in ops.items()]
        rows.sort(key=lambda row: (row[2], -int(row[1]), row[0]))  # what fell back comes first
        print_table(("OP", "COUNT", "RUNS"), rows, ("bold",))
        native, fallback = (sum(kinds[kind].values()) for kind in ("native", "fallback"))
        click.echo(f"\n{native} native, {fallback} on fallback")
    raise SystemExit(status)


def _run(script: Path, arguments: "Sequence[str]") -> object:
    """Run a script as ``python SCRIPT`` does, and return the status that it exits with."""
    import runpy
    import sys

    argv, path = sys.argv, sys.path[:]
    sys.argv, sys.path[:0] = [str(script), *arguments], [str(script.resolve().parent)]
    try:
        runpy.run_path(str(script), run_name="__main__")
    except SystemExit as stop:
        return stop.code
    finally:
        sys.argv, sys.path[:] = argv, path
    return 0
