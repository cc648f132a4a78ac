"""``dynreg doctor``."""

from typing import TYPE_CHECKING

import click

from dynreg_core.cli._output import console, print_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dynreg_core._diagnosis import Finding, Loaded

__all__ = ["command"]


@click.command("doctor")
@click.option("--load", is_flag=True, help="Import each backend in a process of its own.")
@click.option("--verify", is_flag=True, help="Check installed files against their hashes.")
@click.option(
    "--timeout", default=120.0, show_default=True, metavar="SECONDS", help="For each import."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(load: bool, verify: bool, timeout: float, as_json: bool) -> None:
    """Look for problems in this environment.

    Broken, shadowed, ambiguous and misdeclared backends, versions of torch that do not fit,
    malformed metadata, and settings that match nothing. Exit status 0 if there is no problem,
    1 if there is one.
    """
    import warnings

    from dynreg_core import _diagnosis
    from dynreg_core.errors import DynregWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DynregWarning)  # what they say is among the findings
        findings = list(_diagnosis.examine())
    checked = _diagnosis.plugin_names()
    loaded: list[Loaded] = []
    if verify:
        findings += _diagnosis.verify()
    if load:
        for name, one in _with_progress(checked, lambda name: _diagnosis.load(name, timeout)):
            loaded.append(one)
            findings += _diagnosis.judge(name, one)
    if as_json:
        print_json({"checked": checked, "findings": findings, "loaded": loaded})
    else:
        for one in loaded:
            if not one.error:
                click.echo(f"{one.name} loads in {one.seconds:.2f} s")
        _print(findings, len(checked))
    raise SystemExit(1 if findings else 0)


def _with_progress(
    names: "list[str]", work: "Callable[[str], Loaded]"
) -> "Iterator[tuple[str, Loaded]]":
    """Yield each name with what came of it, under a progress bar on a terminal."""
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("importing", total=len(names))
        for name in names:
            progress.update(task, description=f"importing {name}")
            yield name, work(name)
            progress.advance(task)


def _print(findings: "list[Finding]", checked: int) -> None:
    from rich.markup import escape

    out = console()
    for finding in findings:
        out.print(f"[red bold]{finding.kind}[/] {escape(finding.sentence)}")
        out.print(f"  [cyan]hint:[/] {escape(finding.hint)}")
    backends = "backend" if checked == 1 else "backends"
    if findings:
        problems = "problem" if len(findings) == 1 else "problems"
        out.print(f"\n{len(findings)} {problems}, {checked} installed {backends} checked")
    else:
        out.print(f"no problems, {checked} installed {backends} checked")
