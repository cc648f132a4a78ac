"""What a registry does: registering, resolving, listing."""

import functools
import sys
import threading
import time
from dataclasses import dataclass

import pytest

from dynreg_core import BackendHandle, Registry, _metadata
from dynreg_core._policy import Policy, Rule
from dynreg_core._types import EntryPoint
from dynreg_core.errors import (
    AmbiguousBackendError,
    ArgumentTypeError,
    ArgumentValueError,
    BackendDeniedError,
    BackendLoadError,
    BackendUnavailableError,
    DeprecatedBackendWarning,
    DuplicateBackendError,
    DynregError,
    PluginWarning,
    UnknownBackendError,
)


def first(gm, example_inputs):
    return gm


def second(gm, example_inputs):
    return gm


def infos(registry, name):
    return [info for info in registry.list_backend_info(None) if info.name == name]


def statuses(registry, name):
    return [str(info.status) for info in infos(registry, name)]


def problems(registry, distribution):
    return [p for p in registry.problems() if p.distribution == distribution]


# --- registering -------------------------------------------------------------------------------


def test_the_decorator_with_and_without_arguments(registry):
    @registry.register_backend
    def bare(gm, example_inputs):
        return gm

    @registry.register_backend(name="named", tags=("a", "b"))
    def function(gm, example_inputs):
        return gm

    @registry.register_debug_backend
    def debugging(gm, example_inputs):
        return gm

    @registry.register_experimental_backend(name="trying")
    def experiment(gm, example_inputs):
        return gm

    @registry.register_backend()
    def called(gm, example_inputs):
        return gm

    assert registry.lookup_backend("bare") is bare
    assert registry.lookup_backend("called") is called
    assert registry.lookup_backend("named") is function
    tags = {info.name: info.tags for info in registry.list_backend_info(None)}
    assert (tags["bare"], tags["named"]) == ((), ("a", "b"))
    assert (tags["debugging"], tags["trying"]) == (("debug",), ("experimental",))
    assert {"bare", "named"} <= set(registry.list_backends())
    assert not {"debugging", "trying"} & set(registry.list_backends())
    assert {"debugging", "trying"} <= set(registry.list_backends(None))
    assert "trying" in registry.list_backends(exclude_tags=("debug",))


def test_tags_can_be_given_to_the_tagged_decorators(registry):
    registry.register_debug_backend(first, "first", tags=("debug", "slow"))
    assert registry.get_backend_info("first").tags == ("debug", "slow")


def test_a_callable_is_returned_as_it_is(registry):
    assert registry.lookup_backend(first) is first
    with pytest.raises(ArgumentTypeError, match="backend must be a name or a callable, not int 3"):
        registry.lookup_backend(3)


@pytest.mark.parametrize(
    ("name", "error"),
    [
        (3, "name must be a string, not int 3"),
        (b"x", "name must be a string, not bytes b'x'"),
        ("", "name '' is empty"),
        (" odd name ", "name ' odd name ' contains ' '"),
        ("a\n", r"name 'a\n' contains '\n'"),
        ("a@b", "name 'a@b' contains '@'"),
        ("a:b", "name 'a:b' contains ':'"),
        ("a,b", "name 'a,b' contains ','"),
        ("a\0", r"name 'a\x00' contains '\x00'"),
    ],
)
def test_names_that_cannot_be_one_are_refused(registry, name, error):
    before = registry.state
    for register in (
        lambda: registry.register_backend(first, name=name),
        lambda: registry.register_backend(name=name),
    ):
        with pytest.raises((ArgumentTypeError, ArgumentValueError)) as caught:
            register()
        assert caught.value.sentence == error
    assert registry.state is before


@pytest.mark.parametrize(
    ("tags", "error"),
    [
        ("debug", "tags must be a sequence of strings, not str 'debug'"),
        (3, "tags must be a sequence of strings, not int 3"),
        ([3], "each of tags must be a string, not int 3"),
        ([""], "tag '' is empty"),
        (["a b"], "tag 'a b' contains a space"),
    ],
)
def test_tags_that_cannot_be_one_are_refused(registry, tags, error):
    before = registry.state
    for register in (
        lambda: registry.register_backend(first, tags=tags),
        lambda: registry.register_backend(name="first", tags=tags),
    ):
        with pytest.raises((ArgumentTypeError, ArgumentValueError)) as caught:
            register()
        assert caught.value.sentence == error
    assert registry.state is before


def test_what_is_not_callable_is_refused(registry):
    with pytest.raises(ArgumentTypeError) as caught:
        registry.register_backend("acme")
    assert str(caught.value) == (
        "compiler_fn must be callable, not str 'acme'\n"
        "hint: pass the name by keyword: register_backend(name='acme')"
    )
    with pytest.raises(ArgumentTypeError, match="must be callable, not int 3"):
        registry.register_backend(3, name="three")
    assert registry.state.registrations == {}


def test_a_callable_without_a_name_needs_one(registry):
    for nameless in (functools.partial(first), lambda gm, example_inputs: gm):
        with pytest.raises(ArgumentValueError, match="has no name of its own"):
            registry.register_backend(nameless)
        registry.register_backend(nameless, name="named", replace=True)
        assert registry.lookup_backend("named") is nameless


def test_options_must_be_declared_by_a_dataclass(registry):
    with pytest.raises(ArgumentTypeError, match="must be a dataclass"):
        registry.register_backend(first, options=dict)
    assert registry.state.registrations == {}


def test_the_same_again_is_nothing(registry):
    registry.register_backend(first, tags=("a",))
    before = registry.state
    registry.register_backend(first)
    registry.register_backend(first, tags=("a",))
    registry.register_backend(first, tags=["a"], replace=True)
    assert registry.state is before


