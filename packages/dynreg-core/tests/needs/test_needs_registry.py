"""What people hit with torch.compile backends, line by line of docs/needs.md: the registry's part.

A test's number is that of its line. The bridge's part stands beside this file.
"""
# ruff: noqa: S301 - what is unpickled was pickled here

import copy
import functools
import pickle
import re
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import pytest

from dynreg_core import BackendHandle, Registry, _default, parse_options
from dynreg_core._policy import Policy, load_policy
from dynreg_core.errors import (
    AmbiguousBackendError,
    BackendLoadError,
    BackendOptionError,
    BackendSignatureError,
    DuplicateBackendError,
    DynregError,
    IgnoredOptionWarning,
    PluginWarning,
    PolicyError,
    PolicyWarning,
    UnknownBackendError,
)

PLUGIN = "def compile(gm, example_inputs, *, mode=None, options=None):\n    return gm.forward\n"


def compile_graph(gm, example_inputs):
    return gm.forward


@pytest.fixture
def plugin(site):
    """Install a plugin: a module, an entry point, and perhaps a manifest."""

    def install(name, source=PLUGIN, *, backend=None, manifest=None, version="1.0", module=None):
        module = module or f"need_{name}"
        files = {} if manifest is None else {"dynreg_toml": manifest}
        site.package(module, source, **files)
        site.distribution(
            name.replace("_", "-"),
            version,
            backends={backend or name: f"{module}:compile"},
            manifests=None if manifest is None else {name: f"{module}:dynreg.toml"},
        )
        return module

    return install


def status_of(registry, name):
    return str(registry.get_backend_info(name).status)


def test_need_01_a_module_that_registers_itself_and_is_an_entry_point(
    plugin, installed, monkeypatch
):
    registry = installed()
    monkeypatch.setattr(sys, "need_registry", registry, raising=False)
    plugin(
        "openvino_like",
        """
        import sys
        @sys.need_registry.register_backend(name="openvino_like")
        def compile(gm, example_inputs):
            return gm
        """,
    )
    first = registry.lookup_backend("openvino_like")
    assert first is sys.modules["need_openvino_like"].compile
    assert registry.lookup_backend("openvino_like") is first


def test_need_02_registering_the_same_target_twice_is_a_no_op(registry):
    registry.register_backend(compile_graph, name="npu", tags=("x",))
    before = registry.state
    registry.register_backend(compile_graph, name="npu")
    assert registry.state is before


def test_need_03_an_entry_point_never_called_is_listed(plugin, installed):
    plugin("never_called")
    assert "never_called" in installed().list_backends()


def test_need_04_a_list_imports_no_third_party(plugin, installed):
    plugin("loud", "raise RuntimeError('imported')", manifest="schema = 1\n[backends.loud]\n")
    registry = installed()
    registry.list_backends()  # what dynreg itself needs is imported by now
    before = set(sys.modules)
    registry.refresh()
    registry.list_backends()
    registry.list_backend_info(None)
    registry.get_backend_info("loud")
    assert set(sys.modules) == before


def test_need_05_the_list_says_which_names_work_here(plugin, installed):
    plugin("works", manifest="schema = 1\n[backends.works]\ntags = ['fast']\n")
    plugin(
        "lacks",
        manifest="schema = 1\n[backends.lacks.requires]\ncommands = ['need-no-such-command']\n",
    )
    infos = {info.name: info for info in installed().list_backend_info()}
    assert (infos["works"].tags, str(infos["works"].status)) == (("fast",), "ready")
    assert str(infos["lacks"].status) == (
        "unavailable (needs the command 'need-no-such-command', which is not on the PATH)"
    )
    assert infos["lacks"].status.hint == ("install need-no-such-command, or add its folder to PATH")


def test_need_06_tags_are_known_before_import(plugin, installed):
    module = plugin("debugger", manifest="schema = 1\n[backends.debugger]\ntags = ['debug']\n")
    registry = installed()
    assert "debugger" not in registry.list_backends()
    assert "debugger" in registry.list_backends(None)
    assert module not in sys.modules


