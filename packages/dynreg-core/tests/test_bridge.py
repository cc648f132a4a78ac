"""The bridge: dynreg's names in torch, and torch's lookups through dynreg."""

import pickle
import subprocess
import sys
import textwrap

import pytest

import dynreg_core
from dynreg_core import _bridge, errors
from dynreg_core._types import State

torch = pytest.importorskip("torch", reason="the bridge needs torch")
torch_registry = pytest.importorskip("torch._dynamo.backends.registry", reason="likewise")


def passthrough(graph_module, example_inputs):
    return graph_module.forward


@pytest.fixture(autouse=True)
def _undo():
    torch._dynamo.reset()
    tables = {name: dict(getattr(torch_registry, name)) for name in ("_BACKENDS", "_COMPILER_FNS")}
    with dynreg_core.using():
        yield
    _bridge.uninstall()
    for name, content in tables.items():
        # What torch has loaded meanwhile is its own affair; nothing of ours may be left.
        now = getattr(torch_registry, name)
        assert not {key for key in now.keys() - content.keys() if "test_" in key}


@pytest.fixture
def installed():
    dynreg_core.install()
    yield
    dynreg_core.uninstall()


def run(program, **variables):
    import os

    environment = {k: v for k, v in os.environ.items() if not k.startswith("DYNREG_")}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env=environment | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


# --- mirroring ---------------------------------------------------------------------------------


def test_a_registered_name_is_a_string_for_torch_compile():
    dynreg_core.register_backend(passthrough, name="test_mirrored")
    compiled = torch.compile(lambda x: x + 1, backend="test_mirrored")
    assert compiled(torch.ones(1)).item() == 2
    assert "test_mirrored" in torch._dynamo.list_backends()
    assert not hasattr(passthrough, "_tags")


def test_tags_are_torchs_too():
    dynreg_core.register_debug_backend(passthrough, name="test_debug")
    assert "test_debug" not in torch._dynamo.list_backends()
    assert "test_debug" in torch._dynamo.list_backends(None)


def test_an_unregistered_name_is_gone_from_torch():
    dynreg_core.register_backend(passthrough, name="test_gone")
    dynreg_core.unregister_backend("test_gone")
    assert "test_gone" not in torch._dynamo.list_backends(None)
    with pytest.raises(torch._dynamo.exc.InvalidBackend):
        torch._dynamo.lookup_backend("test_gone")


def test_a_replaced_name_is_replaced_in_torch():
    calls = []

    def second(graph_module, example_inputs):
        calls.append(1)
        return graph_module.forward

    dynreg_core.register_backend(passthrough, name="test_replaced")
    dynreg_core.register_backend(second, name="test_replaced", replace=True)
    torch.compile(lambda x: x + 1, backend="test_replaced")(torch.ones(1))
    assert calls == [1]


def test_a_built_in_name_comes_back():
    own = torch._dynamo.lookup_backend("eager")
    dynreg_core.register_backend(passthrough, name="eager", replace=True)
    assert torch._dynamo.lookup_backend("eager") is not own
    assert _bridge.lookup_torch_backend("eager") is own
    assert _bridge.torch_backends()["eager"] == ("debug",)
    assert dynreg_core.lookup_backend("eager") is passthrough
    dynreg_core.unregister_backend("eager")
    assert torch._dynamo.lookup_backend("eager") is own
    assert "eager" in torch._dynamo.list_backends(None)
    assert "eager" not in torch._dynamo.list_backends()


def test_an_alias_is_resolved_when_it_is_used():
    dynreg_core.register_backend(passthrough, name="test_first")
    dynreg_core.register_alias("test_alias", "test_first")
    compiled = torch.compile(lambda x: x + 1, backend="test_alias")
    assert compiled(torch.ones(1)).item() == 2


def test_options_are_checked_through_torch():
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Options:
        level: int = 1

    def optimising(graph_module, example_inputs, *, options=None):
        return graph_module.forward

    dynreg_core.register_backend(optimising, name="test_options", options=Options)
    compiled = torch.compile(lambda x: x + 1, backend="test_options", options={"levl": 2})
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match="did you mean 'level'"):
        compiled(torch.ones(1))


def test_torchs_own_registrations_are_a_source_of_names():
    torch._dynamo.register_backend(passthrough_of_torch, name="test_of_torch", tags=("debug",))
    try:
        assert dynreg_core.lookup_backend("test_of_torch") is passthrough_of_torch
        assert dynreg_core.get_backend_info("test_of_torch").tags == ("debug",)
    finally:
        del torch_registry._COMPILER_FNS["test_of_torch"], torch_registry._BACKENDS["test_of_torch"]
        getattr(torch_registry, "_BACKEND_TAGS", {}).pop("test_of_torch", None)


