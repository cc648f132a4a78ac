"""``debug_compare`` on backends that are right, and on backends that are wrong on purpose."""

import pytest
import torch
from torch import nn

import dynreg_debug
from dynreg_core import errors, register_backend, using
from dynreg_debug import DifferenceError, DifferenceWarning, collected_differences


@pytest.fixture(autouse=True)
def _fresh():
    torch._dynamo.reset()
    collected_differences(clear=True)
    with using():
        yield


class Wrong:
    """A backend that runs eager, with one function replaced by another in its graph."""

    def __init__(self, right, wrong):
        self.right, self.wrong = right, wrong

    def __call__(self, graph_module, example_inputs):
        for node in graph_module.graph.nodes:
            if node.target == self.right:
                node.target = self.wrong
        graph_module.recompile()
        return graph_module.forward


def slightly_wrong_sin(x):
    return torch.sin(x) * 1.01


def program(x):
    y = x * 2
    z = torch.sin(y)
    return torch.cos(z) + 1


def compare(f, **options):
    return torch.compile(f, backend="debug_compare", options=options)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("dynamic", [False, True])
def test_a_right_backend_passes_and_its_results_are_returned(backend, dynamic):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
    twin = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
    twin.load_state_dict(model.state_dict())
    compiled = torch.compile(
        model, backend="debug_compare", dynamic=dynamic, options={"backend": backend}
    )
    for batch in (3, 5):
        x = torch.randn(batch, 4)
        compiled(x).sum().backward()
        twin(x).sum().backward()
    for one, other in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad)
    for one, other in zip(model.buffers(), twin.buffers(), strict=True):
        torch.testing.assert_close(one, other)


def test_dropout_is_compared_from_one_random_state():
    compiled = compare(lambda x: nn.functional.dropout(x, 0.5), backend="eager")
    torch.manual_seed(3)
    expected = nn.functional.dropout(torch.ones(100), 0.5)
    after = torch.rand(1)
    torch.manual_seed(3)
    torch.testing.assert_close(compiled(torch.ones(100)), expected, rtol=0, atol=0)
    assert torch.rand(1) == after


def test_names_the_first_differing_node_and_its_line():
    register_backend(Wrong(torch.sin, slightly_wrong_sin), name="wrong")
    with pytest.raises(DifferenceError) as caught:
        compare(program, backend="wrong")(torch.ones(4))
    found = caught.value.difference
    assert (found.backend, found.kind, found.index) == ("wrong", "output", 0)
    assert found.node == "z"
    assert "z = torch.sin(y)" in found.source
    assert "hint: " in str(caught.value)


def wrong_gradient(x):
    """Right in the forward pass, wrong in the backward pass."""
    return torch.sin(x) + (x - x.detach()) * 0.1


def test_finds_a_wrong_gradient():
    register_backend(Wrong(torch.sin, wrong_gradient), name="wrong")
    x = torch.ones(4, requires_grad=True)
    out = compare(program, backend="wrong")(x)
    with pytest.raises(DifferenceError) as caught:
        out.sum().backward()
    found = caught.value.difference
    assert found.kind == "gradient"
    assert found.node == "z"  # the value whose gradient is wrong is y, which z's backward gives
    assert "z = torch.sin(y)" in found.source


def test_finds_a_dropped_mutation():
    def f(x):
        x.add_(1)
        return x.shape[0] * torch.ones(1)

    class Dropped:
        def __call__(self, graph_module, example_inputs):
            def run(*inputs):
                copies = [i.clone() if isinstance(i, torch.Tensor) else i for i in inputs]
                return graph_module(*copies)

            return run

    register_backend(Dropped(), name="dropped")
    with pytest.raises(DifferenceError, match="input mutation 0"):
        compare(f, backend="dropped")(torch.ones(2))


def test_warns_and_goes_on():
    register_backend(Wrong(torch.sin, slightly_wrong_sin), name="wrong")
    with pytest.warns(DifferenceWarning, match="first differing node is z"):
        compare(program, backend="wrong", on_difference="warn")(torch.ones(4))


def test_collects():
    register_backend(Wrong(torch.sin, slightly_wrong_sin), name="wrong")
    compare(program, backend="wrong", on_difference="collect")(torch.ones(4))
    (found,) = collected_differences(clear=True)
    assert found.node == "z"
    assert collected_differences() == ()


def test_tolerances_can_be_widened():
    register_backend(Wrong(torch.sin, slightly_wrong_sin), name="wrong")
    compare(program, backend="wrong", rtol=0.1, atol=0.1)(torch.ones(4))


def test_user_tensors_and_random_state_are_left_alone():
    x = torch.randn(4)
    before, state = x.clone(), torch.get_rng_state()
    register_backend(Wrong(torch.sin, slightly_wrong_sin), name="wrong")
    compare(program, backend="wrong", on_difference="collect")(x)
    assert torch.equal(x, before)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"backend": "nothing_of_this_name"}, errors.UnknownBackendError),
        ({"on_difference": "shout"}, errors.OptionValueError),
        ({"rtol": 0.1}, errors.BackendOptionError),
    ],
)
def test_bad_options_are_refused(options, error):
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed) as caught:
        compare(program, **options)(torch.ones(1))
    assert isinstance(caught.value.inner_exception, error)


def test_the_package_exports_what_it_says():
    for name in dynreg_debug.__all__:
        assert getattr(dynreg_debug, name) is not None
    assert set(dynreg_debug.__all__) <= set(dir(dynreg_debug))
    with pytest.raises(AttributeError):
        dynreg_debug.nothing  # noqa: B018 - the access is what is tested