def test_need_07_options_arrive_typed(registry):
    @dataclass(frozen=True)
    class Options:
        threads: int = 1
        verbose: bool = False

    seen = []

    @registry.register_backend(name="typed")
    def typed(gm, example_inputs, *, options=None):
        seen.append(parse_options(Options, options, backend="typed"))
        return gm

    registry.backend("typed", threads=4)("graph", [])
    assert seen == [Options(threads=4)]
    with pytest.raises(BackendOptionError, match="must be int, not str '4'"):
        registry.backend("typed", threads="4")("graph", [])


def test_need_08_a_mode_that_is_not_taken_is_told_when_the_name_is_resolved(registry):
    called = []

    @registry.register_backend(name="modeless")
    def modeless(gm, example_inputs):
        called.append(gm)
        return gm

    with pytest.raises(BackendSignatureError, match="backend 'modeless' takes no mode"):
        registry.backend("modeless", mode="max-autotune")
    assert called == []


def test_need_09_a_backend_is_swapped_without_touching_options(plugin, installed):
    manifest = "schema = 1\n[backends.{0}.options.{1}]\ntype = 'int'\n"
    plugin("swap_a", manifest=manifest.format("swap_a", "threads"))
    plugin("swap_b", manifest=manifest.format("swap_b", "streams"))
    registry = installed()
    options = {"threads": 4}
    registry.backend("swap_a", **options)
    with pytest.raises(BackendOptionError, match="'swap_b' has no option 'threads'"):
        registry.backend("swap_b", **options)
    with pytest.warns(
        IgnoredOptionWarning, match="no option 'threads', which was left out"
    ) as seen:
        handle = registry.backend("swap_b", **options, on_unknown_option="warn")
    assert len(seen) == 1
    assert (handle.options, options) == ({}, {"threads": 4})


def test_need_10_a_default_is_honoured_and_an_unknown_one_is_refused(registry):
    registry.set_default_backend("eager")
    assert registry.get_default_backend() == "eager"
    with pytest.raises(UnknownBackendError, match="no backend is named 'eagre'"):
        registry.set_default_backend("eagre")
    assert registry.get_default_backend() == "eager"


def test_need_11_defaults_of_device_types_differ(registry):
    registry.set_default_backend("eager", device="cuda")
    assert registry.default_for("cuda:0") == "eager"
    assert registry.default_for("cpu") == "inductor"


def test_need_12_no_table_of_hardware_is_needed(plugin, installed):
    plugin("acme_chip", manifest="schema = 1\n[backends.acme_chip]\ndevices = ['acme']\n")
    assert installed().default_for("acme") == "acme_chip"


def test_need_13_a_validator_accepts_whatever_is_installed(plugin, installed):
    module = plugin("vendor")
    registry = installed()
    assert registry.is_registered_backend("vendor")
    assert registry.is_registered_backend("inductor")
    assert registry.is_registered_backend(f"{module}:compile")
    assert not registry.is_registered_backend("vendro")
    assert module not in sys.modules


def test_need_14_an_explicit_choice_always_wins(make_registry, tmp_path):
    policy = load_policy(str(tmp_path), {"DYNREG_DEFAULTS": "cpu=inductor"})
    registry = make_registry(policy=policy)
    registry.set_default_backend("eager")
    assert registry.default_for("cpu") == "eager"
    assert registry.backend("inductor").name == "inductor"
    with registry.using("inductor"):
        assert registry.default_for("cpu") == "inductor"


def test_need_15_a_qualified_name_resolves(site, registry):
    site.module("need_qualified.inner", PLUGIN)
    found = registry.lookup_backend("need_qualified.inner:compile")
    assert found is sys.modules["need_qualified.inner"].compile


def test_need_16_the_name_alone_is_enough(plugin, installed):
    module = plugin("unimported")
    registry = installed()
    assert module not in sys.modules
    assert registry.lookup_backend("unimported") is sys.modules[module].compile


