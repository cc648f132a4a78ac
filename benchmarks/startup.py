"""What ``import dynreg_core`` costs, against a bare interpreter.

    python benchmarks/startup.py [--rounds 40] [--json]

Starts both in turn, so that what else the machine does falls on both. The ratio is the median of
the ratios of the rounds; the exit status is 1 if the import adds more than a tenth.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

BUDGET = 1.1
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
"""An installed package has its bytecode; here the first start has to write it."""
PROGRAMS = {"import": "import dynreg_core", "bare": "pass"}


def seconds(program: str) -> float:
    """Time one process from its start to its end."""
    start = time.perf_counter()
    subprocess.run(  # noqa: S603 - one of PROGRAMS
        [sys.executable, "-c", program], check=True, env=ENVIRONMENT
    )
    return time.perf_counter() - start


def measure(rounds: int) -> dict[str, float]:
    """Return milliseconds of either, and the ratio."""
    for program in PROGRAMS.values():
        seconds(program)  # compile what is imported, and warm the file cache
    pairs = [[seconds(program) for program in PROGRAMS.values()] for _ in range(rounds)]
    return {
        "import ms": statistics.median(a for a, _ in pairs) * 1e3,
        "bare ms": statistics.median(b for _, b in pairs) * 1e3,
        "ratio": statistics.median(a / b for a, b in pairs),
    }


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    result = measure(arguments.rounds)
    if arguments.json:
        print(json.dumps(result))
    else:
        for key, value in result.items():
            print(f"{key:10} {value:.2f}")
    raise SystemExit(result["ratio"] > BUDGET)


if __name__ == "__main__":
    main()
