"""Commands that are imported when they run, and errors as one sentence and a hint."""

from importlib import import_module
from typing import Any

import click

from dynreg_core.errors import DynregError

__all__ = ["COMMANDS", "Commands", "fail"]

COMMANDS = {
    "list": ("dynreg_core.cli.list", "List backends: name, status, tags, distribution."),
    "info": ("dynreg_core.cli.info", "Tell all that is known of one backend."),
    "doctor": ("dynreg_core.cli.doctor", "Look for problems in this environment."),
    "conform": ("dynreg_core.cli.conform", "Run the conformance suite against a backend."),
    "config": ("dynreg_core.cli.config", "Show the settings in effect and where they come from."),
    "completion": ("dynreg_core.cli.completion", "Print a script that completes commands."),
}
"""Name, module with a function ``command``, and one line for the help."""


class Commands(click.Group):
    """The commands of ``COMMANDS``, and those that other distributions add."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names: ours in their order, then those of plugins, sorted."""
        return [*COMMANDS, *sorted(_plugin_commands().keys() - COMMANDS.keys())]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        """Import a command; of one that cannot be imported, return one that says why."""
        if cmd_name in COMMANDS:
            command: click.Command = import_module(COMMANDS[cmd_name][0]).command
            return command
        entry = _plugin_commands().get(cmd_name)
        return None if entry is None else _load(entry)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table of commands without importing them."""
        rows = [
            (name, COMMANDS[name][1] if name in COMMANDS else f"From {_source(name)}.")
            for name in self.list_commands(ctx)
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an error of dynreg ends it with its sentence and hint."""
        try:
            return super().invoke(ctx)
        except DynregError as error:
            fail(error)


def fail(error: DynregError) -> None:
    """Print an error as people read it, and exit with status 1."""
    click.echo(f"{click.style('error:', fg='red', bold=True)} {error.sentence}", err=True)
    click.echo(f"{click.style('hint:', fg='cyan', bold=True)} {error.hint}", err=True)
    raise SystemExit(1)


def _plugin_commands() -> dict[str, Any]:
    from dynreg_core import _metadata

    found: dict[str, Any] = {}
    for entry in _metadata.scan().group(_metadata.COMMANDS):
        found.setdefault(entry.name, entry)
    return found


def _source(name: str) -> str:
    entry = _plugin_commands()[name]
    return f"{entry.distribution} {entry.version}".strip()


def _load(entry: Any) -> click.Command:
    module, _, attribute = entry.value.partition(":")
    try:
        command = import_module(module)
        for part in attribute.split("."):
            command = getattr(command, part)
    except Exception as error:  # noqa: BLE001 - whatever a plugin raises, the others still work
        return _broken(entry, f"{type(error).__name__}: {error}")
    if not isinstance(command, click.Command):
        return _broken(entry, f"it is no click command but {type(command).__name__}")
    return command


def _broken(entry: Any, cause: str) -> click.Command:
    source = f"{entry.distribution} {entry.version}".strip()

    def report(**_: Any) -> None:
        raise DynregError(
            f"command {entry.name!r} from {source} cannot be loaded: {entry.value}: {cause}",
            hint=f"reinstall or update {entry.distribution}, or report this to its authors",
        )

    return click.Command(
        entry.name,
        callback=report,
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
        help=f"Cannot be loaded: {cause}",
    )
