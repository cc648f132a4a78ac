"""Golden texts: what each error says is what docs/errors.md shows, provoked for real."""
# ruff: noqa: S301 - what is unpickled was pickled here

import copy
import pickle
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Literal

import pytest

from dynreg_core import _bridge, _fleet, errors, parse_options
from dynreg_core._manifest import parse_manifest
from dynreg_core._policy import Policy, Rule, load_policy
from dynreg_core._types import Registration, State

DOCUMENT = Path(__file__).parents[3] / "docs" / "errors.md"


@dataclass
class Options:
    """Options of a sample backend."""

    threads: int = 0
    fallback: Literal["torch", "error"] = "torch"


@dataclass
class Key:
    """An option that has no default."""

    key: str


def compile_graph(gm, example_inputs):
    return gm


def with_options(gm, example_inputs, *, mode=None, options=None):
    return gm


compile_graph.__module__ = with_options.__module__ = "acme"


def in_a_torch_to_come():
    """Register a name where torch's registry has lost its tables."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "torch", SimpleNamespace(__version__="2.99.0"))
        patch.setitem(sys.modules, "torch._dynamo", SimpleNamespace())
        patch.setitem(sys.modules, "torch._dynamo.backends.registry", SimpleNamespace())
        _bridge.sync(State(), State({"acme": Registration("acme", compile_graph)}))


def rank(version):
    told = {"distribution": "dynreg-numpy", "version": version, "source": "entry point"}
    return {"numpy": told}


@pytest.fixture
def provoke(make_registry, entry_point, tmp_path):
    """One function for each text of the document, in its order, by the class of the error."""
    plugins = [
        entry_point("acme", "acme_compiler.backend:compile", "acme-compiler", "1.2"),
        entry_point("numpy", "json:dumps", "dynreg-numpy", "0.1.0"),
        entry_point("turbine_cpu", "json:dumps", "iree-turbine", "3.1"),
        entry_point("turbine_cpu", "json:loads", "shark-turbine", "0.9"),
    ]
    registry = make_registry(*plugins)
    registry.register_backend(compile_graph, "plain")
    registry.register_backend(with_options, "sample", options=Options)
    registry.register_backend(with_options, "keyed", options=Key)
    off = make_registry(
        *plugins,
        policy=load_policy(str(tmp_path), {"DYNREG_PLUGINS": "off"}),
    )
    deny = make_registry(
        *plugins, policy=Policy(deny=(Rule("deny", "acme*", "pyproject.toml:12"),))
    )
    manifest = b'schema = 1\n[backends.acme]\ntraining = "yes"\n'

    return {
        "ArgumentTypeError": [
            lambda: registry.register_backend(compile_graph, tags="debug"),
            lambda: registry.register_backend("acme"),
            lambda: registry.register_backend(compile_graph, name=3),
            lambda: registry.lookup_backend(3),
            lambda: registry.default_for(3),
            lambda: parse_options(Options, ["threads"], backend="sample"),
        ],
        "ArgumentValueError": [
            lambda: registry.register_backend(compile_graph, name=" odd name "),
            lambda: registry.register_backend(compile_graph, tags=["a tag"]),
            lambda: registry.backend("sample", on_unknown_option="ignore"),
        ],
        "BackendSignatureError": [lambda: registry.backend("plain", mode="max-autotune")],
        "UnknownBackendError": [
            lambda: registry.lookup_backend("nunpy"),
            lambda: registry.lookup_backend("xyzzy"),
            lambda: registry.lookup_backend("hidet"),
            lambda: registry.lookup_backend("numpy@acme-compiler"),
            lambda: off.lookup_backend("numpy"),
            lambda: registry.unregister_backend("numpy"),
        ],
        "DuplicateBackendError": [
            lambda: registry.register_backend(with_options, "plain"),
            lambda: registry.register_backend(compile_graph, "eager"),
        ],
        "AmbiguousBackendError": [lambda: registry.lookup_backend("turbine_cpu")],
        "BackendDeniedError": [lambda: deny.lookup_backend("acme")],
        "BackendLoadError": [
            lambda: registry.lookup_backend("acme"),
            lambda: registry.lookup_backend("json:compile"),
        ],
        "BackendUnavailableError": [lambda: registry.lookup_backend("tvm")],
        "UnknownOptionError": [lambda: registry.backend("sample", thread=4)],
        "OptionTypeError": [lambda: registry.backend("sample", threads="4")],
        "OptionValueError": [lambda: registry.backend("sample", fallback="tortch")],
        "BackendOptionError": [lambda: registry.backend("keyed")],
        "ManifestError": [lambda: parse_manifest(manifest, "acme_compiler/dynreg.toml")],
        "PolicyError": [lambda: load_policy(str(tmp_path), {"DYNREG_PLUGINS": "maybe"})],
        "BridgeError": [in_a_torch_to_come],
        "FleetMismatchError": [
            lambda: _fleet.check([rank("0.1.0"), rank("0.1.0"), rank("0.2.0")]),
        ],
    }


def documented():
    """The texts of the document by the class that they stand under."""
    sections = re.split(r"^### `(\w+)`", DOCUMENT.read_text(), flags=re.MULTILINE)[1:]
    return {
        name: [block.strip() for block in re.findall(r"```text\n(.*?)```", text, re.DOTALL)]
        for name, text in zip(sections[::2], sections[1::2], strict=True)
    }


def raised(function):
    with pytest.raises(errors.DynregError) as caught:
        function()
    return caught.value


def test_every_text_is_that_of_the_document(provoke):
    found = {
        name: [str(raised(function)) for function in functions]
        for name, functions in provoke.items()
    }
    assert found == documented()


def test_every_error_is_documented_with_the_built_in_that_it_derives_from(provoke):
    classes = {
        name: getattr(errors, name)
        for name in errors.__all__
        if name != "DynregError" and not issubclass(getattr(errors, name), Warning)
    }
    assert set(provoke) == set(classes)
    text = DOCUMENT.read_text()
    for name, cls in classes.items():
        (bases,) = re.findall(rf"^### `{name}` \((.*)\)$", text, re.MULTILINE)
        named = set(re.findall(r"`(\w+)`", bases))
        assert named == {base.__name__ for base in cls.__bases__ if base is not errors.DynregError}
        assert issubclass(cls, errors.DynregError)


def test_every_warning_is_documented():
    text = DOCUMENT.read_text()
    for name in errors.__all__:
        if issubclass(getattr(errors, name), Warning):
            assert f"`{name}`" in text


def test_a_text_is_one_sentence_and_one_hint(provoke):
    for name, functions in provoke.items():
        for function in functions:
            error = raised(function)
            assert type(error).__name__ == name
            sentence, hint = str(error).split("\n")
            assert sentence == error.sentence
            assert hint == f"hint: {error.hint}"
            assert not sentence.endswith(".")


def test_errors_survive_pickling_and_copying(provoke):
    for functions in provoke.values():
        for function in functions:
            error = raised(function)
            for same in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
                assert type(same) is type(error)
                assert str(same) == str(error)
                assert same.args == error.args
                assert vars(same) == vars(error)


def test_a_plugin_derives_errors_of_its_own():
    class AcmeError(errors.DynregError, RuntimeError):
        """An error of a plugin."""

    error = AcmeError("acme is out of anvils", hint="order some")
    assert str(error) == "acme is out of anvils\nhint: order some"
    assert isinstance(error, RuntimeError)


def test_a_value_is_shown_in_what_fits_a_sentence():
    class Prickly:
        def __repr__(self):
            raise RuntimeError

    def sentence(value):
        return errors.ArgumentValueError("name", value, problem="is odd", hint="-").sentence

    assert sentence(Prickly()) == "name <Prickly object> is odd"
    assert sentence("x" * 100) == f"name '{'x' * 56}... is odd"
    assert sentence(["a\n  b"] and "a\n b") == r"name 'a\n b' is odd"


def test_a_line_break_in_a_value_makes_no_second_line():
    class Tall:
        def __repr__(self):
            return "tensor([[1],\n        [2]])"

    error = errors.OptionTypeError("sample", "weights", Tall(), expected="list")
    assert error.sentence == (
        "option 'weights' of backend 'sample' must be list, not Tall tensor([[1], [2]])"
    )
