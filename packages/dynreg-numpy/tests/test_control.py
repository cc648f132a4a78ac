"""Higher-order ops, random numbers, sizes that data decide, and custom ops."""

import pytest
import torch
from torch._higher_order_ops import associative_scan, scan, while_loop
from torch._higher_order_ops import map as map_over
from torch.utils.checkpoint import checkpoint

from dynreg_numpy import get_op_counts, reset_op_counts

X = torch.arange(12.0).reshape(4, 3) / 7

CONTROL = {
    "cond": lambda x: torch.cond(x.sum() > 0, lambda x: x.sin() + 1, lambda x: x.cos(), (x,)),
    "cond, the other branch": lambda x: torch.cond(
        x.sum() < 0, lambda x: (x.sin(), x.clone()), lambda x: (x.cos(), 2 * x), (x,)
    ),
    "while_loop": lambda x: while_loop(
        lambda i, _: i < 5, lambda i, y: (i + 1, y * 1.1), (torch.tensor(0), x)
    ),
    "scan": lambda x: scan(lambda c, y: (c + y, c * y), torch.zeros(3), x, dim=0),
    "associative_scan": lambda x: associative_scan(
        lambda a, b: a + b, x, dim=0, combine_mode="generic"
    ),
    "map": lambda x: map_over(lambda row: row.sin() * 2, x),
}


@pytest.fixture(autouse=True)
def _fresh():
    torch._dynamo.reset()
    reset_op_counts()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CONTROL)
def test_control_flow_agrees_without_fallback(name):
    run = CONTROL[name]
    actual = torch.compile(run, backend="numpy", fullgraph=True)(X)
    torch.testing.assert_close(actual, run(X))
    assert get_op_counts().fallback == {}


DATA_DEPENDENT = {
    "item": lambda x: x * x.sum().item(),
    "nonzero": lambda x: torch.nonzero(x > 0.5).sum(0),
    "masked_select": lambda x: x[x > 0.5] * 2,
    "repeat_interleave": lambda x: torch.repeat_interleave(x, torch.tensor([1, 2, 0, 3]), dim=0),
    "unique": lambda x: torch.unique(x.long()) + 1,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", DATA_DEPENDENT)
def test_sizes_that_data_decide_agree_without_fallback(name):
    run = DATA_DEPENDENT[name]
    with torch._dynamo.config.patch(
        capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True
    ):
        compiled = torch.compile(run, backend="numpy", fullgraph=True)
        for x in (X, X * 2):
            torch.testing.assert_close(compiled(x), run(x))
    assert get_op_counts().fallback == {}


def test_a_checkpoint_draws_the_same_numbers_again():
    weight = torch.randn(3, 3, requires_grad=True)

    def run(x):
        def inner(x):
            return torch.nn.functional.dropout(torch.tanh(x @ weight), 0.5).sum()

        return checkpoint(inner, x, use_reentrant=False)

    gradients = []
    for compiled in (run, torch.compile(run, backend="numpy")):
        torch.manual_seed(0)
        gradients += torch.autograd.grad(compiled(X), weight)
    torch.testing.assert_close(gradients[1], gradients[0])
    assert get_op_counts().fallback == {}


@pytest.mark.parametrize("seed", [0, 1])
def test_the_same_seed_gives_the_numbers_of_eager(seed):
    def run(x):
        noise = torch.randn_like(x) + torch.rand(4, 3)
        order = torch.randperm(3)
        return torch.nn.functional.dropout(x + noise, 0.4)[:, order], torch.randint(0, 9, (5,))

    torch.manual_seed(seed)
    expected = run(X), torch.rand(2)
    torch.manual_seed(seed)
    actual = torch.compile(run, backend="numpy", fullgraph=True)(X), torch.rand(2)
    torch.testing.assert_close(actual, expected)
    assert get_op_counts().fallback == {}


def test_a_custom_op_runs_in_torch_and_is_named():
    @torch.library.custom_op("dynreg_test::double", mutates_args=())
    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @double.register_fake
    def _(x):
        return torch.empty_like(x)

    compiled = torch.compile(lambda x: double(x) + 1, backend="numpy", fullgraph=True)
    torch.testing.assert_close(compiled(X), X * 2 + 1)
    assert get_op_counts().fallback == {"dynreg_test.double.default": 1}


def test_a_shape_sweep_compiles_at_most_twice():
    compiled = torch.compile(lambda x: torch.softmax(x @ x.mT, -1).sum(0), backend="numpy")
    for size in (2, 3, 5, 8, 13, 21, 34, 55):
        x = torch.randn(size, 4)
        torch.testing.assert_close(compiled(x), torch.softmax(x @ x.mT, -1).sum(0))
    assert get_op_counts().graphs <= 2
