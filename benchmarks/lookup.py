"""A warm ``lookup_backend`` against torch's own, in the same process, in turn.

    python benchmarks/lookup.py [--rounds 25] [--json]

Looks up one registered name in both registries. The ratio is the median of the ratios of the
rounds; the exit status is 1 if it is above 2.
"""

import argparse
import json
import statistics
import timeit

from torch._dynamo.backends import registry as torch_registry

from dynreg_core import Registry

BUDGET = 2.0
NAME = "lookup_benchmark"
CALLS = 20_000


def backend(graph_module: object, example_inputs: object) -> object:
    """Stand in for a backend."""
    del example_inputs
    return graph_module


def measure(rounds: int) -> dict[str, float]:
    """Return nanoseconds a call on either side, and the ratio."""
    ours = Registry()
    ours.register_backend(backend, name=NAME)
    if NAME not in torch_registry._COMPILER_FNS:  # noqa: SLF001 - torch has no public question
        torch_registry.register_backend(backend, name=NAME)
    pairs = []
    for _ in range(rounds):
        times = [
            timeit.timeit("f(n)", globals={"f": lookup, "n": NAME}, number=CALLS) / CALLS * 1e9
            for lookup in (ours.lookup_backend, torch_registry.lookup_backend)
        ]
        pairs.append(times)
    return {
        "dynreg ns": statistics.median(a for a, _ in pairs),
        "torch ns": statistics.median(b for _, b in pairs),
        "ratio": statistics.median(a / b for a, b in pairs),
    }


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=25)
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
