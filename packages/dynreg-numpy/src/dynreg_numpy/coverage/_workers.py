"""Entries over processes: one that ends takes no other entry with it."""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

from dynreg_numpy.coverage._results import Entry, Result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["measure"]

_SECONDS = 600.0
"""Time that one entry may take."""


def measure(
    entries: Sequence[Entry], *, samples: int = 2, workers: int = 1, timeout: float = _SECONDS
) -> Iterator[Result]:
    """Run entries in worker processes and yield results as they come.

    Args:
        entries: What to run.
        samples: How many of each entry's samples.
        workers: Number of processes, each with one thread of torch's.
        timeout: Seconds that one entry may take before its process is ended.

    Yields:
        One result an entry, in the order in which they are done.
    """
    waiting: queue.SimpleQueue[Entry] = queue.SimpleQueue()
    done: queue.SimpleQueue[Result | None] = queue.SimpleQueue()
    for entry in entries:
        waiting.put(entry)

    def serve() -> None:
        worker = _Worker(samples, timeout)
        try:
            for entry in _taken(waiting):
                done.put(worker.run(entry))
        finally:
            worker.stop()
            done.put(None)

    threads = [threading.Thread(target=serve, daemon=True) for _ in range(workers)]
    for thread in threads:
        thread.start()
    running = workers
    try:
        while running:
            result = done.get()
            if result is None:
                running -= 1
            else:
                yield result
    finally:
        for _ in _taken(waiting):  # an interrupted run leaves nothing waiting
            pass
        for thread in threads:
            thread.join()


def _taken(waiting: queue.SimpleQueue[Entry]) -> Iterator[Entry]:
    """Take what waits until nothing does."""
    with contextlib.suppress(queue.Empty):
        while True:
            yield waiting.get_nowait()


class _Worker:
    """A process that runs entries one after another, made anew when it ends."""

    def __init__(self, samples: int, timeout: float) -> None:
        self._samples, self._timeout = samples, timeout
        self._process: subprocess.Popen[str] | None = None

    def run(self, entry: Entry) -> Result:
        process = self._started()
        reader = process.stdout
        assert reader is not None and process.stdin is not None  # noqa: S101, PT018 - pipes
        timer = threading.Timer(self._timeout, process.kill)
        timer.start()
        try:
            print(json.dumps([entry.name, entry.dtype, entry.mode]), file=process.stdin, flush=True)
            line = reader.readline()
        except OSError:
            line = ""
        finally:
            expired = not timer.is_alive()
            timer.cancel()
        if line:
            return Result.from_json(json.loads(line))
        self.stop()
        status = process.returncode
        cause = f"took longer than {self._timeout:g} s" if expired else f"ended with {status}"
        return Result(entry, "error", detail=f"the process {cause}")

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            self._process = subprocess.Popen(  # noqa: S603 - this interpreter, this module
                [sys.executable, "-m", "dynreg_numpy.coverage._workers", str(self._samples)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        return self._process

    def stop(self) -> None:
        if self._process is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.communicate()  # the end of its input ends it
            self._process = None


def _serve(samples: int, lines: Any, write: Callable[[str], Any]) -> None:
    import warnings

    import torch

    from dynreg_numpy.coverage._check import check

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    for line in lines:
        write(json.dumps(check(Entry(*json.loads(line)), samples).to_json()) + "\n")


if __name__ == "__main__":
    import os

    # What torch or a test database prints must not reach the pipe of results.
    pipe = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def _write(text: str) -> None:
        pipe.write(text)
        pipe.flush()

    _serve(int(sys.argv[1]), sys.stdin, _write)
