"""One entry, run in eager mode and compiled. Runs in a worker."""

from __future__ import annotations

import itertools
import random
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from dynreg_numpy.counters import get_op_counts, reset_op_counts
from dynreg_numpy.coverage._results import Entry, Result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["check", "list_entries"]

#: From best to worst: an entry is as good as its worst sample.
_RANK = (
    *("no samples", "not captured", "native", "fallback"),
    *("torch differs", "undetermined", "mismatch", "error"),
)


def _in_order(indices: Any, x: torch.Tensor, args: tuple[Any, ...], kwargs: Any) -> torch.Tensor:
    """What indices of equal elements stand for: their order is not determined."""
    dim = kwargs.get("dim", args[0] if args else -1)
    return x.gather(dim, indices) if x.ndim else x


#: What is unique of results that are not, from the result and the arguments of the op.
INVARIANT: dict[str, Callable[..., Any]] = {
    # Eigenvectors are unique up to a factor.
    "linalg.eig": lambda out, *_: (
        out[0],
        out[1] * out[0][..., None, :] @ torch.linalg.inv(out[1]),
    ),
    "linalg.eigh": lambda out, *_: (
        out[0],
        out[1] * out[0][..., None, :].to(out[1].dtype) @ out[1].mH,
    ),
    "argsort": _in_order,
    "sort": lambda out, x, args, kwargs: (
        out if kwargs.get("stable") else (out[0], _in_order(out[1], x, args, kwargs))
    ),
    "topk": lambda out, x, args, kwargs: (out[0], _in_order(out[1], x, args[1:], kwargs)),
}

#: Ops whose values are whatever the memory held.
UNDETERMINED = frozenset(
    {
        "empty",
        "empty_like",
        "empty_permuted",
        "empty_strided",
        "new_empty",
        "new_empty_strided",
    }
)


def list_entries(
    modes: tuple[str, ...], dtypes: tuple[str, ...], names: tuple[str, ...] = ()
) -> list[Entry]:
    """Return the entries of torch's databases.

    Args:
        modes: Keys of :data:`~dynreg_numpy.coverage.MODES`.
        dtypes: Names of dtypes; empty for all that an entry supports on a CPU.
        names: Names of entries, with or without their variant; empty for all.

    Raises:
        LookupError: None of the databases has a name; its arguments are the names that are missing.
    """
    known = {alias for mode in modes for item in _database(mode).items() for alias in _names(*item)}
    if missing := [name for name in names if name not in known]:
        raise LookupError(*missing)
    entries = []
    for mode in modes:
        for name, info in sorted(_database(mode).items()):
            if names and _names(name, info).isdisjoint(names):
                continue
            supported = _supported(info, mode)
            entries += [
                Entry(name, dtype, mode)
                for dtype in sorted(str(d).removeprefix("torch.") for d in supported)
                if not dtypes or dtype in dtypes
            ]
    return entries


def _names(entry: str, info: Any) -> set[str]:
    """Return what a user may call an entry: with its variant, or as torch's database names it."""
    return {entry, info.name}


def _database(mode: str) -> dict[str, Any]:
    if mode in {"train", "eval"}:
        from torch.testing._internal.common_modules import module_db

        return {module.name.removeprefix("nn."): module for module in module_db}
    from torch.testing._internal.common_methods_invocations import op_db

    return {f"{op.name}.{op.variant_test_name}".rstrip("."): op for op in op_db}


def _supported(info: Any, mode: str) -> Any:
    if mode in {"train", "eval"}:
        return info.dtypes if hasattr(info, "dtypes") else {torch.float32, torch.float64}
    if mode == "gradient":
        return info.supported_backward_dtypes("cpu") if info.supports_autograd else ()
    return info.supported_dtypes("cpu")


# --- running -------------------------------------------------------------------------------------


class Case:
    """A function of tensors, made anew for each run so that runs do not see one another's writes.

    Attributes:
        make: Returns the function and its arguments; equal at each call.
        invariant: What to compare of the result.
    """

    def __init__(
        self,
        make: Callable[[], tuple[Callable[..., Any], tuple[Any, ...]]],
        invariant: Callable[[Any], Any] | None = None,
    ) -> None:
        self.make = make
        self.invariant = invariant or (lambda result: result)