def test_the_same_with_other_tags_is_refused(registry):
    registry.register_backend(first, tags=("a",))
    with pytest.raises(DuplicateBackendError) as caught:
        registry.register_backend(first, tags=("b",))
    assert caught.value.sentence == (
        f"the backend name 'first' is taken by {__name__}:first with the tags ['a']"
    )
    registry.register_backend(first, tags=("b",), replace=True)
    assert registry.get_backend_info("first").tags == ("b",)


def test_a_bound_method_is_the_same_each_time_it_is_written(registry):
    class Compiler:
        def compile(self, gm, example_inputs):
            return gm

    compiler = Compiler()
    registry.register_backend(compiler.compile, name="method")
    registry.register_backend(compiler.compile, name="method")
    registry.register_backend([].append, name="builtin")
    with pytest.raises(DuplicateBackendError):
        registry.register_backend(Compiler().compile, name="method")
    with pytest.raises(DuplicateBackendError):
        registry.register_backend([].append, name="builtin")


def test_another_target_is_refused_and_can_replace(registry):
    registry.register_backend(first, name="name")
    before = registry.state
    with pytest.raises(DuplicateBackendError) as caught:
        registry.register_backend(second, name="name")
    assert str(caught.value) == (
        f"the backend name 'name' is taken by {__name__}:first\n"
        "hint: pass replace=True to take the name over, or call unregister_backend('name') first"
    )
    assert registry.state is before
    registry.register_backend(second, name="name", replace=True)
    assert registry.lookup_backend("name") is second


def test_running_a_cell_twice_says_what_to_do(registry):
    def cell():
        @registry.register_backend
        def mine(gm, example_inputs):
            return gm

    cell()
    with pytest.raises(
        DuplicateBackendError, match=r"earlier definition of .*mine\n.*replace=True"
    ):
        cell()


def test_a_name_of_torch_is_taken_over_only_explicitly(registry):
    with pytest.raises(DuplicateBackendError) as caught:
        registry.register_backend(first, name="eager")
    assert str(caught.value) == (
        "the backend name 'eager' is taken by torch's built-in backend\n"
        "hint: pass replace=True to take the name over"
    )
    eager = registry.lookup_backend("eager")
    registry.register_backend(first, name="eager", replace=True)
    assert registry.lookup_backend("eager") is first
    assert statuses(registry, "eager") == [
        "loaded",
        f"shadowed (by {__name__}:first, registered in this process)",
    ]
    assert infos(registry, "eager")[1].status.hint == (
        "unregister_backend('eager') gives the name back"
    )
    registry.unregister_backend("eager")
    assert registry.lookup_backend("eager") is eager


def test_an_alias_can_take_a_name_of_torch_over(registry):
    registry.register_alias("eager", "inductor", replace=True)
    assert registry.lookup_backend("eager") is registry.lookup_backend("inductor")
    assert statuses(registry, "eager")[1] == (
        "shadowed (by an alias of 'inductor' that was registered in this process)"
    )


def test_instances_are_named_by_their_class(registry):
    class Compiler:
        def __call__(self, gm, example_inputs):
            return gm

    registry.register_backend(Compiler(), name="instance")
    with pytest.raises(
        DuplicateBackendError, match=r"taken by an earlier definition of .*Compiler"
    ):
        registry.register_backend(Compiler(), name="instance")
    registry.register_backend(functools.partial(Compiler()), name="partial")
    assert registry.get_backend_info("partial").target.endswith("Compiler")


def test_entry_points_of_other_groups_are_no_backends(make_registry):
    entry = EntryPoint("sub", "json:dumps", _metadata.COMMANDS, "acme")
    assert not make_registry(entry).is_registered_backend("sub")


def test_unregistering(registry):
    registry.register_backend(first)
    registry.lookup_backend("first")
    registry.unregister_backend("first")
    assert not registry.is_registered_backend("first")
    with pytest.raises(UnknownBackendError) as caught:
        registry.unregister_backend("first")
    assert str(caught.value) == (
        "no backend is named 'first': nothing of this name was registered in this process\n"
        "hint: `dynreg list --all` shows every name"
    )


def test_an_observer_that_raises_undoes_the_change(make_registry):
    seen = []

    def observer(before, after):
        seen.append((set(before.registrations), set(after.registrations)))
        if "second" in after.registrations:
            raise RuntimeError("no")

    registry = make_registry(observer=observer)
    registry.register_backend(first)
    with pytest.raises(RuntimeError):
        registry.register_backend(second)
    assert list(registry.state.registrations) == ["first"]
    assert seen == [(set(), {"first"}), ({"first"}, {"first", "second"})]


def test_states_are_never_changed(registry):
    states = [registry.state]
    for action in (
        lambda: registry.register_backend(first),
        lambda: registry.register_alias("other", "first"),
        lambda: registry.set_default_backend("first"),
        lambda: registry.unregister_backend("other"),
    ):
        action()
        states.append(registry.state)
    counts = [(len(state.registrations), len(state.defaults)) for state in states]
    assert counts == [(0, 0), (1, 0), (2, 0), (2, 1), (1, 1)]


# --- aliases -----------------------------------------------------------------------------------


def test_an_alias_has_tags_of_its_own(registry):
    registry.register_backend(first, tags=("debug",))
    registry.register_alias("plain", "first")
    assert registry.lookup_backend("plain") is first
    assert "plain" in registry.list_backends()
    assert "first" not in registry.list_backends()
    info = registry.get_backend_info("plain")
    assert (info.alias_of, info.tags, str(info.status), info.target) == ("first", (), "loaded", "")