def test_need_17_an_imported_package_that_registers_nothing_is_why(registry, monkeypatch):
    monkeypatch.setitem(sys.modules, "intel_extension_for_pytorch", sys)
    with pytest.raises(UnknownBackendError) as caught:
        registry.lookup_backend("ipex")
    assert caught.value.sentence == (
        "no backend is named 'ipex': intel_extension_for_pytorch is imported, and has not "
        "registered it"
    )


def test_need_18_a_name_of_torch_that_can_never_work_says_why(registry):
    assert status_of(registry, "tvm") == (
        "unavailable (needs the module 'tvm', which is not installed)"
    )
    with pytest.raises(DynregError, match="cannot work here: it needs the module 'tvm'"):
        registry.lookup_backend("tvm")


def test_need_19_a_load_failure_names_everything(plugin, installed):
    module = plugin("hidet_like", "raise OSError('libhidet.so: missing')", version="0.6")
    with pytest.raises(BackendLoadError) as caught:
        installed().lookup_backend("hidet_like")
    assert caught.value.sentence == (
        f"backend 'hidet_like' from hidet-like 0.6 cannot be loaded: {module}:compile: "
        "OSError: libhidet.so: missing"
    )
    assert isinstance(caught.value.__cause__, OSError)


def test_need_20_a_broken_package_breaks_only_itself(plugin, site, installed):
    plugin("breaks", "import need_missing_dependency")
    plugin("sound")
    site.distribution("removed", backends={"removed": "need_removed:compile"})
    site.distribution("malformed", entry_points="[torch_dynamo_backends]\nno equals sign\n")
    registry = installed()
    for name in ("breaks", "removed"):
        with pytest.raises(BackendLoadError):
            registry.lookup_backend(name)
        assert status_of(registry, name).startswith("broken (ModuleNotFoundError: ")
    assert registry.lookup_backend("sound")
    assert registry.lookup_backend("eager")


def test_need_21_no_failure_is_swallowed_and_no_work_runs_elsewhere(
    plugin, installed, make_registry, tmp_path
):
    plugin("half", manifest="schema = 2\n[backends.half]\n")
    registry = installed()
    with pytest.warns(PluginWarning, match="the manifest of half 1.0 is ignored"):
        registry.lookup_backend("half")
    assert [p.distribution for p in registry.problems() if p.distribution == "half"] == ["half"]

    plugin("fails", "raise OSError")
    registry.refresh()
    with pytest.raises(BackendLoadError):
        registry.lookup_backend("fails")
    assert status_of(registry, "fails") == "broken (OSError)"

    lost = make_registry(policy=load_policy(str(tmp_path), {"DYNREG_DEFAULT": "gone"}))
    with (
        pytest.warns(PolicyWarning, match='default = "gone" in DYNREG_DEFAULT matches no backend'),
        pytest.raises(PolicyError, match="the default 'gone' cannot be used"),
    ):
        lost.get_default_backend()


def test_need_22_a_misspelt_rule_warns(make_registry, tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.dynreg]\nallow = ['eager', 'inducter']\n")
    registry = make_registry(policy=load_policy(str(tmp_path), {}))
    with pytest.warns(PolicyWarning, match="did you mean 'inductor'"):
        registry.list_backends()


def test_need_23_one_name_from_two_distributions_is_for_a_pin_to_settle(
    plugin, site, installed, tmp_path
):
    plugin("iree_turbine", backend="turbine_cpu")
    plugin("shark_turbine", backend="turbine_cpu")
    registry = installed()
    with pytest.raises(AmbiguousBackendError) as caught:
        registry.lookup_backend("turbine_cpu")
    assert set(caught.value.distributions) == {"iree-turbine 1.0", "shark-turbine 1.0"}
    for distribution in ("iree-turbine", "shark-turbine"):
        module = f"need_{distribution.replace('-', '_')}"
        pin = f"turbine_cpu@{distribution}"
        assert registry.lookup_backend(pin).__module__ == module
        policy = load_policy(str(tmp_path), {"DYNREG_PIN": pin})
        assert installed(policy=policy).lookup_backend("turbine_cpu").__module__ == module