def check(entry: Entry, samples: int) -> Result:
    """Run the first samples of an entry.

    Args:
        entry: What to run.
        samples: How many of the samples of torch's database.
    """
    if entry.name in UNDETERMINED:
        return Result(entry, "undetermined")
    worst, compared, fallback, detail = "no samples", 0, set(), ""
    runner = _run_gradient if entry.mode in {"gradient", "train", "eval"} else _run_forward
    cases = _module_cases(entry) if entry.mode in {"train", "eval"} else _op_cases(entry)
    for case in itertools.islice(cases, samples):
        outcome, ops, text = _compare(case, runner, dynamic=entry.mode == "dynamic")
        compared += outcome not in {"no samples", "not captured"}
        fallback |= ops
        if _RANK.index(outcome) > _RANK.index(worst):
            worst, detail = outcome, text
    return Result(entry, worst, compared, tuple(sorted(fallback)), detail)


def _op_cases(entry: Entry) -> Iterator[Case]:
    info = _database(entry.mode)[entry.name]
    dtype = getattr(torch, entry.dtype)
    _seed()
    samples = info.sample_inputs("cpu", dtype, requires_grad=entry.mode == "gradient")
    for sample in samples:

        def run(x: Any, args: Any, _op: Any = info.op, _kwargs: Any = sample.kwargs) -> Any:
            return _op(x, *args, **_kwargs)

        unique = INVARIANT.get(entry.name) if entry.mode != "gradient" else None
        invariant = unique and partial(_applied, unique, sample)
        arguments = (sample.input, sample.args)

        def make(run: Any = run, arguments: Any = arguments) -> Any:
            return run, _copied(arguments)

        if entry.mode == "gradient":
            process = sample.output_process_fn_grad

            def differentiable(x: Any, args: Any, _run: Any = run, _process: Any = process) -> Any:
                return _process(_run(x, args))

            yield Case(partial(make, differentiable, arguments))
        else:
            yield Case(make, invariant)


def _applied(unique: Callable[..., Any], sample: Any, result: Any) -> Any:
    return unique(result, sample.input, sample.args, sample.kwargs)


def _module_cases(entry: Entry) -> Iterator[Case]:
    info = _database(entry.mode)[entry.name]
    dtype, training = getattr(torch, entry.dtype), entry.mode == "train"
    _seed()
    for sample in info.module_inputs_func(
        info, device="cpu", dtype=dtype, requires_grad=True, training=training
    ):
        if sample.forward_input is None:
            continue

        def make(sample: Any = sample) -> Any:
            _seed()
            built = sample.constructor_input
            module = info.module_cls(*built.args, **built.kwargs).to(dtype).train(training)
            forward = sample.forward_input
            args, kwargs = _copied((forward.args, forward.kwargs))

            def run(args: Any, kwargs: Any) -> Any:
                return module(*args, **kwargs)

            run.module = module  # type: ignore[attr-defined]
            return run, (args, kwargs)

        yield Case(make)


def _seed() -> None:
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002 - torch's databases draw from the global generators
    random.seed(0)


def _copied(arguments: Any) -> Any:
    """Copy the tensors of an argument tree, in their strides, as leaves of autograd."""

    def copy(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor) or leaf.layout is not torch.strided:
            return leaf
        expanded = any(s == 0 and n > 1 for n, s in zip(leaf.shape, leaf.stride(), strict=True))
        with torch.no_grad():
            if expanded or leaf.is_conj() or leaf.is_neg():
                fresh = leaf.clone()
            else:
                fresh = torch.empty_strided(leaf.shape, leaf.stride(), dtype=leaf.dtype)
                fresh.copy_(leaf)
        return fresh.requires_grad_(leaf.requires_grad)

    return pytree.tree_map(copy, arguments)


def _run_forward(case: Case, compiled: Callable[[Any], Any]) -> Any:
    run, arguments = case.make()
    _seed()
    with torch.no_grad():
        return case.invariant(compiled(run)(*arguments)), arguments


