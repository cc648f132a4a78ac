"""What generated code raises is what torch raises, with the user's line in a note."""

import pytest
import torch
from torch.nn import functional

MISTAKES = {
    "cholesky": (torch.linalg.cholesky, (-torch.eye(2),)),
    "inv": (torch.linalg.inv, (torch.zeros(2, 2),)),
    "solve": (torch.linalg.solve, (torch.zeros(2, 2), torch.ones(2))),
    "index": (lambda x, i: x[i], (torch.arange(3), torch.tensor([7]))),
    "gather": (lambda x, i: x.gather(0, i), (torch.arange(3), torch.tensor([7]))),
    "scatter": (lambda x, i: x.scatter(0, i, 1), (torch.arange(3), torch.tensor([7]))),
    "embedding": (functional.embedding, (torch.tensor([9]), torch.randn(3, 2))),
    "floor_divide": (torch.floor_divide, (torch.tensor([1]), torch.tensor([0]))),
    "cross_entropy": (functional.cross_entropy, (torch.randn(2, 3), torch.tensor([1, 5]))),
    "multinomial": (lambda x: torch.multinomial(x, 1), (torch.tensor([-1.0, 2.0]),)),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_the_type_and_meaning_are_torchs(name):
    run, args = MISTAKES[name]
    with pytest.raises(Exception) as expected:  # noqa: PT011 - torch decides which
        run(*args)
    torch._dynamo.reset()

    def here(*args):
        return run(*args)

    with pytest.raises(expected.type) as actual:
        torch.compile(here, backend="numpy")(*args)
    assert type(actual.value) is expected.type
    assert str(actual.value).split(".")[0] == str(expected.value).split(".")[0]
    notes = "".join(actual.value.__notes__)
    assert "in aten." in notes
    assert "test_raised.py" in notes or "functional.py" in notes
