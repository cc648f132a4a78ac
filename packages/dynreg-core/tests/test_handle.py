"""Handles: one value, however often it is built, copied or sent elsewhere."""
# ruff: noqa: S301 - what is unpickled was pickled here

import copy
import functools
import multiprocessing
import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynreg_core import BackendHandle
from dynreg_core._handle import equal_values
from dynreg_core.errors import (
    ArgumentValueError,
    BackendSignatureError,
    IgnoredOptionWarning,
    OptionTypeError,
    UnknownBackendError,
    UnknownOptionError,
)


@dataclass(frozen=True)
class Options:
    """Options of a sample backend."""

    threads: int = 0
    table: dict | None = None


@pytest.fixture
def calls():
    return []


@pytest.fixture
def sample(registry, calls):
    """A registry with a backend that records what it was called with."""

    @registry.register_backend(name="sample", options=Options)
    def compile_graph(gm, example_inputs, *, mode=None, options=None):
        calls.append((gm, example_inputs, mode, options))
        return gm

    @registry.register_backend(name="plain")
    def plain(gm, example_inputs):
        return gm

    @registry.register_backend(name="loose")
    def loose(gm, example_inputs, **keywords):
        calls.append(keywords)
        return gm

    return registry


def test_handles_of_the_same_are_equal_and_hash_equal(sample):
    a = sample.backend("sample", mode="fast", threads=4)
    b = sample.backend("sample", mode="fast", threads=4)
    assert a == b
    assert hash(a) == hash(b)
    assert len({a, b}) == 1


def test_handles_of_something_else_differ(sample):
    a = sample.backend("sample", threads=4)
    others = [
        sample.backend("sample"),
        sample.backend("sample", threads=5),
        sample.backend("sample", mode="fast", threads=4),
        sample.backend("sample", threads=4, on_unknown_option="warn"),
        sample.backend("plain"),
        "sample",
    ]
    assert all(a != other for other in others)


def test_a_handle_of_a_replaced_backend_differs(sample):
    before = sample.backend("plain")
    sample.register_backend(lambda gm, example_inputs: gm, name="plain", replace=True)
    assert sample.backend("plain") != before  # torch must not reuse what the old one compiled


def test_a_handle_of_an_alias_is_that_of_the_backend(sample):
    sample.register_alias("other", "sample")
    assert sample.backend("other") == sample.backend("sample")
    assert sample.backend("other").name == "sample"


def test_a_handle_has_the_name_by_which_torch_calls_a_backend(sample):
    handle = sample.backend("sample", mode="fast", threads=4)
    assert handle.__name__ == handle.name == "sample"
    assert (handle.mode, handle.options) == ("fast", {"threads": 4})
    assert repr(handle) == "backend('sample', mode='fast', threads=4)"
    assert repr(sample.backend("plain")) == "backend('plain')"


def test_copies_are_the_handle_itself(sample):
    handle = sample.backend("sample", table={"a": [1]})
    assert copy.copy(handle) is handle
    assert copy.deepcopy({"backend": [handle]})["backend"][0] is handle


def test_what_is_passed_to_torch_compile_reaches_the_backend_typed(sample, calls):
    handle = sample.backend("sample", mode="fast", threads=4)
    assert handle("graph", ["input"]) == "graph"
    assert calls == [("graph", ["input"], "fast", {"threads": 4})]


def test_what_a_call_passes_wins_over_the_handle_option_by_option(sample, calls):
    handle = sample.backend("sample", mode="fast", threads=4, table={})
    handle("graph", [], mode="slow", options={"threads": 5})
    assert calls[0][2:] == ("slow", {"threads": 5, "table": {}})
    handle("graph", [])
    assert calls[1][2:] == ("fast", {"threads": 4, "table": {}})  # and nothing stays of it


def test_a_backend_without_options_is_called_without_them(sample, calls):
    sample.backend("plain")("graph", [])
    sample.backend("loose")("graph", [])
    assert calls == [{}]


def test_the_dicts_of_the_caller_and_of_the_handle_are_not_changed(registry):
    @registry.register_backend(name="vandal")
    def vandal(gm, example_inputs, *, options=None):
        options.clear()
        return gm

    mine = {"a": 1}
    handle = registry.backend("vandal", **mine)
    passed = {"b": 2}
    handle("graph", [], options=passed)
    handle.options.clear()
    assert (mine, passed, handle.options) == ({"a": 1}, {"b": 2}, {"a": 1})


