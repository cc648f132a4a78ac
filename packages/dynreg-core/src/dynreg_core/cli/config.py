"""``dynreg config``."""

import click

from dynreg_core.cli._output import print_json, print_table

__all__ = ["command"]


@click.command("config")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool) -> None:
    """Show the settings in effect and where they come from.

    They come from [tool.dynreg] in the nearest pyproject.toml that has it, overridden by the
    variables DYNREG_PLUGINS, DYNREG_ALLOW, DYNREG_DENY, DYNREG_PIN, DYNREG_DEFAULT and
    DYNREG_DEFAULTS.
    """
    from rich.markup import escape

    from dynreg_core._policy import load_policy

    policy = load_policy()
    if as_json:
        print_json({"settings": policy.settings, "doubts": policy.doubts})
        return
    print_table(
        ("SETTING", "VALUE", "FROM"),
        (
            (setting.key, escape(_spelled(setting.value)), escape(setting.origin))
            for setting in policy.settings
        ),
        ("bold",),
    )
    for doubt in policy.doubts:
        click.echo(f"warning: {doubt}", err=True)


def _spelled(value: object) -> str:
    if value is None or value == ():
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