def _run_gradient(case: Case, compiled: Callable[[Any], Any]) -> Any:
    run, arguments = case.make()
    _seed()
    output = compiled(run)(*arguments)
    results = [x for x in pytree.tree_leaves(output) if isinstance(x, torch.Tensor)]
    differentiable = [x for x in results if x.requires_grad]
    module = getattr(run, "module", None)
    leaves = [x for x in pytree.tree_leaves(arguments) if isinstance(x, torch.Tensor)]
    leaves += list(module.parameters()) if module is not None else []
    leaves = [x for x in leaves if x.requires_grad and x.is_leaf]
    gradients: Any = ()
    if differentiable and leaves:
        generator = torch.Generator().manual_seed(1)
        directions = [
            torch.rand(x.shape, dtype=x.dtype, generator=generator)
            if x.is_floating_point() or x.is_complex()
            else torch.ones_like(x)
            for x in differentiable
        ]
        gradients = torch.autograd.grad(differentiable, leaves, directions, allow_unused=True)
    buffers = [x.detach() for x in module.buffers()] if module is not None else []
    detached = pytree.tree_map(
        lambda x: x.detach() if isinstance(x, torch.Tensor) else x, (output, buffers)
    )
    return detached, gradients


def _compare(case: Case, runner: Callable[..., Any], *, dynamic: bool) -> tuple[str, set[str], str]:
    """Return outcome, ops on fallback, and a text."""
    torch.compiler.reset()
    try:
        expected = runner(case, lambda run: run)
    except Exception:  # noqa: BLE001 - a sample that eager refuses has no right answer
        return "no samples", set(), ""
    reset_op_counts()

    def compiled(run: Any, backend: str = "numpy") -> Any:
        return torch.compile(run, backend=backend, fullgraph=True, dynamic=dynamic or None)

    try:
        actual = runner(case, compiled)
    except Exception as error:  # noqa: BLE001 - whatever was raised is the finding
        if not _captured(case, runner, compiled):
            return "not captured", set(), ""
        return "error", set(), _short(error)
    finally:
        fallback = set(get_op_counts().fallback)
    problem = _difference_between(actual, expected, runner)
    if problem:
        if not _deterministic(case, runner, expected):
            return "undetermined", fallback, ""
        if _torch_differs(case, runner, compiled, actual, expected):
            return "torch differs", fallback, problem
        return "mismatch", fallback, problem
    return ("fallback" if fallback else "native"), fallback, ""


def _captured(case: Case, runner: Callable[..., Any], compiled: Any) -> bool:
    torch.compiler.reset()
    try:
        runner(case, partial(compiled, backend="aot_eager_decomp_partition"))
    except Exception:  # noqa: BLE001 - torch captures it or it does not
        return False
    return True


def _torch_differs(
    case: Case, runner: Callable[..., Any], compiled: Any, actual: Any, expected: Any
) -> bool:
    """Whether torch's own kernels, run from the graph, give what we give and eager does not."""
    torch.compiler.reset()
    theirs = runner(case, partial(compiled, backend="aot_eager"))
    return bool(_difference_between(theirs, expected, runner)) and not _difference_between(
        actual, theirs, runner
    )


def _difference_between(actual: Any, expected: Any, runner: Callable[..., Any]) -> str:
    if runner is not _run_gradient:
        return _difference(actual, expected)
    # Torch promises no strides of gradients.
    return _difference(actual[0], expected[0]) or _difference(actual[1], expected[1], strides=False)


def _deterministic(case: Case, runner: Callable[..., Any], expected: Any) -> bool:
    """Whether eager mode gives the same once more."""
    return not _difference(runner(case, lambda run: run), expected)


def _short(error: BaseException) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    notes = getattr(error, "__notes__", [])
    return "\n".join([f"{type(error).__name__}: {lines[0] if lines else ''}", *lines[1:4], *notes])[
        :1000
    ]


def _difference(actual: Any, expected: Any, *, strides: bool = True) -> str:
    """Return what differs, or an empty string."""
    got, spec = pytree.tree_flatten(actual)
    want, promised = pytree.tree_flatten(expected)
    if spec != promised:
        return f"structure {spec} for {promised}"[:500]
    for number, (one, other) in enumerate(zip(got, want, strict=True)):
        try:
            torch.testing.assert_close(one, other, equal_nan=True)
        except AssertionError as error:
            return f"result {number}: {error}"[:500]
        except (TypeError, ValueError):
            if type(one) is not type(other):
                return f"result {number}: {type(one)} for {type(other)}"
        if strides and isinstance(one, torch.Tensor) and one.layout is torch.strided:
            have, promise = _strides(one), _strides(other)
            if have != promise:
                return f"result {number}: strides {have} for {promise}"
    return ""


def _strides(x: torch.Tensor) -> list[int]:
    """Strides of the dimensions where they matter."""
    if x.numel() == 0:
        return []
    return [step for size, step in zip(x.shape, x.stride(), strict=True) if size > 1]