def test_options_are_checked_when_the_name_is_resolved(sample):
    with pytest.raises(UnknownOptionError, match="did you mean 'threads'"):
        sample.backend("sample", thread=4)
    with pytest.raises(OptionTypeError, match="must be int, not str '4'"):
        sample.backend("sample", threads="4")


def test_options_are_checked_when_torch_calls(sample, calls):
    handle = sample.backend("sample")
    with pytest.raises(UnknownOptionError):
        handle("graph", [], options={"thread": 4})
    assert calls == []


def test_a_backend_that_takes_no_mode_is_refused_when_the_name_is_resolved(sample):
    with pytest.raises(BackendSignatureError) as caught:
        sample.backend("plain", mode="max-autotune")
    assert caught.value.sentence == (
        f"backend 'plain' takes no mode: {__name__}:sample.<locals>.plain has no parameter 'mode'"
    )
    with pytest.raises(BackendSignatureError, match="takes no options"):
        sample.backend("plain", level=3)
    with pytest.raises(BackendSignatureError, match="takes no mode"):
        sample.backend("plain")("graph", [], mode="max-autotune")


def test_foreign_options_warn_once_and_are_left_out_when_asked_to(sample, calls):
    with pytest.warns(IgnoredOptionWarning, match="no option 'triton'") as caught:
        handle = sample.backend("sample", threads=4, triton=True, on_unknown_option="warn")
    assert len(caught) == 1
    handle("graph", [])
    handle("graph", [])
    assert calls[1][3] == {"threads": 4}
    assert handle.options == {"threads": 4}


def test_what_happens_to_unknown_options_is_one_of_two_things(sample):
    with pytest.raises(ArgumentValueError, match="on_unknown_option 'ignore' is no choice"):
        sample.backend("sample", on_unknown_option="ignore")


def test_what_torch_asks_a_backend_for_is_forwarded(registry):
    class Backend:
        resets = 0

        def __call__(self, gm, example_inputs):
            return gm

        def reset(self):
            Backend.resets += 1

        def get_compiler_config(self):
            return {"a": 1}

        backend_ctx_ctor = dict

    registry.register_backend(Backend(), name="full")
    registry.register_backend(print, name="bare")
    full, bare = registry.backend("full"), registry.backend("bare")
    full.reset()
    assert (Backend.resets, full.get_compiler_config(), full.backend_ctx_ctor()) == (
        1,
        {"a": 1},
        {},
    )
    for name in ("reset", "get_compiler_config", "backend_ctx_ctor", "anything"):
        assert not hasattr(bare, name)  # torch looks whether they are there


# --- pickling ----------------------------------------------------------------------------------

SPAWNED_BACKEND = """
def compile_graph(gm, example_inputs, *, mode=None, options=None):
    return mode, options
"""


def call_in_another_process(pickled, folder, connection):
    import sys

    sys.path.insert(0, folder)
    handle = pickle.loads(pickled)
    before = "handle_plugin" in sys.modules
    connection.send((handle("graph", []), before, pickle.dumps(handle)))


def test_a_handle_is_pickled_by_name_into_a_spawned_process(site, monkeypatch):
    from dynreg_core import _default, refresh

    site.module("handle_plugin", SPAWNED_BACKEND)
    site.distribution("handle-plugin", backends={"pickled": "handle_plugin:compile_graph"})
    monkeypatch.setattr(_default.registry._lookup, "_last", None)
    refresh()
    handle = _default.backend("pickled", mode="fast", level=3)
    assert b"compile_graph" not in pickle.dumps(handle)
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(
        target=call_in_another_process, args=(pickle.dumps(handle), str(site.folder), there)
    )
    process.start()
    answer, loaded_by_unpickling, back = here.recv()
    process.join()
    assert answer == ("fast", {"level": 3})
    assert not loaded_by_unpickling
    returned = pickle.loads(back)
    assert returned == handle
    assert handle == returned
    assert hash(returned) == hash(handle)
    assert returned.compiler_fn is handle.compiler_fn
    assert returned == handle
    monkeypatch.undo()
    refresh()


