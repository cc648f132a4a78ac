"""Models as people have them: inference and a step of training agree with eager torch."""

from importlib.util import find_spec

import pytest
import torch
from torch.utils import _pytree as pytree

from dynreg_numpy import get_op_counts, reset_op_counts

from .catalog import MODELS

pytestmark = [
    pytest.mark.long,
    # What the libraries warn about is theirs.
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture(autouse=True)
def _fresh():
    torch._dynamo.reset()
    with torch._dynamo.config.patch(allow_rnn=True):
        yield


def built(name):
    build, library = MODELS[name]
    if library and find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    torch.manual_seed(0)
    return build()


def floats(output):
    plain = output.to_tuple() if hasattr(output, "to_tuple") else output
    leaves = pytree.tree_leaves(plain)
    return [x for x in leaves if isinstance(x, torch.Tensor) and x.is_floating_point()]


@pytest.mark.parametrize("name", MODELS)
def test_inference_agrees_without_fallback(name):
    model, args, kwargs = built(name)
    model.eval()
    reset_op_counts()
    with torch.no_grad():
        expected = floats(model(*args, **kwargs))
        actual = floats(torch.compile(model, backend="numpy")(*args, **kwargs))
    torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-4)
    counts = get_op_counts()
    assert counts.native
    assert counts.fallback == {}


@pytest.mark.parametrize("name", MODELS)
def test_a_step_of_training_agrees(name):
    losses, states = [], []
    for compiled in (False, True):
        model, args, kwargs = built(name)
        model.train()
        optimizer = torch.optim.SGD([x for x in model.parameters() if x.requires_grad], lr=0.01)
        run = torch.compile(model, backend="numpy") if compiled else model
        torch.manual_seed(1)
        loss = sum(x.square().mean() for x in floats(run(*args, **kwargs)))
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
        states.append([x.detach() for x in model.state_dict().values()])
    torch.testing.assert_close(losses[1], losses[0], rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(states[1], states[0], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("cache", ["growing", "static"])
def test_decoding_with_a_cache_agrees(cache):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    name = {"growing": "gpt2", "static": "llama"}[cache]
    model, (tokens,), _ = built(name)
    model.eval()
    reset_op_counts()
    results = []
    for run in (model, torch.compile(model, backend="numpy")):
        config = model.config
        kept = (
            transformers.DynamicCache(config=config)
            if cache == "growing"
            else transformers.StaticCache(config=config, max_cache_len=16)
        )
        step, logits, seen = tokens, [], 0
        with torch.no_grad():
            for _ in range(4):
                places = torch.arange(seen, seen + step.shape[1])
                out = run(step, past_key_values=kept, use_cache=True, cache_position=places)
                seen += step.shape[1]
                logits.append(out.logits[:, -1])
                step = logits[-1].argmax(-1, keepdim=True)
        results.append(torch.stack(logits))
    torch.testing.assert_close(results[1], results[0], rtol=1e-4, atol=1e-4)
    assert get_op_counts().fallback == {}
