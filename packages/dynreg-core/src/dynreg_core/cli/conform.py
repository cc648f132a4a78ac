"""``dynreg conform NAME``."""

import click

from dynreg_core.cli._output import console, print_json

__all__ = ["command"]

_STYLES = {"passed": "green", "failed": "red", "not applicable": "yellow"}


@click.command("conform")
@click.argument("name")
@click.option(
    "--option",
    "pairs",
    multiple=True,
    metavar="KEY=VALUE",
    help="An option of the backend; VALUE is JSON, or else a string.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(name: str, pairs: tuple[str, ...], as_json: bool) -> None:
    """Run the conformance suite against a backend.

    Each case is a small program whose results, changes of inputs, gradients and sharing of memory
    are held against eager mode. Imports torch and the backend. Exit status 0 if all cases pass, 1
    if one fails.
    """
    from rich.markup import escape

    from dynreg_core.conformance import CASES, run_cases

    options = dict(_option(pair) for pair in pairs)
    promises = {case.name: case.promise for case in CASES}
    results = []
    out = console()
    for result in run_cases(name, options=options):
        results.append(result)
        if not as_json:
            style = _STYLES[result.outcome]
            out.print(f"[{style}]{result.outcome:<8}[/] {promises[result.case]}")
            if result.detail:
                out.print(f"         {escape(result.detail.splitlines()[0])}", style="dim")
    failed = sum(not result.passed for result in results)
    if as_json:
        print_json(results)
    else:
        passed = sum(result.outcome == "passed" for result in results)
        out.print(f"\n{passed} of {len(results)} cases passed, {failed} failed")
    raise SystemExit(1 if failed else 0)


def _option(pair: str) -> tuple[str, object]:
    import json

    key, equals, value = pair.partition("=")
    if not equals or not key:
        raise click.BadParameter(f"{pair!r} is not KEY=VALUE", param_hint="--option")
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value
