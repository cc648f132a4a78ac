"""Every combination of the plugin wheels on top of core lists exactly its own backends."""

import json
from itertools import combinations

import pytest

BACKENDS = {
    "dynreg-debug": {"debug_compare"},
    "dynreg-eager": {"eager_interpret", "eager_replay"},
    "dynreg-numpy": {"numpy"},
}
COMBINATIONS = [
    chosen for count in range(len(BACKENDS) + 1) for chosen in combinations(BACKENDS, count)
]

PROGRAM = """
import json, sys
import dynreg_core
names = dynreg_core.list_backends(None)
infos = dynreg_core.list_backend_info(None)
infos = {i.name: [i.distribution, i.version, i.status.kind] for i in infos}
packages = {n.partition(".")[0] for n in sys.modules}
print(json.dumps({
    "names": names,
    "infos": infos,
    "core": dynreg_core.__file__,
    "imported": sorted(n for n in packages if n.startswith(("torch", "dynreg_"))),
}))
"""


def test_there_are_eight_combinations():
    assert len(COMBINATIONS) == 8


@pytest.mark.parametrize("plugins", COMBINATIONS, ids=lambda names: "+".join(names) or "core alone")
def test_lists_exactly_its_own(install, plugins):
    environment = install("dynreg-core", *plugins)
    told = json.loads(environment.run("-c", PROGRAM).stdout)
    expected = set().union(*(BACKENDS[name] for name in plugins))
    assert set(told["names"]) == expected
    for plugin in plugins:
        for name in BACKENDS[plugin]:
            distribution, version, status = told["infos"][name]
            assert (distribution, version) == (plugin, "0.1.0")
            # They need torch, which is not here: known without importing them.
            assert status == "unavailable"
    assert told["core"].startswith(str(environment.folder))
    assert told["imported"] == ["dynreg_core"]


def test_the_command_line_lists_the_same(install):
    environment = install("dynreg-core", *BACKENDS)
    listed = {info["name"]: info["distribution"] for info in environment.infos()}
    assert listed == {name: plugin for plugin, names in BACKENDS.items() for name in names}


def test_no_plugins_by_policy(install):
    environment = install("dynreg-core", *BACKENDS)
    assert environment.infos(DYNREG_PLUGINS="off") == []


def test_each_wheel_holds_its_package_and_nothing_else(install):
    environment = install("dynreg-core", *BACKENDS)
    packages = {
        path.name
        for path in environment.folder.iterdir()
        if path.is_dir() and not path.name.endswith(".dist-info") and path.name != "bin"
    }
    assert packages == {"dynreg_core", "dynreg_debug", "dynreg_eager", "dynreg_numpy"}
    for package in packages:
        assert (environment.folder / package / "py.typed").is_file()
        assert not list((environment.folder / package).rglob("test_*.py"))