def test_a_deprecated_name_warns_and_forwards(registry):
    registry.register_backend(first)
    registry.register_alias("old", "first", deprecated="it was renamed in 2.0")
    for _ in range(2):
        with pytest.warns(DeprecatedBackendWarning) as caught:
            assert registry.lookup_backend("old") is first
        assert str(caught[0].message) == (
            "the backend name 'old' is deprecated: it was renamed in 2.0; use 'first'"
        )
        assert caught[0].filename == __file__
    assert registry.get_backend_info("old").deprecated == "it was renamed in 2.0"


def test_aliases_of_aliases_and_of_torch(registry):
    registry.register_alias("a", "eager")
    registry.register_alias("b", "a")
    registry.register_alias("b", "a")  # the same again is nothing
    assert registry.lookup_backend("b") is registry.lookup_backend("eager")
    assert str(registry.get_backend_info("b").status) == "ready"
    with pytest.raises(DuplicateBackendError, match="taken by an alias of 'a'"):
        registry.register_alias("b", "eager")
    with pytest.raises(DuplicateBackendError, match="taken by an alias of 'a'"):
        registry.register_backend(first, name="b")


def test_an_alias_must_stand_for_something_else(registry):
    registry.register_backend(first)
    with pytest.raises(UnknownBackendError, match="no backend is named 'missing'"):
        registry.register_alias("other", "missing")
    registry.register_alias("other", "first")
    for target in ("first", "other"):
        with pytest.raises(UnknownBackendError, match="an alias cannot stand for itself"):
            registry.register_alias("first", target, replace=True)
    assert registry.lookup_backend("other") is first


def test_an_alias_whose_target_goes_away_says_so(registry):
    registry.register_backend(first)
    registry.register_alias("other", "first")
    registry.unregister_backend("first")
    with pytest.raises(UnknownBackendError, match="no backend is named 'first'"):
        registry.lookup_backend("other")
    assert str(registry.get_backend_info("other").status) == (
        "broken (no backend is named 'first')"
    )


def test_aliases_that_stand_for_one_another_are_found_out(registry):
    # Undoing a scope puts names back without asking what others did in the meantime.
    registry.register_backend(first, name="b")
    registry.register_alias("a", "b")
    with registry.using():
        registry.unregister_backend("a")
        registry.register_backend(second, name="a")

        def elsewhere():
            registry.register_alias("b", "a", replace=True)

        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    with pytest.raises(UnknownBackendError, match=r"the aliases .* stand for one another"):
        registry.lookup_backend("a")
    assert str(registry.get_backend_info("a").status) == (
        "broken (no backend is named 'b': the aliases b, a stand for one another)"
    )


# --- using -------------------------------------------------------------------------------------


def test_a_block_is_undone(registry):
    registry.register_backend(first, name="kept")
    registry.register_backend(first, name="replaced")
    registry.register_backend(first, name="removed")
    before = registry.state
    with registry.using("kept"):
        registry.register_backend(second, name="added")
        registry.register_backend(second, name="replaced", replace=True)
        registry.unregister_backend("removed")
        assert registry.get_default_backend() == "kept"
    assert registry.state.registrations == before.registrations
    assert registry.state.defaults == before.defaults
    assert registry.get_default_backend() == "inductor"


def test_a_block_is_undone_after_an_error(registry):
    def fail():
        with registry.using():
            registry.register_backend(first)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert registry.state.registrations == {}


def test_blocks_nest(registry):
    with registry.using():
        registry.register_backend(first, name="name")
        with registry.using():
            registry.register_backend(second, name="name", replace=True)
            registry.register_backend(second, name="inner")
        assert registry.lookup_backend("name") is first
        assert not registry.is_registered_backend("inner")
        registry.register_backend(second, name="inner")
    assert registry.state.registrations == {}


def test_blocks_of_two_registries_do_not_meet(make_registry):
    a, b = make_registry(), make_registry()
    with a.using():
        b.register_backend(first)
        with b.using():
            a.register_backend(first)
            b.register_backend(second)
        assert a.is_registered_backend("first")
        assert not b.is_registered_backend("second")
    assert not a.is_registered_backend("first")
    assert b.is_registered_backend("first")


def test_a_block_leaves_what_other_threads_do(registry):
    with registry.using():
        registry.register_backend(first)
        thread = threading.Thread(target=lambda: registry.register_backend(second))
        thread.start()
        thread.join()
        assert registry.is_registered_backend("first")
    assert list(registry.state.registrations) == ["second"]


def test_an_impossible_default_is_refused_before_the_block(registry):
    entered = []
    with pytest.raises(UnknownBackendError), registry.using("missing"):
        entered.append(True)
    assert entered == []


# --- plugins -----------------------------------------------------------------------------------

PLUGIN = """
def compile(gm, example_inputs, *, mode=None, options=None):
    return gm
"""


def test_an_entry_point_is_listed_before_it_is_used_and_loads_when_it_is(site, installed):
    site.module("plug_a", PLUGIN)
    site.distribution("plug-a", "2.1", backends={"plug": "plug_a:compile"}, summary="Compiles")
    registry = installed()
    info = registry.get_backend_info("plug")
    assert (info.source, info.distribution, info.version) == ("entry point", "plug-a", "2.1")
    assert (info.target, info.tags, info.description) == ("plug_a:compile", (), "Compiles")
    assert info.path.endswith("plug_a-2.1.dist-info")
    assert str(info.status) == "ready"
    assert info.status.usable
    assert "plug_a" not in sys.modules
    assert registry.lookup_backend("plug") is sys.modules["plug_a"].compile
    assert str(registry.get_backend_info("plug").status) == "loaded"
    assert registry.is_registered_backend(sys.modules["plug_a"].compile)


