"""``dynreg list`` as a whole process, against listing with torch alone.

    python benchmarks/command_line.py [--rounds 10] [--json]

Both are started in turn; the ratio is the median of the ratios of the rounds. Exit status 1 if
dynreg is not at least 10 times faster.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

BUDGET = 10.0
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
COMMANDS = {
    "dynreg": [sys.executable, "-m", "dynreg_core", "list", "--all"],
    "torch": [sys.executable, "-c", "import torch; print(torch.compiler.list_backends(None))"],
}


def seconds(command: list[str]) -> float:
    """Time one process from its start to its end."""
    start = time.perf_counter()
    subprocess.run(command, check=True, env=ENVIRONMENT, stdout=subprocess.DEVNULL)  # noqa: S603 - COMMANDS
    return time.perf_counter() - start


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    for command in COMMANDS.values():
        seconds(command)
    pairs = [[seconds(command) for command in COMMANDS.values()] for _ in range(chosen.rounds)]
    told = {
        "dynreg ms": statistics.median(a for a, _ in pairs) * 1e3,
        "torch ms": statistics.median(b for _, b in pairs) * 1e3,
        "times faster": statistics.median(b / a for a, b in pairs),
    }
    print(json.dumps(told) if chosen.json else told)
    return int(told["times faster"] < BUDGET)


if __name__ == "__main__":
    raise SystemExit(main())