def test_need_24_a_process_scans_once(site, torch_source, monkeypatch):
    from dynreg_core import _metadata

    scans = []
    scan_paths = _metadata.scan_paths
    monkeypatch.setattr(_metadata, "scan_paths", lambda *a: scans.append(a) or scan_paths(*a))
    for _ in range(2):
        registry = Registry(policy=Policy, torch=torch_source())
        registry.list_backends()
        registry.list_backend_info(None)
        registry.get_backend_info("eager")
    assert len(scans) == 1


@pytest.mark.parametrize("no", ["0", "false", "No", "OFF"])
def test_need_25_plugins_are_turned_off_in_any_usual_spelling(plugin, installed, tmp_path, no):
    module = plugin("unwanted")
    registry = installed(policy=load_policy(str(tmp_path), {"DYNREG_PLUGINS": no}))
    assert "unwanted" not in registry.list_backends(None)
    with pytest.raises(UnknownBackendError, match="plugins are turned off in DYNREG_PLUGINS"):
        registry.lookup_backend("unwanted")
    assert module not in sys.modules
    assert registry.lookup_backend("eager")


@pytest.mark.parametrize("yes", ["1", "true", "Yes", "ON"])
def test_need_25_and_on_likewise(plugin, installed, tmp_path, yes):
    plugin("wanted")
    registry = installed(policy=load_policy(str(tmp_path), {"DYNREG_PLUGINS": yes}))
    assert registry.lookup_backend("wanted")


def test_need_26_what_is_installed_later_needs_no_restart(plugin, installed):
    registry = installed()
    with pytest.raises(UnknownBackendError):
        registry.lookup_backend("later")
    plugin("later")
    assert registry.lookup_backend("later")
    plugin("even_later")
    registry.refresh()
    assert "even_later" in registry.list_backends()


def test_need_27_a_fresh_backend_object_each_call_compiles_once(registry):
    torch = pytest.importorskip("torch")
    compilations = []

    @registry.register_backend(name="counted")
    def counted(gm, example_inputs, *, options=None):
        compilations.append(options)
        return gm.forward

    def function(x):
        return x * 2

    torch._dynamo.reset()
    for _ in range(3):
        backend = registry.backend("counted", level=3)
        assert torch.equal(
            torch.compile(function, backend=backend)(torch.ones(2)), 2 * torch.ones(2)
        )
    assert compilations == [{"level": 3}]


def test_need_28_the_closest_names_are_suggested(registry):
    with pytest.raises(UnknownBackendError) as caught:
        registry.lookup_backend("inducter")
    assert caught.value.suggestions[0] == "inductor"
    assert "did you mean 'inductor'" in str(caught.value)


def test_need_29_listing_and_info_never_import_torch():
    program = """
import sys, dynreg_core
dynreg_core.list_backends(None)
for info in dynreg_core.list_backend_info(None):
    dynreg_core.get_backend_info(info.name)
print("torch" in sys.modules)
"""
    result = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert result.stdout.strip() == "False"


def test_need_30_a_handle_survives_copying_and_pickling():
    handle = _default.backend("json:dumps")
    assert copy.deepcopy(handle) == handle
    assert pickle.loads(pickle.dumps(handle)) == handle
    other = BackendHandle("anything", mode="fast", options={"a": [1, {"b": 2}]})
    assert copy.deepcopy({"backend": other}) == {"backend": other}
    assert pickle.loads(pickle.dumps(other)) == other


class Slots:
    """A callable that takes no attributes."""

    __slots__ = ()

    def __call__(self, gm, example_inputs):
        return gm.forward

    def method(self, gm, example_inputs):
        return gm.forward


@dataclass(frozen=True)
class Frozen:
    """A callable that refuses attributes."""

    level: int = 0

    def __call__(self, gm, example_inputs):
        return gm.forward


@dataclass
class Unhashable:
    """A callable that cannot be hashed."""

    level: int = 0

    def __call__(self, gm, example_inputs):
        return gm.forward


