"""A conformance suite for authors of backends: does a backend do what torch.compile promises?

Each case is a small program that is run in eager mode and through the backend. What it returns,
what it leaves in its inputs, its gradients, and which results share memory have to agree. The
cases are a table, :data:`CASES`; ``dynreg conform NAME`` runs it from the shell, and in a test::

    import pytest
    from dynreg_core.conformance import CASES, run_case

    @pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
    def test_conformance(case):
        result = run_case(case, "acme")
        assert result.passed, result.detail
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

__all__ = ["CASES", "Case", "Result", "run_case", "run_cases"]

Ability: TypeAlias = Literal["inference", "training", "dynamic"]

Program: TypeAlias = Callable[[Any], tuple[Callable[..., Any], tuple[Any, ...]]]
"""Takes torch; returns a function and its inputs, new ones at each call."""


@dataclass(frozen=True)
class Case:
    """One program.

    Attributes:
        name: What it is called.
        promise: What is promised, in one sentence.
        program: Makes the function and its inputs.
        needs: What the backend has to be able to do for the case to be fair.
        sizes: For dynamic shapes: sizes of the first dimension to call it with, one after the
            other; ``program`` is then a function of torch and the size.
    """

    name: str
    promise: str
    program: Callable[..., Any]
    needs: Ability = "inference"
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True)
class Result:
    """What came of one case.

    Attributes:
        case: Name of the case.
        outcome: ``passed``, ``failed``, or ``not applicable`` where the backend's manifest says
            that it cannot do what the case needs.
        detail: What differs, or what was raised; empty for a case that passed.
        seconds: How long it took, compilation included.
    """

    case: str
    outcome: Literal["passed", "failed", "not applicable"]
    detail: str = ""
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return self.outcome != "failed"


# --- the programs ------------------------------------------------------------------------------


def _pointwise(torch: Any) -> Any:
    return (lambda x, y: torch.tanh(x * y + 0.5) - y), (torch.randn(4, 3), torch.randn(3))


def _reductions(torch: Any) -> Any:
    return (lambda x: (x.sum(1), x.amax(0), x.softmax(-1))), (torch.randn(4, 5),)


def _linear(torch: Any) -> Any:
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    return model, (torch.randn(3, 4),)


def _containers(torch: Any) -> Any:
    return (lambda x, y: {"a": x + 1, "b": [y, (x * y,)]}), (torch.randn(3), torch.randn(3))


def _no_tensor_math(torch: Any) -> Any:
    return (lambda x: (x, x.shape[0], 3)), (torch.randn(3),)


def _strided(torch: Any) -> Any:
    x = torch.randn(6, 8)
    return (lambda a, b: (a + b, a @ b.T)), (x.t()[::2], x[:, 1::2].t())


def _views(torch: Any) -> Any:
    return (lambda x: (x.t(), x[1:], x.expand(2, 3, 4))), (torch.randn(3, 4),)


def _mutation(torch: Any) -> Any:
    def mutate(x: Any, y: Any) -> Any:
        x.add_(y)
        y[0] = 7
        return x * 2

    return mutate, (torch.randn(3), torch.randn(3))


def _aliased_inputs(torch: Any) -> Any:
    x = torch.randn(4)

    def mutate(a: Any, b: Any) -> Any:
        a.mul_(2)
        return b + 1

    return mutate, (x, x[:2])


def _equal_outputs(torch: Any) -> Any:
    return (lambda x: (x + 1, x + 1)), (torch.randn(3),)


def _shapes(torch: Any) -> Any:
    return (lambda x, y: (x * 2, y + 1, x.sum())), (torch.randn(0, 3), torch.tensor(1.5))


def _dtypes(torch: Any) -> Any:
    inputs = [torch.tensor([1, 2, 3]).to(d) for d in (torch.int64, torch.bfloat16, torch.bool)]

    def promote(i: Any, b: Any, c: Any) -> Any:
        return i + b, i / 2, c & (i > 1), b.to(torch.float64) * 3, i // 2

    return promote, tuple(inputs)


def _buffers(torch: Any) -> Any:
    return torch.nn.BatchNorm1d(3), (torch.randn(4, 3),)


def _no_grad(torch: Any) -> Any:
    def without(x: Any) -> Any:
        with torch.no_grad():
            y = x * 2
        return x + y

    return without, (torch.randn(3, requires_grad=True),)


def _training(torch: Any) -> Any:
    model, inputs = _linear(torch)
    return model, (inputs[0].requires_grad_(),)


def _training_convolution(torch: Any) -> Any:
    model = torch.nn.Sequential(
        torch.nn.Conv2d(2, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.MaxPool2d(2)
    )
    return model, (torch.randn(2, 2, 8, 8),)


def _training_partial(torch: Any) -> Any:
    x, y = torch.randn(3, requires_grad=True), torch.randn(3)
    return (lambda a, b: (a * b, b.sin())), (x, y)


def _two_sizes(torch: Any, size: int) -> Any:
    return (lambda x: (x.reshape(-1) * x.shape[0], x.mean(0))), (torch.randn(size, 3),)


CASES = (
    Case("pointwise", "a chain of pointwise ops agrees, with broadcasting", _pointwise),
    Case("reductions", "reductions and softmax agree", _reductions),
    Case("linear", "a module with parameters agrees", _linear),
    Case("containers", "dicts, lists and tuples are returned as they are", _containers),
    Case("plain-values", "inputs and numbers are returned as they are", _no_tensor_math),
    Case("strided-inputs", "inputs with any strides and offsets agree", _strided),
    Case("views", "views of inputs share memory with them, as in eager", _views),
    Case("mutation", "in-place changes of inputs are seen by the caller", _mutation),
    Case("aliased-inputs", "a change through one input is seen through another", _aliased_inputs),
    Case("equal-outputs", "outputs that are equal do not share memory", _equal_outputs),
    Case("empty-and-0d", "empty tensors and tensors without dimensions agree", _shapes),
    Case("dtypes", "types are promoted as torch does", _dtypes),
    Case("buffers", "buffers of modules are updated", _buffers),
    Case("no-grad", "parts without gradients agree", _no_grad, "training"),
    Case("training", "gradients of parameters and inputs agree", _training, "training"),
    Case("convolution", "a convolutional block trains", _training_convolution, "training"),
    Case(
        "partial-gradients", "only what requires a gradient has one", _training_partial, "training"
    ),
    Case("dynamic", "one function takes several sizes", _two_sizes, "dynamic", (3, 5, 8)),
)
"""Every case, in the order in which they are run."""


# --- running -----------------------------------------------------------------------------------


def run_cases(backend: str, *, options: Mapping[str, Any] | None = None) -> Iterator[Result]:
    """Run every case against a backend.

    Args:
        backend: Name of the backend, as ``lookup_backend`` takes it.
        options: Options of the backend.

    Yields:
        The result of each case, as it is known.

    Raises:
        DynregError: The name does not stand for a backend that can be loaded.
    """
    from dynreg_core import lookup_backend

    lookup_backend(backend)
    for case in CASES:
        yield run_case(case, backend, options=options)


def run_case(case: Case, backend: str, *, options: Mapping[str, Any] | None = None) -> Result:
    """Run one case against a backend.

    Args:
        case: The case.
        backend: Name of the backend, as ``lookup_backend`` takes it.
        options: Options of the backend.
    """
    from dynreg_core import get_backend_info

    manifest = get_backend_info(backend).manifest
    if manifest is not None and getattr(manifest, case.needs) is False:
        return Result(case.name, "not applicable", f"its manifest says that {case.needs} is false")
    start = time.perf_counter()
    try:
        detail = _compare(case, backend, dict(options) if options else None)
    except Exception as error:  # noqa: BLE001 - whatever a backend raises is what is reported
        detail = f"{type(error).__name__}: {error}"
    outcome: Literal["passed", "failed"] = "failed" if detail else "passed"
    return Result(case.name, outcome, detail.strip(), time.perf_counter() - start)


def _compare(case: Case, backend: str, options: dict[str, Any] | None) -> str:
    """Return what differs, or an empty string."""
    import torch

    torch._dynamo.reset()  # noqa: SLF001 - what torch documents for starting over
    compiled: Any = None
    with torch.random.fork_rng(devices=[]):
        for size in case.sizes or (None,):
            plain, inputs = _make(torch, case, size)
            function, same_inputs = _make(torch, case, size)
            if compiled is None:
                from dynreg_core import lookup_backend

                compiled = torch.compile(
                    function,
                    backend=lookup_backend(backend),
                    dynamic=True if case.sizes else None,
                    options=options,
                )
            results = _outcome(torch, plain, plain, inputs, case.needs)
            found = _outcome(torch, compiled, function, same_inputs, case.needs)
            for (what, expected), (_, actual) in zip(results, found, strict=True):
                difference = _difference(torch, actual, expected)
                if difference:
                    return f"{what} differs: {difference}"
    return ""


def _difference(torch: Any, actual: Any, expected: Any) -> str:
    if not isinstance(expected, torch.Tensor) or not isinstance(actual, torch.Tensor):
        return "" if actual == expected else f"{actual!r} where eager has {expected!r}"
    try:
        torch.testing.assert_close(actual, expected, equal_nan=True)
    except AssertionError as error:
        return str(error)
    return ""


def _make(torch: Any, case: Case, size: int | None) -> Any:
    torch.manual_seed(0)
    return case.program(torch) if size is None else case.program(torch, size)


def _outcome(
    torch: Any, run: Any, function: Any, inputs: tuple[Any, ...], needs: Ability
) -> list[tuple[str, Any]]:
    """Run a function, and return everything that can be seen of it, each with its name."""
    from torch.utils._pytree import tree_flatten

    with torch.set_grad_enabled(needs == "training"):
        outputs = run(*inputs)
    flat, structure = tree_flatten(outputs)
    told: list[tuple[str, Any]] = [("the structure of the outputs", str(structure))]
    told += [(f"output {i}", _detached(torch, value)) for i, value in enumerate(flat)]
    told += [(f"input {i} after the call", _detached(torch, x)) for i, x in enumerate(inputs)]
    told.append(("which results share memory", _sharing(torch, [*inputs, *flat])))
    if needs == "training":
        differentiable = [v for v in flat if isinstance(v, torch.Tensor) and v.requires_grad]
        torch.autograd.backward([value.square().mean() for value in differentiable])
        told += [(f"gradient of input {i}", x.grad) for i, x in enumerate(inputs)]
    if isinstance(function, torch.nn.Module):
        told += [(f"buffer {n}", value.clone()) for n, value in function.named_buffers()]
        told += [(f"gradient of {n}", value.grad) for n, value in function.named_parameters()]
    return told


def _detached(torch: Any, value: Any) -> Any:
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def _sharing(torch: Any, values: list[Any]) -> list[tuple[int, int]]:
    """Return the pairs of values, by number, that lie in the same memory."""
    storages = [
        (number, value.untyped_storage().data_ptr())
        for number, value in enumerate(values)
        if isinstance(value, torch.Tensor) and value.untyped_storage().nbytes()
    ]
    return [(i, j) for i, a in storages for j, b in storages if i < j and a == b]