def passthrough_of_torch(graph_module, example_inputs):
    return graph_module.forward


def test_dynreg_first_and_torch_later():
    run(
        """
        import sys
        import dynreg_core

        @dynreg_core.register_backend
        def early(graph_module, example_inputs):
            return graph_module.forward

        @dynreg_core.register_backend(name="eager", replace=True)
        def replaced(graph_module, example_inputs):
            print("replaced")
            return graph_module.forward

        assert "torch" not in sys.modules
        import torch
        assert torch.compile(lambda x: x + 1, backend="early")(torch.ones(1)).item() == 2
        assert torch.compile(lambda x: x + 2, backend="eager")(torch.ones(1)).item() == 3
        assert "early" in torch.compiler.list_backends()
        """
    )


def test_a_change_in_torch_is_said_and_changes_nothing(monkeypatch):
    monkeypatch.delattr(torch_registry, "_COMPILER_FNS")
    with pytest.raises(errors.BridgeError, match="is not built the way dynreg-core knows"):
        dynreg_core.register_backend(passthrough, name="test_changed")
    monkeypatch.undo()
    assert not dynreg_core.is_registered_backend("test_changed")
    assert "test_changed" not in torch._dynamo.list_backends(None)


def test_nothing_is_told_of_a_torch_that_is_not_there(monkeypatch):
    monkeypatch.delitem(sys.modules, _bridge._REGISTRY)
    monkeypatch.delitem(sys.modules, _bridge._DYNAMO)
    assert _bridge.torch_backends() == {}
    _bridge.sync(State(), State())
    assert not _bridge._waiting


def test_tags_are_put_into_the_table_that_torch_2_14_has(monkeypatch):
    table = {"eager": ("debug",)}
    monkeypatch.setattr(torch_registry, "_BACKEND_TAGS", table, raising=False)
    torch._dynamo.lookup_backend("eager")
    assert _bridge.torch_backends()["eager"] == ("debug",)
    dynreg_core.register_backend(passthrough, name="eager", tags=["mine"], replace=True)
    assert table["eager"] == ("mine",)
    assert _bridge.torch_backends()["eager"] == ("debug",)
    dynreg_core.unregister_backend("eager")
    assert table == {"eager": ("debug",)}


def test_names_that_torch_loads_later_are_put_in_place_then(monkeypatch):
    for table in ("_BACKENDS", "_COMPILER_FNS", "_BACKEND_TAGS"):
        if hasattr(torch_registry, table):
            monkeypatch.setattr(torch_registry, table, {})

    def own(graph_module, example_inputs):
        return graph_module.forward

    def load_all():
        for name in ("eager", "aot_eager"):
            torch_registry.register_backend(own, name=name)

    monkeypatch.setattr(torch_registry, "_lazy_import", load_all)
    for name in ("eager", "aot_eager", "ts"):
        dynreg_core.register_backend(passthrough, name=name, replace=True)
    dynreg_core.unregister_backend("ts")
    assert torch_registry._COMPILER_FNS == {}
    assert torch_registry.lookup_backend("eager").name == "eager"
    assert _bridge.lookup_torch_backend("aot_eager") is own
    assert torch_registry._lazy_import is load_all
    dynreg_core.unregister_backend("eager")
    assert torch_registry.lookup_backend("eager") is own
    dynreg_core.unregister_backend("aot_eager")


# --- installing --------------------------------------------------------------------------------


def bindings():
    return {
        (module, name): getattr(sys.modules[module], name)
        for module, names in _bridge._LOOKUPS.items()
        for name in names
        if module in sys.modules
    }


def test_install_and_uninstall_put_everything_back():
    before = bindings()
    dynreg_core.install()
    dynreg_core.install()
    during = bindings()
    assert all(during[place] is not before[place] for place in before)
    dynreg_core.uninstall()
    dynreg_core.uninstall()
    assert bindings() == before


def test_what_others_patch_meanwhile_is_left_to_them():
    original = torch._dynamo.lookup_backend
    dynreg_core.install()
    try:
        torch._dynamo.lookup_backend = passthrough
        dynreg_core.uninstall()
        assert torch._dynamo.lookup_backend is passthrough
    finally:
        torch._dynamo.lookup_backend = original


def test_every_binding_in_torch_is_known():
    """A place where torch binds a lookup that the table lacks would not go through dynreg."""
    torch._dynamo.list_backends(None)
    names = {"lookup_backend", "list_backends", "get_default_backend"}
    functions = {name: getattr(torch_registry, name) for name in names}
    bound = {
        (module, name)
        for module, content in list(sys.modules.items())
        if module.startswith("torch")
        for name in names
        if vars(content).get(name) is functions[name]
    }
    assert bound <= {(m, n) for m, ns in _bridge._LOOKUPS.items() for n in ns}


