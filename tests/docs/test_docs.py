"""Every example of README and docs is run: Python blocks, and console blocks with their output."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *ROOT.glob("packages/*/README.md")]
)
FENCE = re.compile(r"^( *)```(\w+)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)

#: Blocks that are data or excerpts; what they show is held by the tests named here.
SHOWN = {
    "toml": "manifests are parsed by packages/dynreg-core/tests/test_manifest.py",
    "text": "excerpts of output whose figures differ between machines",
    "mermaid": "drawings",
}

#: Commands that are whole nox sessions: CI runs them by the same lines.
SESSIONS = {
    "python3 -m venv .venv && .venv/bin/python -m pip install -q nox && .venv/bin/nox -s demo",
    "python3 -m venv .venv && .venv/bin/python -m pip install -q nox && .venv/bin/nox",
}


def blocks(page, language):
    for match in FENCE.finditer(page.read_text()):
        if match[2] == language:
            indent = match[1]
            yield re.sub(f"^{indent}", "", match[3], flags=re.MULTILINE)


def name(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_block_is_of_a_kind_that_is_checked(page):
    kinds = {match[2] for match in FENCE.finditer(page.read_text())}
    assert kinds <= {"python", "console", *SHOWN}


@pytest.mark.parametrize("page", [p for p in PAGES if list(blocks(p, "python"))], ids=name)
def test_python_blocks_run(page, tmp_path):
    file = tmp_path / "example.py"
    file.write_text("\n".join(blocks(page, "python")))
    done = subprocess.run(
        [sys.executable, "-W", "error", str(file)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


CONSOLE = [
    (page, command.strip(), expected)
    for page in PAGES
    for block in blocks(page, "console")
    for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
]


@pytest.mark.parametrize(
    ("page", "command", "expected"), CONSOLE, ids=[f"{name(p)}: {c}" for p, c, _ in CONSOLE]
)
def test_console_blocks_print_what_they_show(page, command, expected, tmp_path):
    if command in SESSIONS:
        assert not expected
        return
    program, *args = command.split()
    assert program == "dynreg", f"{command} is not a command that can be checked"
    variables = {key: value for key, value in os.environ.items() if not key.startswith("DYNREG_")}
    done = subprocess.run(
        [sys.executable, "-m", "dynreg_core", *args],
        cwd=tmp_path,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    printed = _comparable(done.stdout + done.stderr)
    assert printed == _comparable(expected)


def _comparable(text):
    """Leave out what differs between builds of torch, and widths that follow from it."""
    text = re.sub(r"torch \d+\.\d+\.\d+\S*", "torch", text)
    return "\n".join(" ".join(line.split()) for line in text.strip().splitlines())


def test_ci_runs_the_command_of_the_readme():
    script = (ROOT / ".ci" / "run").read_text()
    pattern = re.search(r"sed -n 's/\^(.*?)\$/\\1/p' README\.md", script)
    assert pattern is not None
    lines = [f"$ {command}" for command in SESSIONS if command.endswith("bin/nox")]
    assert lines[0] in (ROOT / "README.md").read_text().splitlines()


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{name(page)} links to {target}"
