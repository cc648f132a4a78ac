"""No input is written but by torch's order, and no output shares memory that torch's would not."""

import itertools
import random

import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

from dynreg_numpy import _compile

OPS = {f"{op.name}.{op.variant_test_name}".rstrip("."): op for op in op_db}
CHOSEN = set(random.Random(1).sample(sorted(OPS), 50))  # noqa: S311 - a sample of tests


@pytest.fixture
def read_only(monkeypatch):
    """Give generated code arrays that cannot be written."""
    convert = _compile.to_array

    def frozen(tensor):
        array = convert(tensor).view()
        array.flags.writeable = False
        return array

    monkeypatch.setattr(_compile, "to_array", frozen)


def storages(tree):
    leaves = [x for x in pytree.tree_leaves(tree) if isinstance(x, torch.Tensor)]
    dense = [x for x in leaves if x.layout is torch.strided and x.numel()]
    return [x.untyped_storage().data_ptr() for x in dense]


def check(op):
    for sample in itertools.islice(op.sample_inputs("cpu", torch.float32), 2):

        def run(x, args, _kwargs=sample.kwargs):
            return op.op(x, *args, **_kwargs)

        inputs = storages((sample.input, sample.args))
        torch._dynamo.reset()
        torch.manual_seed(0)
        try:
            expected = run(sample.input, sample.args)
            torch.compile(run, backend="aot_eager", fullgraph=True)(sample.input, sample.args)
        except Exception:  # noqa: BLE001, S112 - what torch itself refuses or cannot capture
            continue
        torch._dynamo.reset()
        torch.manual_seed(0)
        actual = torch.compile(run, backend="numpy", fullgraph=True)(sample.input, sample.args)
        ours, torchs = storages(actual), storages(expected)
        assert len(ours) == len(torchs)
        for pointer, reference in zip(ours, torchs, strict=True):
            assert pointer not in inputs or reference in inputs
        for (i, one), (j, other) in itertools.combinations(enumerate(ours), 2):
            assert one != other or torchs[i] == torchs[j]


def parameters(names):
    return [pytest.param(OPS[name], id=name) for name in sorted(names)]


@pytest.mark.usefixtures("read_only")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("op", parameters(CHOSEN))
def test_a_sample_of_ops_leaves_memory_alone(op):
    with torch.no_grad():
        check(op)


@pytest.mark.long
@pytest.mark.usefixtures("read_only")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("op", parameters(OPS.keys() - CHOSEN))
def test_every_other_op_leaves_memory_alone(op):
    with torch.no_grad():
        check(op)
