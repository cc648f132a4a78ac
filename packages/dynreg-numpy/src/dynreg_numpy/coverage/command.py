"""``dynreg numpy coverage``."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dynreg_numpy.coverage._results import MODES, OUTCOMES, Result, share, summarize

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["command"]


@click.group("numpy")
def command() -> None:
    """Look into the numpy backend."""


@command.command("coverage")
@click.argument("names", nargs=-1)
@click.option(
    "--mode",
    "modes",
    multiple=True,
    type=click.Choice(list(MODES)),
    default=("inference",),
    show_default=True,
    help="How to run each entry; can be given several times.",
)
@click.option(
    "--dtype",
    "dtypes",
    multiple=True,
    default=("float32",),
    show_default=True,
    help="A dtype, or 'all'; can be given several times.",
)
@click.option("--samples", default=2, show_default=True, help="Samples of each entry.")
@click.option(
    "--workers", default=os.cpu_count() or 1, show_default="one a core", help="Processes."
)
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write results as JSON.")
@click.option("--html", "html_file", type=click.Path(path_type=Path), help="Write a page.")
@click.option(
    "--fail-under",
    type=float,
    default=None,
    help="Exit with status 1 if a smaller percentage of what is captured is native.",
)
def coverage(
    names: tuple[str, ...],
    modes: tuple[str, ...],
    dtypes: tuple[str, ...],
    samples: int,
    workers: int,
    json_file: Path | None,
    html_file: Path | None,
    fail_under: float | None,
) -> None:
    """Count which of torch's own test cases the backend computes, and how.

    Runs the samples of torch's OpInfo and ModuleInfo databases in eager mode and compiled. NAMES
    are entries, as in nn.functional.conv2d; without any, all are run. What Dynamo does not capture
    is no matter of the backend. Exit status 1 if a result differs or an entry raises.
    """
    from dynreg_numpy.coverage._check import list_entries
    from dynreg_numpy.coverage._workers import measure

    chosen = () if "all" in dtypes else dtypes
    try:
        entries = list_entries(modes, chosen, names)
    except LookupError as error:
        raise click.UsageError(
            f"torch has no entry named {', '.join(error.args)} for --mode {', '.join(modes)}"
        ) from None
    if not entries:
        raise click.UsageError(f"no entry has a sample of --dtype {', '.join(dtypes)}")
    started = time.monotonic()
    results = list(_with_progress(measure(entries, samples=samples, workers=workers), len(entries)))
    results.sort(key=lambda result: str(result.entry))
    report = _report(results, samples, time.monotonic() - started)
    if json_file is not None:
        json_file.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if html_file is not None:
        from dynreg_numpy.coverage._page import render

        html_file.write_text(render(report), encoding="utf-8")
    _print(results)
    worst = min(share(counts, "native") for counts in summarize(results).values())
    if any(result.outcome in {"mismatch", "error"} for result in results):
        raise SystemExit(1)
    if fail_under is not None and worst < fail_under:
        click.echo(f"error: {worst:.2f} % native is under {fail_under:g} %", err=True)
        raise SystemExit(1)


@command.command("report")
@click.argument("reports", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--made-by", default="dynreg numpy report", help="Command to name on the page.")
def report(reports: tuple[Path, ...], made_by: str) -> None:
    """Print one page of Markdown from REPORTS, which 'dynreg numpy coverage --json' wrote."""
    from dynreg_numpy.coverage._markdown import render

    click.echo(render([_read(file) for file in reports], made_by), nl=False)


def _read(file: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        Result.from_json(found["results"][0])
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise click.UsageError(f"{file} is no report of coverage: {error!r}") from None
    return found


def _with_progress(results: Iterator[Result], count: int) -> Iterator[Result]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    err = Console(stderr=True)
    with Progress(*columns, console=err, transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("entries", total=count)
        for result in results:
            bar.update(task, advance=1)
            yield result


def _report(results: Sequence[Result], samples: int, seconds: float) -> dict[str, Any]:
    import platform
    from importlib.metadata import version

    return {
        "versions": {
            **{name: version(name) for name in ("dynreg-numpy", "torch", "numpy")},
            "python": platform.python_version(),
        },
        "samples": samples,
        "seconds": round(seconds, 1),
        "summary": summarize(results),
        "results": [result.to_json() for result in results],
    }


def _print(results: Sequence[Result]) -> None:
    from rich.console import Console
    from rich.table import Table

    out = Console(width=None if sys.stdout.isatty() else 200, highlight=False)
    for result in results:
        if result.outcome in {"mismatch", "error"}:
            first = (result.detail.splitlines() or [""])[0]
            out.print(f"{result.outcome}: {result.entry}: {first}", markup=False)
        elif result.outcome == "fallback":
            out.print(f"fallback: {result.entry}: {', '.join(result.fallback)}", markup=False)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("mode")
    for outcome in OUTCOMES:
        table.add_column(outcome, justify="right")
    table.add_column("% agree", justify="right")
    table.add_column("% native", justify="right")
    for mode, counts in summarize(results).items():
        native, fallback = share(counts, "native"), share(counts, "fallback")
        table.add_row(
            mode,
            *(str(counts[outcome]) for outcome in OUTCOMES),
            f"{native + fallback:.2f}",
            f"{native:.2f}",
        )
    out.print(table)
