"""What can be wrong with an environment's backends, as data."""

import json
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dynreg_core import _default
from dynreg_core._source import locate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dynreg_core._types import BackendInfo

__all__ = ["Finding", "Loaded", "examine", "judge", "load", "plugin_names", "verify"]


@dataclass(frozen=True)
class Finding:
    """One problem.

    Attributes:
        kind: One word, as in ``broken``.
        sentence: What is wrong, naming the thing and the cause.
        hint: What to do.
        backend: Name of the backend, where it is about one.
        distribution: Name of the distribution, likewise.
    """

    kind: str
    sentence: str
    hint: str
    backend: str = ""
    distribution: str = ""


@dataclass(frozen=True)
class Loaded:
    """What came of importing a backend in a process of its own.

    Attributes:
        name: The backend.
        seconds: How long its import took, without that of torch.
        error: Why it failed; empty where it did not.
        hint: What to do about it.
        changed: Settings of torch that the import changed.
    """

    name: str
    seconds: float = 0.0
    error: str = ""
    hint: str = ""
    changed: list[str] = field(default_factory=list)


def plugin_names() -> list[str]:
    """Names that installed distributions provide, sorted."""
    return sorted({info.name for info in _plugins()})


def _plugins() -> "list[BackendInfo]":
    return [
        info for info in _default.registry.list_backend_info(None) if info.source == "entry point"
    ]


def examine() -> "Iterator[Finding]":
    """Look at everything that can be seen without importing a backend."""
    for problem in _default.registry.problems():
        yield Finding("metadata", problem.problem, problem.hint, "", problem.distribution)
    seen = set()
    for info in _plugins():
        source = f"{info.distribution} {info.version}".strip()
        status = info.status
        if not status.usable and (info.name, status.kind) not in seen:
            mark = "" if status.kind == "shadowed" else ":"
            if status.kind == "ambiguous":
                seen.add((info.name, status.kind))
            yield Finding(
                status.kind,
                f"backend {info.name!r} from {source} is {status.kind}{mark} {status.detail}",
                status.hint,
                info.name,
                info.distribution,
            )
        elif status.usable and not info.alias_of and not locate(info.target)[0]:
            yield Finding(
                "broken",
                f"backend {info.name!r} from {source}: no module of {info.target} is installed",
                f"reinstall or update {info.distribution}",
                info.name,
                info.distribution,
            )
    for doubt in _default.registry.policy.doubts:
        yield Finding("setting", doubt, "`dynreg config` shows the settings in effect")
    for rule in _default.registry.policy.rules:
        if not any(
            rule.matches(i.name, i.distribution) for i in _default.registry.list_backend_info(None)
        ):
            yield Finding(
                "setting",
                f"{rule} in {rule.origin} matches nothing that is installed",
                "correct it, or take it out; `dynreg list --all` shows every name",
            )


def verify() -> "Iterator[Finding]":
    """Hold the files of each distribution with backends against the hashes of its RECORD."""
    import base64
    import hashlib
    from importlib.metadata import PackageNotFoundError, distribution
    from pathlib import Path

    for name in sorted({info.distribution for info in _plugins() if info.distribution}):
        try:
            files = distribution(name).files
        except PackageNotFoundError:
            continue  # found by another project's finder, which keeps no RECORD
        for file in files or ():
            if file.hash is None or file.hash.mode not in hashlib.algorithms_guaranteed:
                continue
            path = Path(str(file.locate()))
            problem = ""
            if not path.is_file():
                problem = "is missing"
            else:
                digest = hashlib.new(file.hash.mode, path.read_bytes()).digest()
                if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != file.hash.value:
                    problem = "was changed since it was installed"
            if problem:
                yield Finding(
                    "changed",
                    f"file {file} of {name} {problem}",
                    f"reinstall {name}, as in `pip install --force-reinstall {name}`",
                    "",
                    name,
                )


_LOADER = """
import json, sys, time
import torch, torch._dynamo, torch._inductor.config
from dynreg_core import errors, lookup_backend

def settings():
    found = {
        "default dtype": torch.get_default_dtype(),
        "default device": torch.get_default_device(),
        "number of threads": torch.get_num_threads(),
        "deterministic algorithms": torch.are_deterministic_algorithms_enabled(),
        "float32 matmul precision": torch.get_float32_matmul_precision(),
        "gradients enabled": torch.is_grad_enabled(),
        "TF32 in cuDNN": torch.backends.cudnn.allow_tf32,
    }
    for config in (torch._dynamo.config, torch._inductor.config):
        for key, value in config.get_config_copy().items():
            found[f"{config.__name__}.{key}"] = value
    return {key: repr(value) for key, value in found.items()}

before, start, report = settings(), time.perf_counter(), {}
try:
    lookup_backend(sys.argv[1])
except errors.DynregError as error:
    report.update(error=error.sentence, hint=error.hint)
report["seconds"] = time.perf_counter() - start
after = settings()
report["changed"] = sorted(key for key in before if before[key] != after.get(key))
print("\\n" + json.dumps(report))
"""


def load(name: str, timeout: float) -> Loaded:
    """Import a backend in a process of its own.

    Args:
        name: The backend.
        timeout: Seconds after which the process is ended.
    """
    try:
        done = subprocess.run(  # noqa: S603 - this interpreter, on a program of our own
            [sys.executable, "-c", _LOADER, name],
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Loaded(
            name,
            timeout,
            f"backend {name!r} is not loaded after {timeout:g} s",
            "pass a longer --timeout, or report this to its authors",
        )
    try:
        report: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    except (IndexError, ValueError):
        last = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        return Loaded(
            name,
            0.0,
            f"the process that imports backend {name!r} ended with {done.returncode}: {last}",
            "run `python -c 'import torch'` to see whether torch itself works here",
        )
    return Loaded(
        name,
        report["seconds"],
        report.get("error", ""),
        report.get("hint", ""),
        report["changed"],
    )


def judge(name: str, loaded: Any) -> "Iterator[Finding]":
    """Say what is wrong with how a backend loads."""
    info = _default.registry.get_backend_info(name)
    # What cannot be loaded for a reason that is seen without loading is a finding already.
    if loaded.error and info.status.usable:
        yield Finding("broken", loaded.error, loaded.hint, name, info.distribution)
    if loaded.changed:
        yield Finding(
            "side effect",
            f"importing backend {name!r} changes {', '.join(loaded.changed)} in torch",
            f"report this to the authors of {info.distribution}",
            name,
            info.distribution,
        )