def test_a_handle_of_a_name_that_the_other_process_lacks_says_so_when_used():
    handle = BackendHandle("only-there", options={"a": 1})
    same = pickle.loads(pickle.dumps(handle))
    assert same == handle
    with pytest.raises(UnknownBackendError, match="no backend is named 'only-there'"):
        same("graph", [])


# --- comparing options -------------------------------------------------------------------------


def arrays():
    return [
        np.arange(3),
        np.arange(3.0),
        np.arange(4),
        np.zeros((2, 2)),
        np.array([], dtype=np.int64),
    ]


def test_arrays_are_compared_by_content():
    for i, a in enumerate(arrays()):
        for j, b in enumerate(arrays()):
            assert equal_values(a, b) is (i == j)
            assert equal_values({"x": [a]}, {"x": [b]}) is (i == j)


def test_tensors_are_compared_by_content(sample):
    torch = pytest.importorskip("torch")
    a, b = torch.arange(3), torch.arange(3)
    assert equal_values(a, b)
    assert not equal_values(a, torch.arange(3, 6))
    assert not equal_values(a, torch.arange(3, dtype=torch.float32))
    assert not equal_values(a, torch.empty(3, dtype=torch.int64, device="meta"))
    handles = [sample.backend("loose", weights=torch.arange(3)) for _ in range(2)]
    assert handles[0] == handles[1]
    assert hash(handles[0]) == hash(handles[1])
    assert handles[0] != sample.backend("loose", weights=torch.ones(3))


def test_values_that_refuse_to_be_compared_are_different():
    class Prickly:
        def __eq__(self, other):
            raise RuntimeError

        __hash__ = None

    value = Prickly()
    assert equal_values(value, value)
    assert not equal_values(value, Prickly())


options = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-2, 2), st.sampled_from([0.0, 1.0, "", "a"])),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.lists(inner, max_size=2).map(tuple)
        | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    ),
    max_leaves=4,
)


@given(options, options)
def test_values_are_equal_if_they_print_alike(a, b):
    def text(value):
        if isinstance(value, dict):
            return repr(sorted((key, text(item)) for key, item in value.items()))
        if isinstance(value, (list, tuple)):
            return f"{type(value).__name__}{[text(item) for item in value]}"
        return repr(value)

    assert equal_values(a, copy.deepcopy(a))
    assert equal_values(a, b) is (text(a) == text(b))


# --- torch.compile -----------------------------------------------------------------------------


def test_three_compilations_with_the_same_backend_compile_once(registry):
    torch = pytest.importorskip("torch")
    compiled = []

    @registry.register_backend(name="counting")
    def counting(gm, example_inputs, *, options=None):
        compiled.append(options)
        return gm.forward

    def double(x):
        return x + x

    torch._dynamo.reset()
    for _ in range(3):
        handle = registry.backend("counting", level=3, weights=torch.arange(3))
        result = torch.compile(double, backend=handle)(torch.ones(3))
        assert torch.equal(result, torch.full((3,), 2.0))
    assert len(compiled) == 1
    torch.compile(double, backend=registry.backend("counting", level=4))(torch.ones(3))
    assert [options["level"] for options in compiled] == [3, 4]


def test_torch_passes_its_own_options_through_a_handle(registry):
    torch = pytest.importorskip("torch")
    seen = []

    @registry.register_backend(name="seeing", options=Options)
    def seeing(gm, example_inputs, *, options=None):
        seen.append(options)
        return gm.forward

    torch._dynamo.reset()
    handle = registry.backend("seeing", table={"a": 1})
    torch.compile(torch.sin, backend=handle, options={"threads": 2})(torch.ones(3))
    assert seen == [{"table": {"a": 1}, "threads": 2}]
    with pytest.raises(Exception, match="has no option 'thread'"):
        torch.compile(torch.cos, backend=handle, options={"thread": 2})(torch.ones(3))


def test_partial_targets_have_their_signature_checked(registry):
    def base(gm, example_inputs, level):
        return gm

    registry.register_backend(functools.partial(base, level=3), name="partial")
    registry.backend("partial")("graph", [])
    with pytest.raises(BackendSignatureError, match="test_handle:"):
        registry.backend("partial", mode="fast")
