"""``eager_interpret`` against plain eager mode."""

import traceback
from pathlib import Path

import pytest
import torch
from torch import nn

import dynreg_eager
from dynreg_core.errors import UnknownOptionError

HERE = Path(__file__).name


@pytest.fixture(autouse=True)
def _fresh_dynamo():
    torch._dynamo.reset()


def model():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3)
    )


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_agrees_with_eager_bit_for_bit(dynamic, training):
    plain, compiled_model = model().train(training), model().train(training)
    compiled = torch.compile(compiled_model, backend="eager_interpret", dynamic=dynamic)
    for batch in (2, 5):
        x = torch.randn(batch, 1, 8, 8)
        expected, actual = plain(x), compiled(x)
        torch.testing.assert_close(actual, expected, rtol=0, atol=0)
        expected.square().sum().backward()
        actual.square().sum().backward()
    for one, other in zip(compiled_model.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=0, atol=0)
    for one, other in zip(compiled_model.buffers(), plain.buffers(), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)


def test_keeps_mutation_and_aliasing():
    def f(x, y):
        x.add_(1)
        view = y[1:]
        view.mul_(2)
        return view, x + y

    x, y = torch.zeros(3), torch.ones(3)
    view, total = torch.compile(f, backend="eager_interpret")(x, y)
    assert x.tolist() == [1, 1, 1]
    assert y.tolist() == [1, 2, 2]
    assert view.data_ptr() == y[1:].data_ptr()
    assert total.tolist() == [2, 3, 3]


def test_an_exception_keeps_its_type_and_names_the_line():
    def f(x, index):
        y = x * 2
        return y[index]  # the guilty line

    compiled = torch.compile(f, backend="eager_interpret")
    with pytest.raises(IndexError) as caught:
        compiled(torch.zeros(3), torch.tensor([7]))
    text = "".join(traceback.format_exception(caught.value))
    assert "while running node getitem = _operator.getitem" in text
    assert "argument 0: float32[3] strides [1] on cpu" in text
    assert "y[index]" in "\n".join(caught.value.__notes__)
    assert HERE in "\n".join(caught.value.__notes__)


def test_an_exception_in_the_middle_of_a_long_model_names_its_line():
    class Long(nn.Module):
        def forward(self, x, index):
            for _ in range(100):
                x = x + 1
            x = x.index_select(0, index)
            for _ in range(99):
                x = x * 1
            return x

    compiled = torch.compile(Long(), backend="eager_interpret")
    with pytest.raises(IndexError) as caught:
        compiled(torch.zeros(3), torch.tensor([7]))
    (note,) = caught.value.__notes__
    assert "x.index_select(0, index)" in note


def test_the_hook_sees_every_node():
    seen = []

    def hook(node, value):
        seen.append((node.name, tuple(value.shape)))

    compiled = torch.compile(
        lambda x: (x @ x).relu(), backend="eager_interpret", options={"hook": hook}
    )
    compiled(torch.ones(2, 2))
    assert [shape for _, shape in seen] == [(2, 2), (2, 2)]


def test_values_are_freed_as_they_die():
    import weakref

    alive = []

    def hook(node, value):
        alive.append(sum(ref() is not None for ref in refs))
        refs.append(weakref.ref(value))

    refs = []
    compiled = torch.compile(
        lambda x: x.sin().cos().tan().exp(), backend="eager_interpret", options={"hook": hook}
    )
    with torch.no_grad():
        compiled(torch.ones(2))
    assert max(alive) == 1


def test_refuses_an_unknown_option():
    compiled = torch.compile(lambda x: x + 1, backend="eager_interpret", options={"hooks": None})
    with pytest.raises(Exception, match="has no option 'hooks'") as caught:
        compiled(torch.ones(1))
    assert isinstance(caught.value.inner_exception, UnknownOptionError)


def test_the_package_exports_what_it_says():
    assert sorted(set(dir(dynreg_eager)) & set(dynreg_eager.__all__)) == dynreg_eager.__all__
    for name in dynreg_eager.__all__:
        assert getattr(dynreg_eager, name) is not None
    with pytest.raises(AttributeError):
        dynreg_eager.nothing  # noqa: B018 - the access is what is tested
