"""The page of the documentation that reports make."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dynreg_numpy.coverage._results import MODES, OUTCOMES, Result, share, summarize

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["render"]

_SHOWN = ("native", "fallback", "mismatch", "error", "torch differs")
_LISTED = _SHOWN[1:]


def render(reports: Sequence[dict[str, Any]], command: str) -> str:
    """Return a page of Markdown.

    Args:
        reports: What ``--json`` wrote, one for each run.
        command: How the page is made, for its first paragraph.
    """
    versions = ", ".join(f"{name} {version}" for name, version in reports[0]["versions"].items())
    introduction = (
        f"Made by `{command}`, with {versions}. Each row is a run of `dynreg numpy coverage` over "
        "torch's own databases of test cases, OpInfo and, for modules, ModuleInfo. Counted are the "
        "entries, an op or module with one dtype, that Dynamo captures as a whole graph; of an "
        "entry's samples the worst counts."
    )
    parts = [
        "# Coverage of torch's ops",
        introduction,
        _table(
            ("mode", "dtypes", "samples", "captured", *_SHOWN, "% agree", "% native"),
            (row for report in reports for row in _runs(report)),
        ),
        "\n".join(f"- *{name}*: {MODES[name]}." for name in MODES)
        + "\n"
        + "\n".join(f"- *{name}*: {OUTCOMES[name]}." for name in _SHOWN),
        "## By dtype",
        _table(("mode", "dtype", "captured", "% agree", "% native"), _by_dtype(reports)),
        "## What is not native",
        _table(("entry", "dtypes", "modes", "outcome", "what"), _exceptions(reports)),
    ]
    return "\n\n".join(parts) + "\n"


def _results(report: dict[str, Any]) -> list[Result]:
    return [Result.from_json(flat) for flat in report["results"]]


def _runs(report: dict[str, Any]) -> Iterable[tuple[str, ...]]:
    results = _results(report)
    for mode, counts in summarize(results).items():
        dtypes = sorted({result.entry.dtype for result in results if result.entry.mode == mode})
        named = ", ".join(dtypes) if len(dtypes) < 4 else f"all {len(dtypes)}"
        entries = str(report["samples"]), str(_captured(counts))
        outcomes = (str(counts[outcome]) for outcome in _SHOWN)
        yield mode, named, *entries, *outcomes, *_shares(counts)


def _by_dtype(reports: Sequence[dict[str, Any]]) -> Iterable[tuple[str, ...]]:
    for report in reports:
        results = _results(report)
        kinds = sorted({(result.entry.mode, result.entry.dtype) for result in results})
        if len(kinds) < 4:
            continue  # the first table has it
        for mode, dtype in kinds:
            chosen = (r for r in results if (r.entry.mode, r.entry.dtype) == (mode, dtype))
            counts = summarize(chosen)[mode]
            yield mode, dtype, str(_captured(counts)), *_shares(counts)


def _exceptions(reports: Sequence[dict[str, Any]]) -> Iterable[tuple[str, ...]]:
    found: dict[tuple[str, str, str], tuple[set[str], set[str]]] = {}
    for result in (result for report in reports for result in _results(report)):
        if result.outcome in _LISTED:
            what = ", ".join(result.fallback) or (result.detail.splitlines() or [""])[0]
            key = result.entry.name, result.outcome, what
            dtypes, modes = found.setdefault(key, (set(), set()))
            dtypes.add(result.entry.dtype)
            modes.add(result.entry.mode)
    for (name, outcome, what), (dtypes, modes) in sorted(found.items()):
        yield f"`{name}`", ", ".join(sorted(dtypes)), ", ".join(sorted(modes)), outcome, what


def _captured(counts: dict[str, int]) -> int:
    return sum(counts[outcome] for outcome in _SHOWN)


def _shares(counts: dict[str, int]) -> tuple[str, str]:
    native, fallback = share(counts, "native"), share(counts, "fallback")
    return f"{native + fallback:.2f}", f"{native:.2f}"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"

    return "\n".join([line(header), line(["---"] * len(header)), *map(line, rows)])