def test_a_manifest_is_used_without_importing_the_plugin(site, installed):
    site.package(
        "plug_b",
        "raise RuntimeError('imported')",
        dynreg_toml="""
            schema = 1
            [backends.plug]
            description = "Described"
            tags = ["debug"]
            [backends.plug.options.level]
            type = "int"
            [backends.plug.aliases.plug2]
            deprecated = "use the other"
            [backends.plug.aliases.plug3]
            tags = ["experimental"]
        """,
    )
    site.distribution(
        "plug-b", backends={"plug": "plug_b:compile"}, manifests={"plug": "plug_b:dynreg.toml"}
    )
    registry = installed()
    info = registry.get_backend_info("plug")
    assert (info.description, info.tags, info.summary) == ("Described", ("debug",), "")
    assert [option.name for option in info.manifest.options] == ["level"]
    alias = registry.get_backend_info("plug2")
    assert (alias.alias_of, alias.deprecated) == ("plug", "use the other")
    assert alias.target == "plug_b:compile"
    assert registry.get_backend_info("plug3").tags == ("experimental",)
    assert problems(registry, "plug-b") == []


def test_aliases_of_a_manifest_resolve(site, installed):
    site.package(
        "plug_c",
        PLUGIN,
        dynreg_toml="""
            schema = 1
            [backends.plug.options.level]
            type = "int"
            [backends.plug.aliases.other]
            [backends.plug.aliases.old]
            deprecated = "it was renamed"
        """,
    )
    site.distribution(
        "plug-c", backends={"plug": "plug_c:compile"}, manifests={"plug": "plug_c:dynreg.toml"}
    )
    registry = installed()
    assert registry.lookup_backend("other") is registry.lookup_backend("plug")
    assert registry.lookup_backend("other@plug-c") is registry.lookup_backend("plug@Plug.C")
    with pytest.warns(DeprecatedBackendWarning, match="use 'plug'"):
        registry.lookup_backend("old")
    with pytest.raises(DynregError, match="has no option 'levle'"):
        registry.backend("other", levle=3)


def test_an_alias_never_hides_an_entry_point(site, installed):
    manifest = "schema = 1\n[backends.plug.aliases.taken]\n"
    site.package("plug_d", PLUGIN, dynreg_toml=manifest)
    site.module("plug_e", PLUGIN)
    site.distribution(
        "plug-d", backends={"plug": "plug_d:compile"}, manifests={"plug": "plug_d:dynreg.toml"}
    )
    site.distribution("plug-e", backends={"taken": "plug_e:compile"})
    registry = installed()
    assert registry.lookup_backend("taken").__module__ == "plug_e"
    assert statuses(registry, "taken") == ["loaded", "shadowed (by plug-e 1.0)"]
    assert infos(registry, "taken")[1].status.hint == (
        "use 'taken@plug-d', or `pin = [\"taken@plug-d\"]` under [tool.dynreg] in pyproject.toml"
    )


@pytest.mark.parametrize(
    ("source", "target", "cause", "hint"),
    [
        (
            None,
            "broken_mod:compile",
            "ModuleNotFoundError: No module named 'broken_mod'",
            (
                "reinstall or update broken, or report this to its authors; the other backends are "
                "not affected"
            ),
        ),
        (
            "import missing_dependency.sub",
            "broken_mod:compile",
            "ModuleNotFoundError: No module named 'missing_dependency'",
            "install the package that provides the module 'missing_dependency'",
        ),
        (
            "",
            "broken_mod:compile",
            "AttributeError: module 'broken_mod' has no attribute 'compile'",
            None,
        ),
        (
            "compile = 3",
            "broken_mod:compile",
            "it is int 3, which is not callable",
            None,
        ),
        (
            "raise OSError('libacme.so:\\n  missing')",
            "broken_mod:compile",
            "OSError: libacme.so: missing",
            None,
        ),
        ("raise ValueError", "broken_mod:compile", "ValueError", None),
        (
            "raise ModuleNotFoundError('odd')",
            "broken_mod:compile",
            "ModuleNotFoundError: odd",
            None,
        ),
        ("raise SystemExit(3)", "broken_mod:compile", "SystemExit: 3", None),
        (
            "",
            "broken_mod compile",
            "ValueError: 'broken_mod compile' is not of the form package.module:function",
            None,
        ),
    ],
)
def test_a_broken_plugin_breaks_only_itself_and_says_so(
    site, installed, source, target, cause, hint
):
    if source is not None:
        site.module("broken_mod", source)
    site.module("sound_mod", PLUGIN)
    site.distribution("broken", "0.3", backends={"broken": target})
    site.distribution("sound", backends={"sound": "sound_mod:compile"})
    registry = installed()
    for _ in range(2):
        with pytest.raises(BackendLoadError) as caught:
            registry.lookup_backend("broken")
        error = caught.value
        assert isinstance(error, ImportError)
        assert error.sentence == (
            f"backend 'broken' from broken 0.3 cannot be loaded: {target}: {cause}"
        )
        assert hint is None or error.hint == hint
        assert (error.__cause__ is None) is (source == "compile = 3")
    assert statuses(registry, "broken") == [f"broken ({cause})"]
    assert registry.lookup_backend("sound")
    assert registry.is_registered_backend("broken")


def test_a_missing_module_is_told_before_the_plugin_is_loaded(site, installed):
    site.distribution("gone", backends={"gone": "gone_mod.sub:compile", "odd": "no place"})
    registry = installed()
    assert statuses(registry, "gone") == [
        "broken (ModuleNotFoundError: No module named 'gone_mod')"
    ]
    assert statuses(registry, "odd") == [
        "broken (ValueError: 'no place' is not of the form package.module:function)"
    ]


def test_a_repaired_plugin_works_without_a_restart(site, installed):
    file = site.module("fixed_mod", "raise OSError")
    site.distribution("fixed", backends={"fixed": "fixed_mod:compile"})
    registry = installed()
    with pytest.raises(BackendLoadError):
        registry.lookup_backend("fixed")
    file.write_text(PLUGIN + "# longer, so that no cached bytecode fits\n")
    assert registry.lookup_backend("fixed")
    assert statuses(registry, "fixed") == ["loaded"]


