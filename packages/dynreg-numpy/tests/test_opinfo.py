"""The numpy backend over torch's own OpInfo database, float32, inference, static shapes.

A seeded sample of the ops runs here; all of them under the marker ``long``. What Dynamo does not
capture as a whole graph is no matter of the backend, and is not counted.
"""

import random

import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db

SAMPLES = 2
OPS = sorted({f"{op.name}.{op.variant_test_name}".rstrip("."): op for op in op_db}.items())
CHOSEN = set(random.Random(0).sample([name for name, _ in OPS], 60))  # noqa: S311 - a sample of tests

#: Results that are not unique, or that are read from memory that nobody has written.
UNDETERMINED = {
    "empty": "its values are whatever the memory holds",
    "empty_like": "likewise",
    "empty_permuted": "likewise",
    "empty_strided": "likewise",
    "new_empty": "likewise",
    "new_empty_strided": "likewise",
}

#: What is wrong today, each with its reason. An entry that passes fails the run.
KNOWN = {
    "chalf": "NumPy has no complex numbers of 16-bit floats",
    "tensor_split": "sizes read from a tensor of indices are used under names that nothing binds",
}


def check(op):
    """Compare the first samples of an op; return how many of them Dynamo captured."""
    captured = 0
    device = "cpu"
    for number, sample in enumerate(op.sample_inputs(device, torch.float32)):
        if number == SAMPLES:
            break

        def run(x, *args, _kwargs=sample.kwargs, **kwargs):
            return op.op(x, *args, **_kwargs)

        torch._dynamo.reset()
        torch.manual_seed(0)
        try:
            expected = run(sample.input, *sample.args)
        except Exception:  # noqa: BLE001, S112 - a sample that eager refuses has no right answer
            continue
        try:
            torch.compile(run, backend="aot_eager", fullgraph=True)(sample.input, *sample.args)
        except Exception:  # noqa: BLE001, S112 - what torch itself cannot capture has no graph
            continue
        torch._dynamo.reset()
        torch.manual_seed(0)
        actual = torch.compile(run, backend="numpy", fullgraph=True)(sample.input, *sample.args)
        captured += 1
        torch.testing.assert_close(actual, expected, equal_nan=True)
    return captured


def parameters(names):
    return [
        pytest.param(
            op,
            id=name,
            marks=[pytest.mark.xfail(reason=KNOWN[name])] if name in KNOWN else [],
        )
        for name, op in OPS
        if name in names and name not in UNDETERMINED
    ]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("op", parameters(CHOSEN))
def test_a_sample_of_ops_agrees(op):
    with torch.no_grad():
        check(op)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("op", parameters({name for name, _ in OPS} - CHOSEN))
def test_every_other_op_agrees(op):
    with torch.no_grad():
        check(op)
