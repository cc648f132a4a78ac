"""``dynreg completion SHELL``."""

import click

__all__ = ["command"]


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print a script that completes commands.

    For bash: eval "$(dynreg completion bash)"
    """
    from click.shell_completion import get_completion_class

    from dynreg_core.cli import cli

    found = get_completion_class(shell)
    if found is None:  # click knows all three
        raise click.UsageError(f"click cannot complete for {shell}")
    click.echo(found(cli, {}, "dynreg", "_DYNREG_COMPLETE").source())