def test_a_module_that_makes_a_new_object_for_each_access_is_one_backend(site, installed):
    site.module(
        "fresh_mod",
        "def __getattr__(name):\n    return lambda gm, example_inputs: gm\n",
    )
    site.distribution("fresh", backends={"fresh": "fresh_mod:compile"})
    registry = installed()
    found = registry.lookup_backend("fresh")
    registry.register_backend(first)
    assert registry.lookup_backend("fresh") is found


def test_a_module_may_register_itself_on_import_in_any_way(site, make_registry, monkeypatch):
    registry = Registry(policy=Policy, torch=make_registry()._lookup._environment.torch)
    monkeypatch.setattr(sys, "dynreg_test_registry", registry, raising=False)
    site.module(
        "self_mod",
        """
        import sys
        @sys.dynreg_test_registry.register_backend(name="self", tags=("a",))
        def compile(gm, example_inputs):
            return gm
        @sys.dynreg_test_registry.register_backend(name="wrapped")
        def inner(gm, example_inputs):
            return gm
        def wrapper(gm, example_inputs):
            return inner(gm, example_inputs)
        """,
    )
    site.distribution("self", backends={"self": "self_mod:compile", "wrapped": "self_mod:wrapper"})
    assert registry.lookup_backend("self").__name__ == "compile"
    assert registry.lookup_backend("self").__name__ == "compile"
    # What the program registers comes first, whichever of the two names is looked up first.
    assert registry.lookup_backend("wrapped").__name__ == "inner"
    registry.unregister_backend("wrapped")
    assert registry.lookup_backend("wrapped").__name__ == "wrapper"


def test_requirements_are_checked_before_anything_is_imported(site, installed, torch_source):
    site.package(
        "needy",
        "raise RuntimeError('imported')",
        dynreg_toml="""
            schema = 1
            [backends.needy.requires]
            modules = ["needy_runtime"]
            [backends.picky]
            torch = ">=99"
        """,
    )
    site.distribution(
        "needy",
        backends={"needy": "needy:compile", "picky": "needy:compile2"},
        manifests={"needy": "needy:dynreg.toml"},
    )
    registry = installed()
    with pytest.raises(BackendUnavailableError) as caught:
        registry.lookup_backend("needy")
    assert str(caught.value) == (
        "backend 'needy' from needy 1.0 cannot work here: it needs the module 'needy_runtime', "
        "which is not installed\n"
        "hint: install the package that provides 'needy_runtime'"
    )
    assert statuses(registry, "needy") == [
        "unavailable (needs the module 'needy_runtime', which is not installed)"
    ]
    assert not infos(registry, "needy")[0].status.usable
    assert statuses(registry, "picky") == [
        "unavailable (needs torch >=99, and torch 2.13.0 is installed)"
    ]


def test_a_backend_of_torch_that_fails_to_load(make_registry, torch_source):
    class Broken(torch_source):
        def load(self, name):
            raise UnknownBackendError(name) if name == "eager" else OSError("libtorch.so")

    registry = make_registry(torch=Broken())
    with pytest.raises(BackendLoadError) as caught:
        registry.lookup_backend("inductor")
    assert str(caught.value) == (
        "backend 'inductor' cannot be loaded: torch's backend 'inductor': OSError: libtorch.so\n"
        "hint: check that torch works"
    )
    with pytest.raises(UnknownBackendError):
        registry.lookup_backend("eager")


def test_a_backend_of_torch_that_cannot_work_is_told(registry):
    assert statuses(registry, "tvm") == [
        "unavailable (needs the module 'tvm', which is not installed)"
    ]
    with pytest.raises(BackendUnavailableError) as caught:
        registry.lookup_backend("tvm")
    assert caught.value.sentence == (
        "backend 'tvm' cannot work here: it needs the module 'tvm', which is not installed"
    )
    assert "tvm" in registry.list_backends()  # as in torch


def test_a_malformed_manifest_is_warned_about_once_and_the_backend_works(site, installed):
    folder = site.package("bad_manifest", PLUGIN, dynreg_toml="schema = 2\n[backends.bad]\n")
    site.distribution(
        "bad-manifest",
        backends={"bad": "bad_manifest:compile"},
        manifests={"bad": "bad_manifest:dynreg.toml"},
    )
    registry = installed()
    place = f"{folder}/dynreg.toml:1: schema: 2"
    with pytest.warns(PluginWarning) as caught:
        registry.lookup_backend("bad")
    assert str(caught[0].message) == (
        f"the manifest of bad-manifest 1.0 is ignored: {place}; expected the number 1"
    )
    registry.lookup_backend("bad@bad-manifest")
    (problem,) = problems(registry, "bad-manifest")
    assert (problem.problem, problem.hint) == (place, "expected the number 1")


def test_a_manifest_for_what_is_not_there_is_a_problem(site, installed):
    folder = site.package(
        "misdeclared", PLUGIN, dynreg_toml="schema = 1\n[backends.other.aliases.more]\n"
    )
    site.distribution(
        "misdeclared",
        backends={"mine": "misdeclared:compile"},
        manifests={"m": "misdeclared:dynreg.toml"},
    )
    registry = installed()
    (problem,) = problems(registry, "misdeclared")
    assert problem.problem == (
        f"{folder}/dynreg.toml:2 describes 'other', and misdeclared has no entry point of this "
        "name in torch_dynamo_backends"
    )
    assert not registry.is_registered_backend("more")


