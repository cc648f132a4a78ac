"""``eager_replay`` against plain eager mode, and what it may and may not reuse."""

import traceback
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional

from dynreg_core.errors import UnknownOptionError
from dynreg_eager.replay import ReplayedGraph, ReplayOptions

HERE = Path(__file__).name


@pytest.fixture(autouse=True)
def _fresh_dynamo():
    torch._dynamo.reset()
    torch.manual_seed(0)


def replayed(f, *inputs, dynamic=False, **options):
    """Compile and run a function; return its results and the graph."""
    graphs = []

    def backend(graph_module, example_inputs):
        graphs.append(ReplayedGraph(graph_module, ReplayOptions(**options)))
        return graphs[-1]

    results = torch.compile(f, backend=backend, fullgraph=True, dynamic=dynamic)(*inputs)
    return results, graphs[0]


class Everything(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(20, 16, padding_idx=0)
        self.conv = nn.Conv2d(1, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.1, batch_first=True)
        self.rows = nn.LayerNorm(16)

    def forward(self, tokens):
        x = self.rows(self.layer(self.words(tokens)))
        y = functional.max_pool2d(functional.relu(self.norm(self.conv(x[:, None]))), 2)
        y = functional.leaky_relu(functional.hardswish(y), 0.2, inplace=True)
        y = functional.dropout(functional.silu(y), 0.3, self.training)
        return functional.log_softmax(y.flatten(1), -1), x.softmax(-1)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_agrees_with_eager_bit_for_bit(dynamic, training):
    plain, model = Everything().train(training), Everything().train(training)
    model.load_state_dict(plain.state_dict())
    compiled = torch.compile(model, backend="eager_replay", dynamic=dynamic)
    for batch in (2, 5):
        tokens = torch.randint(20, (batch, 6))
        results = []
        for run in (plain, compiled):
            torch.manual_seed(1)
            with torch.set_grad_enabled(training):
                results.append(run(tokens))
        torch.testing.assert_close(results[1], results[0], rtol=0, atol=0)
        if training:
            for outputs in results:
                sum(x.square().sum() for x in outputs).backward()
    for one, other in zip(model.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=0, atol=0)
    for one, other in zip(model.buffers(), plain.buffers(), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_dying_value_is_overwritten(dynamic):
    def f(x, y):
        return torch.tanh((x * y + 1) - y).relu() * 2

    x, y = torch.randn(2, 4, 4)
    result, graph = replayed(f, x, y, dynamic=dynamic)
    assert torch.equal(result, f(x, y))
    for call in ("_iadd(mul, 1)", "_isub(add, ", "_tanh_(sub)", "tanh.relu_()"):
        assert call in graph.source
    result, graph = replayed(f, x, y, dynamic=dynamic, reuse=False)
    assert "_tanh_" not in graph.source


NOT_OVERWRITTEN = {
    "an input": lambda x: x.relu(),
    "read later": lambda x: (y := x * 2).relu() + y,
    "returned": lambda x: ((y := x * 2), y.relu()),
    "seen through a view": lambda x: (v := (y := x * 2).view(-1), y.relu())[1] + v.view(4, 4),
    "part of something larger": lambda x: (x * 2)[1:].relu(),
    "of another shape": lambda x: (x * 2).sum(0) + x,
    "of another dtype": lambda x: (x * 2).double().float() + x.double(),
    "expanded": lambda x: x.sum().expand(3).relu(),
    "used twice": lambda x: (y := x * 2) * y,
}


@pytest.mark.parametrize("case", NOT_OVERWRITTEN)
def test_what_is_needed_is_not_overwritten(case):
    f = NOT_OVERWRITTEN[case]
    x = torch.randn(4, 4)
    before = x.clone()
    result, graph = replayed(f, x)
    torch.testing.assert_close(result, f(before), rtol=0, atol=0)
    assert torch.equal(x, before)
    assert "relu_" not in graph.source
    assert "_imul(" not in graph.source


def test_keeps_mutation_aliasing_and_versions():
    def f(x, y):
        x.add_(1)
        view = y[1:]
        view.mul_(2)
        return view, x + y

    x, y = torch.zeros(3), torch.ones(3)
    versions = x._version, y._version
    view, total = torch.compile(f, backend="eager_replay")(x, y)
    assert x.tolist() == [1, 1, 1]
    assert y.tolist() == [1, 2, 2]
    assert view.data_ptr() == y[1:].data_ptr()
    assert view._base is y
    assert total.tolist() == [2, 3, 3]
    assert (x._version, y._version) > versions


def test_gradients_flow_through_part_of_a_graph():
    weight = torch.randn(4, 4, requires_grad=True)

    def f(x):
        with torch.no_grad():
            scale = x.abs().mean()
        return (x @ weight / scale).sum()

    x = torch.randn(2, 4)
    (expected,) = torch.autograd.grad(f(x), weight)
    result, graph = replayed(f, x)
    (actual,) = torch.autograd.grad(result, weight)
    assert torch.equal(actual, expected)
    assert not graph.inference


def test_an_exception_keeps_its_type_and_names_the_line():
    class Long(nn.Module):
        def forward(self, x, index):
            for _ in range(100):
                x = x + 1
            x = x.index_select(0, index)
            for _ in range(99):
                x = x * 1
            return x

    compiled = torch.compile(Long(), backend="eager_replay")
    with pytest.raises(IndexError) as caught:
        compiled(torch.zeros(3), torch.tensor([7]))
    (note,) = caught.value.__notes__
    assert "x.index_select(0, index)" in note
    assert HERE in note
    assert "argument 0: float32[3] strides [1] on cpu" in note
    assert "index_select(0, " in "".join(traceback.format_exception(caught.value))


def test_refuses_an_unknown_option():
    compiled = torch.compile(lambda x: x + 1, backend="eager_replay", options={"reuses": True})
    with pytest.raises(Exception, match="has no option 'reuses'") as caught:
        compiled(torch.ones(1))
    assert isinstance(caught.value.inner_exception, UnknownOptionError)
