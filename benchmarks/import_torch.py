"""What ``import torch`` costs more where dynreg-core is installed.

    python benchmarks/import_torch.py [--rounds 20] [--json]

Torch calls the entry points of the group ``torch.backends`` while it is imported, ours among
them. Whole processes are timed in turn, with our entry point and with it left out; beside that,
the time of our entry point itself is taken inside of a process. Exit status 1 if the latter is
1 % of the import or more: the former is shown with its spread, which is wider than that.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

BUDGET = 0.01
ENVIRONMENT = {
    key: value
    for key, value in os.environ.items()
    if key != "PYTHONDONTWRITEBYTECODE" and not key.startswith("DYNREG_")
}

PROGRAM = """
import importlib.metadata as metadata, sys, time

real, leave_out = metadata.entry_points, sys.argv[1] == "without"
spent = 0.0

class Timed:
    def __init__(self, entry_point):
        self.name, self.entry_point = entry_point.name, entry_point

    def load(self):
        global spent
        start = time.perf_counter()
        function = self.entry_point.load()
        spent += time.perf_counter() - start

        def call():
            global spent
            start = time.perf_counter()
            function()
            spent += time.perf_counter() - start

        return call

def entry_points(**query):
    found = real(**query)
    if query.get("group") != "torch.backends":
        return found
    ours = [e for e in found if e.value.startswith("dynreg_core")]
    return [] if leave_out else [Timed(entry_point) for entry_point in ours]

metadata.entry_points = entry_points
start = time.perf_counter()
import torch
print(time.perf_counter() - start, spent)
"""


def run(kind: str) -> tuple[float, float]:
    """Import torch in a new process; return seconds of the import, and those of our share."""
    done = subprocess.run(  # noqa: S603 - PROGRAM
        [sys.executable, "-c", PROGRAM, kind],
        check=True,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
    )
    whole, share = done.stdout.split()
    return float(whole), float(share)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    run("with"), run("without")
    began = time.perf_counter()
    pairs = [(run("with"), run("without")) for _ in range(chosen.rounds)]
    ratios = sorted(a[0] / b[0] for a, b in pairs)
    told = {
        "import ms": statistics.median(b[0] for _, b in pairs) * 1e3,
        "ours ms": statistics.median(a[1] for a, _ in pairs) * 1e3,
        "share": statistics.median(a[1] / a[0] for a, _ in pairs),
        "ratio of whole imports": statistics.median(ratios),
        "ratio, quartiles": [ratios[len(ratios) // 4], ratios[-1 - len(ratios) // 4]],
        "seconds taken": time.perf_counter() - began,
    }
    if chosen.json:
        print(json.dumps(told))
    else:
        for name, value in told.items():
            print(f"{name:<24} {value if isinstance(value, list) else f'{value:.4f}'}")
    return int(told["share"] >= BUDGET)


if __name__ == "__main__":
    raise SystemExit(main())