def test_two_entry_points_of_one_name_in_one_distribution(site, installed):
    site.module("twice_mod", "def a(gm, x): return gm\ndef b(gm, x): return gm\n")
    text = "[torch_dynamo_backends]\ntwice = twice_mod:a\ntwice = twice_mod:b\nok = m:f\nok = m:f\n"
    site.distribution("twice", entry_points=text)
    registry = installed()
    assert registry.lookup_backend("twice").__name__ == "a"
    (problem,) = problems(registry, "twice")
    assert problem.problem == (
        "twice has two entry points named 'twice': twice_mod:a and twice_mod:b; the first is used"
    )


# --- ambiguity, pins, shadows ------------------------------------------------------------------


@pytest.fixture
def rivals(make_registry, entry_point):
    """Two distributions with one name, under a policy."""

    def make(policy=None):
        return make_registry(
            entry_point("turbine", "json:dumps", "iree-turbine", "3.1"),
            entry_point("turbine", "json:loads", "shark_turbine", "0.9"),
            policy=policy,
        )

    return make


def test_two_distributions_with_one_name_are_an_ambiguity(rivals):
    import json

    registry = rivals()
    with pytest.raises(AmbiguousBackendError) as caught:
        registry.lookup_backend("turbine")
    assert str(caught.value) == (
        "backend 'turbine' is ambiguous: 2 distributions provide it: iree-turbine 3.1, "
        "shark_turbine 0.9\n"
        "hint: say which one, as 'turbine@iree-turbine' or 'turbine@shark_turbine', or settle it "
        'for the project with `pin = ["turbine@iree-turbine"]` under [tool.dynreg] in '
        "pyproject.toml"
    )
    assert statuses(registry, "turbine") == ["ambiguous (iree-turbine 3.1, shark_turbine 0.9)"] * 2
    assert registry.is_registered_backend("turbine")
    assert registry.get_backend_info("turbine").status.kind == "ambiguous"
    assert "turbine" in registry.list_backends()
    assert registry.lookup_backend("turbine@iree-turbine") is json.dumps
    assert registry.lookup_backend("turbine@Shark-Turbine") is json.loads
    assert registry.get_backend_info("turbine@shark-turbine").target == "json:loads"


def test_a_pin_of_the_policy_settles_it(rivals):
    import json

    registry = rivals(Policy(pins=(Rule("pin", "turbine@shark-turbine", "here"),)))
    assert registry.lookup_backend("turbine") is json.loads
    assert statuses(registry, "turbine") == ["loaded", "shadowed (by shark_turbine 0.9)"]


@pytest.mark.filterwarnings("ignore::dynreg_core.errors.PolicyWarning")
def test_a_pin_to_what_is_not_installed_is_no_licence_for_the_rest(rivals):
    registry = rivals(Policy(pins=(Rule("pin", "turbine@other", "pyproject.toml:3"),)))
    with pytest.raises(BackendDeniedError) as caught:
        registry.lookup_backend("turbine")
    assert caught.value.sentence == (
        "backend 'turbine' is denied by pin = \"turbine@other\" in pyproject.toml:3"
    )
    assert (
        statuses(registry, "turbine") == ['denied (pin = "turbine@other" in pyproject.toml:3)'] * 2
    )
    assert not registry.is_registered_backend("turbine")
    assert "turbine" not in registry.list_backends()


def test_denying_one_of_two_settles_it_too(rivals):
    import json

    registry = rivals(Policy(deny=(Rule("deny", "*@iree*", "here"),)))
    assert registry.lookup_backend("turbine") is json.loads
    assert statuses(registry, "turbine") == ["loaded", 'denied (deny = "*@iree*" in here)']


def test_what_is_denied_cannot_be_used_under_any_name(make_registry, entry_point):
    policy = Policy(
        deny=(
            Rule("deny", "acme", "DYNREG_DENY"),
            Rule("deny", "eager", "DYNREG_DENY"),
            Rule("deny", "json:dumps", "DYNREG_DENY"),
        )
    )
    registry = make_registry(entry_point("acme", "json:dumps"), policy=policy)
    for name in ("acme", "acme@acme", "eager", "eager@torch", "json:dumps"):
        with pytest.raises(BackendDeniedError):
            registry.lookup_backend(name)
    with pytest.raises(BackendDeniedError) as caught:
        registry.register_alias("other", "acme")
    assert str(caught.value) == (
        "backend 'acme' is denied by deny = \"acme\" in DYNREG_DENY\n"
        "hint: change DYNREG_DENY, or use a backend that it allows: `dynreg list` shows them"
    )
    registry.register_backend(first, name="acme")
    with pytest.raises(BackendDeniedError):
        registry.lookup_backend("acme")
    assert not registry.is_registered_backend("acme")
    assert not {"acme", "eager"} & set(registry.list_backends(None))


def test_an_allow_list_allows_nothing_else(make_registry, entry_point):
    policy = Policy(allow=(Rule("allow", "acme", "here"), Rule("allow", "*@torch", "here")))
    registry = make_registry(
        entry_point("acme", "json:dumps"), entry_point("other", "json:loads"), policy=policy
    )
    registry.lookup_backend("acme")
    registry.lookup_backend("eager")
    with pytest.raises(BackendDeniedError, match=r'denied by allow = "acme, \*@torch" in here'):
        registry.lookup_backend("other")


def test_an_entry_point_with_a_name_of_torch_is_shadowed(make_registry, entry_point):
    import json

    registry = make_registry(entry_point("eager", "json:dumps", "acme", "1.2"))
    assert registry.lookup_backend("eager") is not json.dumps
    assert statuses(registry, "eager") == ["ready", "shadowed (by torch's built-in backend)"]
    shadowed = infos(registry, "eager")[1]
    assert shadowed.status.hint == (
        "use 'eager@acme', or take the name over with "
        "register_backend(lookup_backend('eager@acme'), 'eager', replace=True)"
    )
    assert registry.lookup_backend("eager@acme") is json.dumps
    registry.register_backend(registry.lookup_backend("eager@acme"), "eager", replace=True)
    assert registry.lookup_backend("eager") is json.dumps


