"""``dynreg numpy coverage``: what it prints, writes and returns."""

import json

import pytest
from click.testing import CliRunner

from dynreg_numpy.coverage import MODES, OUTCOMES, Entry, Result
from dynreg_numpy.coverage._page import render
from dynreg_numpy.coverage._results import summarize
from dynreg_numpy.coverage._workers import measure
from dynreg_numpy.coverage.command import command


def run(*args):
    return CliRunner().invoke(command, ["coverage", *args])


def test_it_counts_writes_json_and_a_page(tmp_path):
    report, page = tmp_path / "report.json", tmp_path / "report.html"
    result = run(
        *("add", "nn.functional.linear", "empty", "--workers", "1", "--samples", "1"),
        *("--json", str(report), "--html", str(page), "--fail-under", "100"),
    )
    assert result.exit_code == 0, result.output
    summary = json.loads(report.read_text())["summary"]["inference"]
    assert summary["native"] == 2
    assert summary["undetermined"] == 1
    text = page.read_text()
    assert "nn.functional.linear" in text
    assert "http" not in text  # the page needs nothing from elsewhere


def test_reports_make_a_page_of_markdown(tmp_path):
    results = [
        Result(Entry("add", "float32", "inference"), "native", 2),
        Result(Entry("chalf", "float32", "inference"), "fallback", 2, ("aten._to_copy.default",)),
        Result(Entry("mul", "float32", "inference"), "mismatch", 1, (), "values | differ\nby 1"),
        Result(Entry("empty", "float32", "inference"), "undetermined", 2),
    ]
    file = tmp_path / "report.json"
    flat = [result.to_json() for result in results]
    file.write_text(json.dumps({"versions": {"torch": "2.13"}, "samples": 2, "results": flat}))
    result = CliRunner().invoke(command, ["report", str(file), "--made-by", "nox -s some"])
    assert result.exit_code == 0, result.output
    assert "Made by `nox -s some`, with torch 2.13." in result.output
    assert "| inference | float32 | 2 | 3 | 1 | 1 | 1 | 0 | 0 | 66.67 | 33.33 |" in result.output
    assert "| `chalf` | float32 | inference | fallback | aten._to_copy.default |" in result.output
    assert "| `mul` | float32 | inference | mismatch | values &#124; differ |" in result.output


def test_what_is_no_report_is_a_usage_error(tmp_path):
    file = tmp_path / "report.json"
    file.write_text("{}")
    result = CliRunner().invoke(command, ["report", str(file)])
    assert result.exit_code == 2
    assert "is no report of coverage: KeyError('results')" in result.output


def test_a_share_under_the_bar_is_an_error():
    names = ("--dtype", "float32", "--workers", "1", "--samples", "1", "--fail-under", "100")
    result = run("chalf", *names)
    assert result.exit_code == 1
    assert "fallback: chalf float32 inference" in result.output
    assert "0.00 % native is under 100 %" in result.output


def test_an_unknown_entry_is_a_usage_error():
    result = run("add", "no_such_op")
    assert result.exit_code == 2
    assert "torch has no entry named no_such_op for --mode inference" in result.output


def test_a_module_goes_by_the_name_torch_gives_it():
    result = run("nn.Linear", "--mode", "eval", "--samples", "1", "--workers", "1")
    assert result.exit_code == 0, result.output


def test_a_worker_that_ends_takes_one_entry_with_it(monkeypatch):
    monkeypatch.setenv("PYTHONWARNINGS", "ignore")
    entries = [Entry("no such entry", "float32", "inference"), Entry("add", "float32", "inference")]
    results = {result.entry.name: result for result in measure(entries, samples=1)}
    assert results["no such entry"].outcome == "error"
    assert "the process ended with" in results["no such entry"].detail
    assert results["add"].outcome == "native"


def test_a_worker_that_takes_too_long_is_ended():
    (result,) = measure([Entry("add", "float32", "inference")], samples=1, timeout=0.2)
    assert result.outcome == "error"
    assert "took longer than 0.2 s" in result.detail


def test_results_survive_json():
    result = Result(Entry("add", "int8", "dynamic"), "mismatch", 2, ("aten.x",), "why")
    assert Result.from_json(json.loads(json.dumps(result.to_json()))) == result


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_every_outcome_is_counted_and_escaped_on_the_page(outcome):
    result = Result(Entry("<op>", "int8", "dynamic"), outcome)
    assert summarize([result])["dynamic"][outcome] == 1
    report = {"versions": {}, "samples": 1, "seconds": 0, "summary": summarize([result])}
    page = render({**report, "results": [result.to_json()]})
    assert "&lt;op&gt;" in page
    assert MODES["dynamic"] in page
