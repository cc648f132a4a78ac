"""The command line ``dynreg``.

A command is one module with a function ``command`` and one row of ``COMMANDS``; it is imported
when it runs. Other distributions add commands through the entry-point group ``dynreg.commands``.
"""

import click

from dynreg_core.cli._group import COMMANDS, Commands

__all__ = ["COMMANDS", "cli", "main"]


def _version(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        import dynreg_core

        click.echo(f"dynreg {dynreg_core.__version__}")
        context.exit()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Show the version and exit.",
)
def cli() -> None:
    """Find, inspect and check torch.compile backends."""


def main() -> None:
    """Run the command line, for the script ``dynreg``."""
    cli.main(prog_name="dynreg")