def test_an_entry_point_comes_before_what_was_registered_with_torch(
    make_registry, entry_point, torch_source
):
    import json

    torch = torch_source(["vendor", "only_torch"])
    registry = make_registry(entry_point("vendor", "json:dumps"), torch=torch)
    assert registry.lookup_backend("vendor") is json.dumps
    assert statuses(registry, "vendor")[1].startswith("shadowed (by acme 1.0)")
    assert registry.get_backend_info("only_torch").source == "torch"


# --- unknown names -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "turbin",
            "no backend is named 'turbin'\nhint: did you mean 'turbine'?",
        ),
        ("Eager", "no backend is named 'Eager'\nhint: did you mean 'eager'?"),
        (
            "xyzzy",
            "no backend is named 'xyzzy'\nhint: `dynreg list --all` shows every name",
        ),
        (
            "hidet",
            "no backend is named 'hidet'\nhint: `pip install hidet` provides 'hidet'",
        ),
        (
            "openvino",
            "no backend is named 'openvino'\nhint: `pip install openvino` provides 'openvino'",
        ),
        (
            "turbine_cpu",
            (
                "no backend is named 'turbine_cpu'\n"
                "hint: did you mean 'turbine'? `pip install iree-turbine` provides 'turbine_cpu'"
            ),
        ),
        (
            "turbine@other",
            (
                "no backend is named 'turbine@other': other does not provide it; "
                "iree-turbine 3.1, shark_turbine 0.9 do\nhint: `dynreg list --all` shows every name"
            ),
        ),
        (
            "eager@other",
            (
                "no backend is named 'eager@other': other does not provide it; torch's built-in "
                "backend does\nhint: `dynreg list --all` shows every name"
            ),
        ),
        (
            "xyzzy@other",
            (
                "no backend is named 'xyzzy@other': other does not provide it\n"
                "hint: `dynreg list --all` shows every name"
            ),
        ),
    ],
)
def test_an_unknown_name_says_what_may_help(rivals, name, text):
    with pytest.raises(UnknownBackendError) as caught:
        rivals().lookup_backend(name)
    assert str(caught.value) == text
    assert isinstance(caught.value, LookupError)


def test_a_name_that_only_an_import_registers(registry, site, monkeypatch):
    site.module("intel_extension_for_pytorch", "")
    with pytest.raises(UnknownBackendError) as caught:
        registry.lookup_backend("ipex")
    assert str(caught.value) == (
        "no backend is named 'ipex': intel-extension-for-pytorch registers it when "
        "intel_extension_for_pytorch is imported, and has no entry point\n"
        "hint: `import intel_extension_for_pytorch` first"
    )
    monkeypatch.setitem(sys.modules, "intel_extension_for_pytorch", sys)
    with pytest.raises(UnknownBackendError) as caught:
        registry.lookup_backend("ipex")
    assert caught.value.sentence == (
        "no backend is named 'ipex': intel_extension_for_pytorch is imported, and has not "
        "registered it"
    )


def test_turned_off_plugins_are_why(make_registry, entry_point):
    registry = make_registry(entry_point("acme", "json:dumps"), policy=Policy(plugins=False))
    with pytest.raises(UnknownBackendError) as caught:
        registry.lookup_backend("acme")
    assert caught.value.sentence == (
        "no backend is named 'acme': plugins are turned off in built in"
    )
    assert "acme" not in registry.list_backends()


@pytest.mark.parametrize("name", [3, None, b"x"])
def test_a_name_is_a_string(registry, name):
    for question in (registry.get_backend_info, registry.backend):
        with pytest.raises(ArgumentTypeError):
            question(name)
    with pytest.raises(ArgumentTypeError):
        registry.register_alias("other", name)


# --- qualified names ---------------------------------------------------------------------------


def test_a_qualified_name_is_its_target(registry):
    import json

    assert registry.lookup_backend("json:dumps") is json.dumps
    assert registry.lookup_backend("json.decoder:JSONDecoder.decode") is json.JSONDecoder.decode
    assert registry.backend("json:dumps") == registry.backend("json:dumps")
    assert registry.is_registered_backend("json:dumps")
    assert not registry.is_registered_backend("missing_module:compile")
    with pytest.raises(BackendLoadError) as caught:
        registry.lookup_backend("json:missing")
    assert str(caught.value) == (
        "backend 'json:missing' cannot be loaded: json:missing: AttributeError: module 'json' has "
        "no attribute 'missing'\n"
        "hint: check that json:missing can be imported and is callable"
    )


# --- asking ------------------------------------------------------------------------------------


def test_is_registered_backend(registry):
    registry.register_backend(first)
    assert registry.is_registered_backend("first")
    assert registry.is_registered_backend("eager")
    assert registry.is_registered_backend(first)
    assert registry.is_registered_backend(registry.backend("first"))
    assert not registry.is_registered_backend("missing")
    assert not registry.is_registered_backend(second)
    assert not registry.is_registered_backend(BackendHandle("missing"))


