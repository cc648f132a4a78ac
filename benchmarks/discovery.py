"""Discovery of entry points against importlib.metadata, in an environment of many distributions.

    python benchmarks/discovery.py [--distributions 1000] [--rounds 15] [--json]

Builds folders with metadata like that of a large environment (most distributions with an
``entry_points.txt``, some of them stale or of the older ``egg-info`` kind, ten with backends),
checks that both give the same answer, and times them in turn. Two ratios are printed:

* *again*: discovery itself, in a process that has imported everything. This one has a budget: the
  exit status is 1 if the ratio is below 3.
* *first*: the first call in a new process, with the imports of either side. Most of dynreg's time
  is that of ``dataclasses``, which a program that uses torch has imported anyway.
"""

import argparse
import importlib.metadata
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dynreg_core import _metadata

GROUP = _metadata.BACKENDS
BUDGET = 3.0

ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
"""An installed package has its bytecode; here the first start has to write it."""

FIRST = {
    "dynreg": """
import time
start = time.perf_counter()
from dynreg_core import _metadata
import sys
_metadata.scan_paths([sys.argv[1]], sys.meta_path)
print(time.perf_counter() - start)
""",
    "importlib": """
import time
start = time.perf_counter()
from importlib.metadata import MetadataPathFinder, DistributionFinder, entry_points
import sys
sys.path[:] = [*sys.path, sys.argv[1]]
entry_points(group="torch_dynamo_backends")
print(time.perf_counter() - start)
""",
}


def build(root: Path, count: int) -> None:
    """Write the metadata of ``count`` distributions, about as a large environment has it."""
    for number in range(count):
        kind = "egg-info" if number % 50 == 49 else "dist-info"
        folder = root / f"sample_{number:04}-1.{number % 7}.0.{kind}"
        folder.mkdir()
        name = "PKG-INFO" if kind == "egg-info" else "METADATA"
        (folder / name).write_text(
            f"Metadata-Version: 2.1\nName: sample-{number:04}\nVersion: 1.{number % 7}.0\n"
            f"Summary: Sample {number}\n\n" + "A long description.\n" * 200
        )
        if number % 5 == 4:
            continue  # a fifth of all distributions has no entry points
        lines = ["[console_scripts]", *(f"tool{i} = sample:main{i}" for i in range(number % 4 + 1))]
        if number % 3 == 0:
            lines += ["", "[pytest11]", f"plugin{number} = sample.plugin"]
        if number % 100 == 0:
            lines += ["", f"[{GROUP}]", f"backend{number} = sample.backend:compile"]
        (folder / "entry_points.txt").write_text("\n".join(lines) + "\n")
    for number in range(0, count, 200):  # leftovers of an earlier version
        (root / f"sample_{number:04}-0.9.dist-info").mkdir(exist_ok=True)


def ours(root: str) -> list[tuple[str, str]]:
    """Return what dynreg finds, sorted."""
    found = _metadata.scan_paths([root], sys.meta_path)
    return sorted((entry.name, entry.value) for entry in found.group(GROUP))


def theirs(root: str) -> list[tuple[str, str]]:
    """Return what importlib.metadata finds, sorted."""
    path = sys.path
    sys.path = [root]
    try:
        return sorted((e.name, e.value) for e in importlib.metadata.entry_points(group=GROUP))
    finally:
        sys.path = path


def seconds(function: object, root: str) -> float:
    """Time one call in this process."""
    start = time.perf_counter()
    function(root)  # type: ignore[operator]
    return time.perf_counter() - start


def first(program: str, root: str) -> float:
    """Time the first call in a new process, as the process itself measures it."""
    result = subprocess.run(  # noqa: S603 - the programs stand above
        [sys.executable, "-c", program, root],
        check=True,
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
    )
    return float(result.stdout)


def measure(count: int, rounds: int) -> dict[str, object]:
    """Measure both ratios in the same run, in turn."""
    with tempfile.TemporaryDirectory() as root:
        build(Path(root), count)
        answer = ours(root)
        if not answer or answer != theirs(root):
            raise SystemExit("the answers differ")
        again, fresh = [], []
        for program in FIRST.values():
            first(program, root)
        for _ in range(rounds):
            again.append((seconds(ours, root), seconds(theirs, root)))
            fresh.append((first(FIRST["dynreg"], root), first(FIRST["importlib"], root)))
    return {
        "distributions": count,
        "rounds": rounds,
        **{
            f"{label} {what}": value
            for label, pairs in (("first", fresh), ("again", again))
            for what, value in (
                ("dynreg ms", statistics.median(a for a, _ in pairs) * 1e3),
                ("importlib ms", statistics.median(b for _, b in pairs) * 1e3),
                ("ratio", statistics.median(b / a for a, b in pairs)),
            )
        },
    }


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--distributions", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    result = measure(arguments.distributions, arguments.rounds)
    if arguments.json:
        print(json.dumps(result))
    else:
        for key, value in result.items():
            print(f"{key:22} {value:.2f}" if isinstance(value, float) else f"{key:22} {value}")
    raise SystemExit(result["again ratio"] < BUDGET)  # type: ignore[operator]


if __name__ == "__main__":
    main()