@pytest.mark.parametrize(
    "backend",
    [Slots(), Slots().method, functools.partial(compile_graph), Frozen(), Unhashable(), len],
    ids=["slots", "method", "partial", "frozen", "unhashable", "builtin"],
)
def test_need_31_any_callable_works_or_is_refused_whole(registry, backend):
    registry.register_backend(backend, name="any", tags=("x",))
    registry.register_backend(backend, name="any")
    assert registry.lookup_backend("any") == backend
    assert registry.get_backend_info("any").tags == ("x",)
    assert registry.is_registered_backend(backend)
    before = registry.state
    with pytest.raises(DynregError):
        registry.register_backend(backend, name="no good")
    assert registry.state is before


def test_need_32_each_name_keeps_its_own_tags(registry):
    registry.register_backend(compile_graph, name="plain")
    registry.register_backend(compile_graph, name="noisy", tags=("debug",))
    assert registry.get_backend_info("plain").tags == ()
    assert registry.get_backend_info("noisy").tags == ("debug",)
    assert not hasattr(compile_graph, "_tags")


def test_need_33_an_entry_point_with_a_name_of_torch_is_reported(plugin, installed):
    plugin("takes_eager", backend="eager")
    registry = installed()
    builtin, shadowed = [i for i in registry.list_backend_info(None) if i.name == "eager"]
    assert builtin.source == "torch"
    assert str(shadowed.status) == "shadowed (by torch's built-in backend)"
    assert shadowed.distribution == "takes-eager"
    (takeover,) = re.findall(r"register_backend\(.*\)$", shadowed.status.hint)
    eval(  # noqa: S307 - the hint must work as it stands
        takeover,
        {
            "register_backend": registry.register_backend,
            "lookup_backend": registry.lookup_backend,
        },
    )
    assert registry.lookup_backend("eager").__module__ == "need_takes_eager"


def test_need_34_a_registration_can_be_taken_back(registry):
    def cell(**keywords):
        @registry.register_backend(name="cell", **keywords)
        def backend(gm, example_inputs):
            return gm

        return backend

    first = cell()
    with pytest.raises(DuplicateBackendError, match=r"replace=True .*unregister_backend\('cell'\)"):
        cell()
    assert registry.lookup_backend("cell") is first
    second = cell(replace=True)
    assert registry.lookup_backend("cell") is second
    registry.unregister_backend("cell")
    assert not registry.is_registered_backend("cell")
    with registry.using():
        cell()
    assert not registry.is_registered_backend("cell")


@pytest.mark.parametrize(
    "arguments",
    [{"name": 3}, {"name": " odd name "}, {"name": "x", "tags": "debug"}],
)
def test_need_35_what_makes_no_sense_is_refused(registry, arguments):
    before = registry.state
    with pytest.raises(DynregError) as caught:
        registry.register_backend(compile_graph, **arguments)
    assert "\nhint: " in str(caught.value)
    assert registry.state is before


def test_need_36_eight_threads_share_one_import(plugin, installed, monkeypatch):
    monkeypatch.setattr(sys, "need_imports", [], raising=False)
    plugin(
        "threaded",
        "import sys, time\nsys.need_imports.append(1)\ntime.sleep(0.05)\n" + PLUGIN,
    )
    registry = installed()
    barrier = threading.Barrier(8)
    found = []

    def look_up():
        barrier.wait()
        found.append(registry.lookup_backend("threaded"))

    threads = [threading.Thread(target=look_up) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [sys.modules["need_threaded"].compile] * 8
    assert sys.need_imports == [1]


def test_every_line_has_a_test():
    document = (Path(__file__).parents[4] / "docs" / "needs.md").read_text()
    lines = set(map(int, re.findall(r"^\| (\d+) \|", document, re.MULTILINE)))
    tested = {
        int(number)
        for file in Path(__file__).parent.glob("test_*.py")
        for number in re.findall(r"^(?:async )?def test_need_(\d+)", file.read_text(), re.MULTILINE)
    }
    assert lines == tested