def test_what_torch_should_call(registry, make_registry, entry_point):
    @dataclass
    class Options:
        level: int = 0

    def full(gm, example_inputs, *, mode=None, options=None):
        return gm

    registry.register_backend(full)
    registry.register_backend(full, name="declared", options=Options)
    registry.register_backend(first)
    assert registry.compiler_fn_for_torch("full") is full
    assert registry.compiler_fn_for_torch("eager") is registry.lookup_backend("eager")
    checked = registry.compiler_fn_for_torch("declared")
    assert isinstance(checked, BackendHandle)
    assert checked == registry.compiler_fn_for_torch("declared")
    with pytest.raises(DynregError, match="no option 'levle'"):
        checked("graph", [], options={"levle": 3})
    with pytest.raises(DynregError, match="takes no mode"):
        registry.compiler_fn_for_torch("first")("graph", [], mode="fast")
    assert registry.compiler_fn_for_torch("json:dumps") is sys.modules["json"].dumps
    assert isinstance(registry.compiler_fn_for_torch("math:hypot"), BackendHandle) is False
    assert isinstance(registry.compiler_fn_for_torch("textwrap:shorten"), BackendHandle) is False
    assert isinstance(registry.compiler_fn_for_torch("textwrap:indent"), BackendHandle)


def test_excluded_tags_are_tags(registry):
    with pytest.raises(ArgumentTypeError, match="exclude_tags must be a sequence of strings"):
        registry.list_backends("debug")


# --- refresh -----------------------------------------------------------------------------------


def test_what_is_installed_later_is_found_by_refresh_and_by_a_failing_lookup(site, installed):
    registry = installed()
    assert not registry.is_registered_backend("late")
    site.module("late_mod", PLUGIN)
    site.distribution("late", backends={"late": "late_mod:compile"})
    assert registry.lookup_backend("late")
    site.distribution("later", backends={"later": "late_mod:compile"})
    assert registry.refresh()
    assert not registry.refresh()
    assert "later" in registry.list_backends()


def test_a_failing_lookup_in_an_unchanged_environment_scans_nothing(
    site, installed, monkeypatch, tmp_path
):
    registry = installed()
    registry.list_backends()
    scans = []
    monkeypatch.setattr(_metadata, "changed_since", lambda last: False)
    monkeypatch.setattr(_metadata, "scan_paths", lambda *args: scans.append(args))
    with pytest.raises(UnknownBackendError):
        registry.lookup_backend("late")
    assert scans == []


def test_a_failing_lookup_that_finds_something_else_installed_still_explains(site, installed):
    registry = installed()
    registry.list_backends()
    site.distribution("late", backends={"late": "late_mod:compile"})
    with pytest.raises(UnknownBackendError, match="did you mean 'late'"):
        registry.lookup_backend("lates")


def test_threads_that_look_first_at_once_look_once(entry_point, torch_source):
    looks = []

    def slow():
        looks.append(threading.get_ident())
        time.sleep(0.05)
        return [entry_point("acme", "json:dumps")]

    registry = Registry(entry_points=slow, policy=Policy, torch=torch_source())
    together(4, lambda number: registry.lookup_backend("acme"))
    assert len(looks) == 1


def test_a_failing_lookup_looks_again_and_still_fails(make_registry):
    with pytest.raises(UnknownBackendError):
        make_registry().lookup_backend("missing")


def test_refresh_rereads_the_policy(entry_point, torch_source):
    policies = [Policy(), Policy(plugins=False)]
    registry = Registry(
        entry_points=lambda: [entry_point("acme", "json:dumps")],
        policy=lambda: policies[0],
        torch=torch_source(),
    )
    registry.lookup_backend("acme")
    policies.pop(0)
    assert registry.policy.plugins
    assert registry.refresh()
    assert not registry.policy.plugins
    with pytest.raises(UnknownBackendError):
        registry.lookup_backend("acme")


def test_what_changes_during_a_lookup_leaves_nothing_outdated(torch_source):
    class Slow(torch_source):
        def load(self, name):
            during.pop()()
            return super().load(name)

    policies = [Policy()]
    registry = Registry(entry_points=list, policy=lambda: policies[-1], torch=Slow())

    def deny():
        policies.append(Policy(deny=(Rule("deny", "eager", "here"),)))
        registry.refresh()

    def register():
        registry.register_backend(second, "inductor", replace=True)

    during = [deny, register]
    assert registry.lookup_backend("inductor") is second
    registry.unregister_backend("inductor")
    registry.lookup_backend("eager")  # it was allowed when it was asked for
    with pytest.raises(BackendDeniedError):
        registry.lookup_backend("eager")


# --- threads -----------------------------------------------------------------------------------


def together(count, function):
    """Run a function in threads that start at once; return results and errors."""
    barrier = threading.Barrier(count)
    results = []

    def run(number):
        barrier.wait()
        try:
            results.append(function(number))
        except Exception as error:  # noqa: BLE001 - the test looks at it
            results.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_threads_that_look_up_one_new_entry_point_share_one_import(site, installed):
    site.module(
        "slow_mod",
        """
        import sys, time
        sys.dynreg_test_imports = getattr(sys, "dynreg_test_imports", 0) + 1
        time.sleep(0.05)
        def compile(gm, example_inputs):
            return gm
        """,
    )
    site.distribution("slow", backends={"slow": "slow_mod:compile"})
    registry = installed()
    try:
        found = together(8, lambda number: registry.lookup_backend("slow"))
        assert len({id(result) for result in found}) == 1
        assert found[0] is sys.modules["slow_mod"].compile
        assert sys.dynreg_test_imports == 1
    finally:
        del sys.dynreg_test_imports


def test_threads_that_register_at_once_lose_nothing(registry):
    def register(number):
        for step in range(50):
            registry.register_backend(first, name=f"n{number}_{step}")
        return number

    assert sorted(together(8, register)) == list(range(8))
    assert len(registry.state.registrations) == 400


def test_of_threads_that_register_one_name_one_wins(registry):
    def register(number):
        return registry.register_backend(lambda gm, example_inputs: gm, name="name")

    results = together(8, register)
    winners = [result for result in results if not isinstance(result, Exception)]
    assert winners == [registry.lookup_backend("name")]
    assert all(isinstance(r, DuplicateBackendError) for r in results if r not in winners)