@pytest.mark.usefixtures("installed")
def test_a_misspelt_name_has_torchs_class_and_dynregs_sentence():
    with pytest.raises(torch._dynamo.exc.InvalidBackend) as caught:
        torch.compile(lambda x: x, backend="inducter")
    assert isinstance(caught.value, errors.UnknownBackendError)
    assert str(caught.value).startswith("no backend is named 'inducter'\nhint: did you mean ")
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - made in the line itself
    assert type(again) is type(caught.value)
    assert str(again) == str(caught.value)


@pytest.mark.usefixtures("installed")
def test_a_qualified_name_is_a_string_for_torch_compile():
    compiled = torch.compile(lambda x: x + 1, backend="torch._dynamo.backends.debugging:eager")
    assert compiled(torch.ones(1)).item() == 2


@pytest.mark.usefixtures("installed")
def test_the_default_is_dynregs_then_torchs():
    calls = []

    def counting(graph_module, example_inputs):
        calls.append(1)
        return graph_module.forward

    with dynreg_core.using(counting):
        torch.compile(lambda x: x + 1, backend=None)(torch.ones(1))
    assert calls == [1]
    torch_registry.set_default_backend("eager")
    try:
        assert torch_registry.get_default_backend() == "eager"
    finally:
        torch_registry.set_default_backend(None)


@pytest.mark.usefixtures("installed")
def test_callables_and_lists_pass_through():
    assert torch._dynamo.lookup_backend(passthrough) is passthrough
    assert torch.compiler.list_backends(None) == dynreg_core.list_backends(None)


def test_a_part_of_torch_that_is_not_imported_needs_no_patch(monkeypatch):
    with monkeypatch.context() as patch:
        patch.delitem(sys.modules, "torch._dynamo.repro.after_dynamo", raising=False)
        dynreg_core.install()
        assert ("torch._dynamo.repro.after_dynamo", "lookup_backend") not in _bridge._originals
        dynreg_core.uninstall()


def test_a_lookup_that_torch_lacks_is_said_and_nothing_is_patched(monkeypatch):
    monkeypatch.delattr(torch_registry, "get_default_backend")
    before = torch_registry.lookup_backend
    with pytest.raises(errors.BridgeError, match="has no function get_default_backend"):
        dynreg_core.install()
    assert torch_registry.lookup_backend is before


def test_a_lookup_that_somebody_else_has_patched_is_said(monkeypatch):
    monkeypatch.setattr(torch._dynamo, "lookup_backend", lambda name: None)
    with pytest.raises(errors.BridgeError, match=r"lookup_backend in torch\._dynamo is not"):
        dynreg_core.install()


@pytest.mark.parametrize("word", ["1", "true", "Yes", "on"])
def test_the_variable_installs(word):
    done = run(
        """
        import torch
        try:
            torch.compile(lambda x: x, backend="inducter")
        except torch._dynamo.exc.InvalidBackend as error:
            print(error)
        """,
        DYNREG_INSTALL=word,
    )
    assert "did you mean 'inductor'" in done.stdout


@pytest.mark.parametrize("word", ["0", "false", "No", "off"])
def test_the_variable_says_no(word):
    run(
        """
        import sys, torch, torch._dynamo
        assert torch._dynamo.lookup_backend.__module__ == "torch._dynamo.backends.registry"
        """,
        DYNREG_INSTALL=word,
    )


def test_a_variable_that_says_neither_warns_and_torch_is_imported():
    done = run("import torch; print(torch.ones(1).item())", DYNREG_INSTALL="perhaps")
    assert done.stdout.strip() == "1.0"
    assert "'perhaps' is neither yes nor no" in done.stderr


def test_without_the_variable_nothing_is_imported():
    run(
        """
        import sys, torch
        ours = {name for name in sys.modules if name.startswith("dynreg")}
        assert ours <= {"dynreg_core", "dynreg_core._autoload"}, ours
        """
    )


def test_a_change_in_torch_seen_while_it_is_imported_warns():
    done = run(
        """
        import dynreg_core, wrapt

        @wrapt.when_imported("torch._dynamo.backends.registry")
        def change(module):
            module._BACKENDS = None

        dynreg_core.install()
        import torch
        print(torch.ones(1).item())
        import torch._dynamo
        """
    )
    assert done.stdout.strip() == "1.0"
    assert "is not built the way dynreg-core knows" in done.stderr
