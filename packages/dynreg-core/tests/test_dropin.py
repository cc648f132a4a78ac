"""What torch documents of its registry holds for dynreg's.

Each test runs on torch's registry, on dynreg's, and on torch's with dynreg installed into it.
"""

import types

import pytest

import dynreg_core

torch = pytest.importorskip("torch")
torch_registry = pytest.importorskip("torch._dynamo.backends.registry")


@pytest.fixture(params=["torch", "dynreg", "installed"])
def api(request):
    """The registry's functions, torch's or ours; what a test registers is taken back."""
    names = (
        "register_backend",
        "register_debug_backend",
        "register_experimental_backend",
        "lookup_backend",
        "list_backends",
        "set_default_backend",
        "get_default_backend",
    )
    torch._dynamo.reset()
    torch.compiler.list_backends()  # fills torch's tables, once a process
    if request.param == "dynreg":
        with dynreg_core.using():
            yield types.SimpleNamespace(**{name: getattr(dynreg_core, name) for name in names})
        return
    tables = [
        getattr(torch_registry, name)
        for name in ("_BACKENDS", "_COMPILER_FNS", "_BACKEND_TAGS")
        if hasattr(torch_registry, name)
    ]
    before = [dict(table) for table in tables]
    default = torch_registry.get_default_backend()
    if request.param == "installed":
        dynreg_core.install()
    yield types.SimpleNamespace(**{name: getattr(torch_registry, name) for name in names})
    dynreg_core.uninstall()
    torch_registry.set_default_backend(default)
    for table, content in zip(tables, before, strict=True):
        table.clear()
        table.update(content)


def test_the_decorator_returns_the_function_and_takes_its_name(api):
    @api.register_backend
    def dropin_bare(gm, example_inputs):
        return gm.forward

    assert dropin_bare.__name__ == "dropin_bare"
    assert api.lookup_backend("dropin_bare") is dropin_bare


def test_the_decorator_takes_a_name_and_tags(api):
    @api.register_backend(name="dropin_named", tags=("debug",))
    def function(gm, example_inputs):
        return gm.forward

    assert api.lookup_backend("dropin_named") is function
    assert "dropin_named" not in api.list_backends()
    assert "dropin_named" in api.list_backends(exclude_tags=("experimental",))
    assert "dropin_named" in api.list_backends(exclude_tags=None)
    assert "dropin_named" in api.list_backends(exclude_tags=())


def test_a_backend_can_be_passed_by_position_or_keyword(api):
    def function(gm, example_inputs):
        return gm.forward

    assert api.register_backend(function, "dropin_a", ("x",)) is function
    assert api.register_backend(compiler_fn=function, name="dropin_b", tags=["y"]) is function
    assert {"dropin_a", "dropin_b"} <= set(api.list_backends())


def test_the_tagged_decorators(api):
    @api.register_debug_backend
    def dropin_debug(gm, example_inputs):
        return gm.forward

    @api.register_experimental_backend(name="dropin_trial")
    def trial(gm, example_inputs):
        return gm.forward

    assert not {"dropin_debug", "dropin_trial"} & set(api.list_backends())
    assert "dropin_trial" in api.list_backends(exclude_tags=("debug",))
    assert "dropin_debug" in api.list_backends(exclude_tags=("experimental",))


def test_lists_are_sorted_strings_with_what_torch_has(api):
    names = api.list_backends()
    assert names == sorted(names)
    assert {"inductor", "cudagraphs", "openxla", "tvm"} <= set(names)
    assert "eager" not in names
    assert {"eager", "aot_eager", "ts", "openxla_eval"} <= set(api.list_backends(None))


def test_every_listed_name_resolves_or_says_why(api):
    for name in api.list_backends(None):
        if name in {"openxla", "openxla_eval", "tvm"}:
            continue  # torch finds out when it is called, dynreg before
        assert callable(api.lookup_backend(name))


def test_a_callable_is_returned_as_it_is(api):
    def function(gm, example_inputs):
        return gm.forward

    assert api.lookup_backend(function) is function


def test_a_duplicate_is_an_assertion_error(api):
    def function(gm, example_inputs):
        return gm.forward

    api.register_backend(function, name="dropin_twice")
    with pytest.raises(AssertionError):
        api.register_backend(lambda gm, example_inputs: gm.forward, name="dropin_twice")
    with pytest.raises(AssertionError):
        api.register_backend(function, name="eager")


def test_an_unknown_name_is_an_invalid_backend(api):
    with pytest.raises(torch._dynamo.exc.InvalidBackend):
        api.lookup_backend("dropin_missing")


def test_defaults(api):
    assert api.get_default_backend() == "inductor"
    api.set_default_backend("eager")
    assert api.get_default_backend() == "eager"

    def function(gm, example_inputs):
        return gm.forward

    api.set_default_backend(function)
    assert api.get_default_backend() is function
    api.set_default_backend(None)
    assert api.get_default_backend() == "inductor"
    with pytest.raises(TypeError):
        api.set_default_backend(3)


def test_a_custom_backend_compiles_by_name(api):
    graphs = []

    @api.register_backend
    def dropin_compiles(gm, example_inputs):
        graphs.append(gm)
        return gm.forward

    compiled = torch.compile(torch.nn.Linear(2, 2), backend="dropin_compiles")
    x = torch.ones(1, 2)
    assert torch.equal(compiled(x), compiled._orig_mod(x))
    assert len(graphs) == 1


def test_changed_options_compile_again_and_the_same_do_not(api):
    seen = []

    @api.register_backend
    def dropin_options(gm, example_inputs, options=None):
        seen.append(options)
        return gm.forward

    def function(x):
        return x + 1

    for options in ({"a": 1}, {"a": 1}, {"a": 2}):
        torch.compile(function, backend="dropin_options", options=options)(torch.ones(2))
    assert seen == [{"a": 1}, {"a": 2}]


def test_mode_reaches_a_backend(api):
    seen = []

    @api.register_backend
    def dropin_mode(gm, example_inputs, mode=None):
        seen.append(mode)
        return gm.forward

    torch.compile(torch.sin, backend="dropin_mode", mode="reduce-overhead")(torch.ones(2))
    assert seen == ["reduce-overhead"]


def test_reset_is_called_on_a_backend_that_has_it(api):
    class Resettable:
        resets = 0

        def __call__(self, gm, example_inputs):
            return gm.forward

        def reset(self):
            Resettable.resets += 1

    api.register_backend(Resettable(), name="dropin_reset")
    torch.compile(torch.sin, backend="dropin_reset")(torch.ones(2))
    torch._dynamo.reset()
    assert Resettable.resets >= 1
