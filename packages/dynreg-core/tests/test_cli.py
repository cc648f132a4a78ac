"""The command line: what it prints, held by golden files, and what it returns.

``UPDATE_GOLDEN=1 pytest`` writes the files anew.
"""

import importlib
import json
import os
import subprocess
import sys
import types
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import dynreg_core
from dynreg_core import _default, _diagnosis, _metadata
from dynreg_core._policy import Policy, Rule, Setting
from dynreg_core._registry import Registry
from dynreg_core._source import locate
from dynreg_core._types import EntryPoint
from dynreg_core.cli import _output as output
from dynreg_core.cli import cli

GOLDEN = Path(__file__).parent / "golden"
DOCUMENT = Path(__file__).parents[3] / "docs" / "cli.md"

MANIFEST = """
schema = 1

[backends.acme]
description = "Compiles for Acme accelerators"
homepage = "https://example.com/acme"
torch = ">=2.13"
devices = ["acme", "cpu"]
training = true
inference = true

[backends.acme.options.level]
type = "int"
default = 2
choices = [0, 1, 2]
description = "How long to search for a fast schedule"

[backends.acme.options.folder]
type = "str"
required = true
description = "Folder that generated code is written to"

[backends.acme.aliases.acme_old]
deprecated = "the first generation is no longer made"

[backends.needy]
description = "Needs what is not here"
tags = ["experimental"]

[backends.needy.requires]
modules = ["no_module_of_this_name"]
"""


@pytest.fixture
def shop(site, torch_source, monkeypatch):
    """An environment with good plugins and bad ones, as the default registry."""
    site.package("acme_compiler", dynreg_toml=MANIFEST)
    site.module("acme_compiler.backend", "def compile_graph(gm, example_inputs):\n    return gm\n")
    site.distribution(
        "acme-compiler",
        "1.2",
        backends={
            "acme": "acme_compiler.backend:compile_graph",
            "needy": "acme_compiler.backend:compile_graph",
            "eager": "acme_compiler.backend:compile_graph",
            "lost": "acme_compiler.lost:compile_graph",
            "twin": "acme_compiler.backend:compile_graph",
        },
        manifests={"acme": "acme_compiler:dynreg.toml"},
        summary="The compiler of Acme",
    )
    site.distribution("twin", backends={"twin": "acme_compiler.backend:compile_graph"})
    use_only(monkeypatch, site, torch_source)
    return site


def use_only(monkeypatch, site, torch_source):
    """Let nothing be installed but what a site folder has."""

    def scan(*, again=False):
        return _metadata.scan_paths([str(site.folder)], sys.meta_path)

    monkeypatch.setattr(_metadata, "scan", scan)
    use(monkeypatch, Registry(policy=Policy, torch=torch_source()))


def use(monkeypatch, registry):
    monkeypatch.setattr(_default, "registry", registry)


def dynreg(*args):
    return CliRunner().invoke(cli, args, prog_name="dynreg")


def golden(name, text, **places):
    """Hold text against a file; paths of this machine are replaced first."""
    for place, path in places.items():
        text = text.replace(str(path), f"<{place}>")
    file = GOLDEN / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(text)
    assert text == file.read_text()


# --- list --------------------------------------------------------------------------------------


@pytest.mark.usefixtures("shop")
def test_list():
    done = dynreg("list")
    assert done.exit_code == 0
    golden("list", done.output)


@pytest.mark.usefixtures("shop")
def test_list_all():
    golden("list_all", dynreg("list", "--all").output)


@pytest.mark.usefixtures("shop")
def test_list_by_tag():
    golden("list_tag", dynreg("list", "--tag", "experimental").output)
    assert "no backend matches" in dynreg("list", "--tag", "nothing").output


@pytest.mark.usefixtures("shop")
def test_list_as_json():
    rows = json.loads(dynreg("list", "--all", "--json").output)
    by_name = {row["name"]: row for row in rows if row["source"] == "entry point"}
    assert by_name["acme"]["distribution"] == "acme-compiler"
    assert by_name["acme"]["devices"] == ["acme", "cpu"]
    assert by_name["needy"]["status"] == "unavailable"


def test_list_of_what_is_registered_in_the_process(registry, monkeypatch):
    use(monkeypatch, registry)
    registry.register_backend(lambda gm, example_inputs: gm, name="mine")
    assert "mine      loaded       this process" in dynreg("list").output


def test_list_with_nothing_hidden_says_nothing_of_it(make_registry, torch_source, monkeypatch):
    torch_without_debug = torch_source()
    torch_without_debug.known = {"inductor": ()}
    use(monkeypatch, make_registry(torch=torch_without_debug))
    assert "more with the tags" not in dynreg("list").output


def test_on_a_terminal_the_table_fits_its_width(shop, monkeypatch):
    monkeypatch.setattr(output.sys, "stdout", Terminal())
    monkeypatch.setenv("COLUMNS", "80")
    assert output.console().width == 80


class Terminal:
    encoding = "utf-8"

    def isatty(self):
        return True

    def write(self, text):
        return len(text)

    def flush(self):
        pass


# --- info --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["acme", "needy", "eager", "twin", "acme_old"])
def test_info(shop, name):
    done = dynreg("info", name)
    assert done.exit_code == 0
    golden(f"info_{name}", done.output, site=shop.folder)


def test_info_of_what_is_registered(registry, monkeypatch):
    use(monkeypatch, registry)
    registry.register_backend(test_info, name="mine", tags=["debug"])
    line = test_info.__wrapped__ if hasattr(test_info, "__wrapped__") else test_info
    place = f"{__file__}:{line.__code__.co_firstlineno + 1}"
    golden("info_registered", dynreg("info", "mine").output, place=place)


@pytest.mark.usefixtures("shop")
def test_info_as_json():
    told = json.loads(dynreg("info", "acme", "--json").output)
    assert told["line"] == 1
    assert [option["name"] for option in told["options"]] == ["level", "folder"]
    assert json.loads(dynreg("info", "twin", "--json").output)["options"] is None


@pytest.mark.usefixtures("shop")
def test_info_of_an_unknown_name():
    done = dynreg("info", "acmee")
    assert done.exit_code == 1
    golden("info_unknown", done.output)


COUNTING = """
schema = 1

[backends.acme]
op-counts = "acme_counts:get_op_counts"
"""
COUNTS = """
import types

native, fallback = {}, {}


def get_op_counts():
    return types.SimpleNamespace(native=native, fallback=fallback)
"""
SCRIPT = """
import pathlib
import sys

import acme_counts
import beside

if sys.argv[1:] == ["compile"]:
    acme_counts.native.update({"aten.add.Tensor": 2, "aten.mm.default": 3})
    acme_counts.fallback.update({"acme.norm.default": 1})
    sys.exit(3)
assert __name__ == "__main__"
"""


@pytest.fixture
def counting(site, torch_source, monkeypatch):
    """A backend that counts ops, and a script that compiles with it if told so."""
    site.package("acme_compiler", dynreg_toml=COUNTING)
    site.module("acme_counts", COUNTS)
    site.distribution(
        "acme-compiler",
        "1.2",
        backends={"acme": "acme_compiler:compile_graph", "plain": "acme_compiler:compile_graph"},
        manifests={"acme": "acme_compiler:dynreg.toml"},
    )
    use_only(monkeypatch, site, torch_source)
    folder = site.folder / "scripts"
    folder.mkdir()
    (folder / "beside.py").touch()
    monkeypatch.delitem(sys.modules, "beside", raising=False)
    script = folder / "script.py"
    script.write_text(SCRIPT)
    return str(script)


def test_info_counts_the_ops_of_a_script(counting):
    before = sys.argv, sys.path[:]
    done = dynreg("info", "acme", "--run", counting, "--", "compile")
    assert done.exit_code == 3  # the script's
    golden("info_run", done.output)
    told = json.loads(dynreg("info", "acme", "--json", "--run", counting).output)
    assert told["fallback"] == {"acme.norm.default": 1}
    assert told["native"] == {"aten.add.Tensor": 2, "aten.mm.default": 3}
    assert (sys.argv, sys.path) == before


def test_info_says_that_a_script_compiled_nothing(counting):
    done = dynreg("info", "acme", "--run", counting)
    assert done.exit_code == 0
    assert done.output == f"{counting} compiled nothing with backend 'acme'\n"


def test_info_of_a_backend_that_counts_nothing(counting):
    done = dynreg("info", "plain", "--run", counting)
    assert done.exit_code == 1
    assert "backend 'plain' does not count the ops that it compiles" in done.output


def test_info_refuses_arguments_without_a_script(counting):
    done = dynreg("info", "acme", "--", counting)
    assert done.exit_code == 2
    assert "--run SCRIPT" in done.output


# --- doctor ------------------------------------------------------------------------------------


def test_doctor(shop):
    done = dynreg("doctor")
    assert done.exit_code == 1
    golden("doctor", done.output, site=shop.folder)
    assert f"```text\n{done.output}```" in DOCUMENT.read_text()


def test_doctor_finds_nothing(site, torch_source, monkeypatch):
    site.module("good", "def compile_graph(gm, example_inputs):\n    return gm\n")
    site.distribution("good", backends={"good": "good:compile_graph"})
    use_only(monkeypatch, site, torch_source)
    done = dynreg("doctor")
    assert (done.exit_code, done.output) == (0, "no problems, 1 installed backend checked\n")


def test_doctor_reads_settings(registry, make_registry, entry_point, monkeypatch):
    policy = Policy(
        deny=(Rule("deny", "numpi", "pyproject.toml:3"), Rule("deny", "tvm", "pyproject.toml:3")),
        doubts=("the variable DYNREG_DENI means nothing: did you mean DYNREG_DENY?",),
    )
    registry = make_registry(entry_point("numpy", "json:loads"), policy=policy)
    use(monkeypatch, registry)
    done = dynreg("doctor")
    assert done.exit_code == 1, done.exception
    golden("doctor_settings", done.output)


def test_doctor_finds_malformed_metadata(site, torch_source, monkeypatch):
    site.distribution("odd", entry_points="[torch_dynamo_backends]\nno equals sign\n")
    use_only(monkeypatch, site, torch_source)
    (finding,) = _diagnosis.examine()
    assert (finding.kind, finding.distribution) == ("metadata", "odd")
    assert "has no equals sign: 'no equals sign'" in finding.sentence


def test_verify(site, torch_source, monkeypatch):
    import base64
    import hashlib

    good = site.module("good", "def compile_graph(gm, example_inputs):\n    return gm\n")
    folder = site.distribution("good", backends={"good": "good:compile_graph"})
    digest = hashlib.sha256(good.read_bytes()).digest()
    text = base64.urlsafe_b64encode(digest).decode().rstrip("=")
    record = f"good.py,sha256={text},1\nlost.py,sha256={text},1\nunhashed.py,,\nold.py,odd=1,1\n"
    (folder / "RECORD").write_text(record)
    elsewhere = EntryPoint("other", "good:compile_graph", _metadata.BACKENDS, "elsewhere", "1")
    here = EntryPoint("good", "good:compile_graph", _metadata.BACKENDS, "good", "1.0")
    use(
        monkeypatch,
        Registry(entry_points=lambda: [here, elsewhere], policy=Policy, torch=torch_source()),
    )
    assert [finding.sentence for finding in _diagnosis.verify()] == [
        "file lost.py of good is missing"
    ]
    good.write_text("changed = True\n")
    done = dynreg("doctor", "--verify", "--json")
    assert done.exit_code == 1
    kinds = [finding["kind"] for finding in json.loads(done.output)["findings"]]
    assert kinds.count("changed") == 2


# --- doctor --load -----------------------------------------------------------------------------


def loads(monkeypatch, shop, program):
    """Let `doctor --load` run a program of its own in place of importing torch."""
    monkeypatch.setattr(_diagnosis, "_LOADER", program)
    return dynreg("doctor", "--load", "--timeout", "20")


def test_load_tells_the_time_and_what_changed(shop, monkeypatch):
    program = """
import json, sys
print("noise of the plugin")
changed = ["default dtype"] if sys.argv[1] == "acme" else []
print(json.dumps({"seconds": 0.5, "changed": changed}))
"""
    done = loads(monkeypatch, shop, program)
    assert "acme loads in 0.50 s" in done.output
    assert "importing backend 'acme' changes default dtype in torch" in done.output


def test_load_tells_why_it_failed(shop, monkeypatch):
    program = """
import json
print(json.dumps({"seconds": 0.5, "changed": [], "error": "it is broken", "hint": "mend it"}))
"""
    done = loads(monkeypatch, shop, program)
    assert "broken it is broken\n  hint: mend it" in done.output


def test_load_survives_a_process_that_dies(shop, monkeypatch):
    done = loads(monkeypatch, shop, "import os; os._exit(3)")
    assert "the process that imports backend 'acme' ended with 3: exit status 3" in done.output


def test_load_ends_a_process_that_hangs(monkeypatch):
    monkeypatch.setattr(_diagnosis, "_LOADER", "import time; time.sleep(60)")
    loaded = _diagnosis.load("slow", 0.2)
    assert loaded.error == "backend 'slow' is not loaded after 0.2 s"


def test_load_for_real():
    pytest.importorskip("torch", reason="backends are loaded beside torch")
    loaded = _diagnosis.load("eager", 300)
    assert (loaded.error, loaded.changed) == ("", [])
    lost = _diagnosis.load("nothing_of_this_name", 300)
    assert "no backend is named" in lost.error


# --- config, completion, help ------------------------------------------------------------------


def test_config(tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").write_text(
        '[tool.dynreg]\ndeny = ["tvm", "openxla"]\ndefault = "inductor"\n'
    )
    monkeypatch.chdir(tmp_path)
    for variable in [v for v in os.environ if v.startswith("DYNREG_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("DYNREG_PLUGINS", "no")
    monkeypatch.setenv("DYNREG_DENI", "x")
    done = dynreg("config")
    golden("config", done.output, folder=tmp_path)
    told = json.loads(dynreg("config", "--json").output)
    assert {"key": "plugins", "value": False, "origin": "DYNREG_PLUGINS"} in told["settings"]


def test_config_that_cannot_be_read(tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").write_text("[tool.dynreg]\ndeny = 3\n")
    monkeypatch.chdir(tmp_path)
    done = dynreg("config")
    assert done.exit_code == 1
    golden("config_error", done.output, folder=tmp_path)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell):
    done = dynreg("completion", shell)
    assert done.exit_code == 0
    assert "_DYNREG_COMPLETE" in done.output


def test_completion_where_click_knows_no_shell(monkeypatch):
    import click.shell_completion

    monkeypatch.setattr(click.shell_completion, "get_completion_class", lambda shell: None)
    assert dynreg("completion", "bash").exit_code == 2


def test_completion_of_commands():
    done = subprocess.run(
        [sys.executable, "-m", "dynreg_core"],
        env={
            **os.environ,
            "_DYNREG_COMPLETE": "bash_complete",
            "COMP_WORDS": "dynreg do",
            "COMP_CWORD": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert "doctor" in done.stdout


def test_help(monkeypatch):
    monkeypatch.setattr(_metadata, "scan", lambda: _metadata.Scan((), (), {}, (0, ())))
    golden("help", dynreg("--help").output)
    assert dynreg("list", "-h").exit_code == 0


def test_version():
    assert dynreg("--version").output == f"dynreg {dynreg_core.__version__}\n"


def test_an_unknown_command_is_a_usage_error():
    assert dynreg("lisst").exit_code == 2


def test_importing_the_module_runs_nothing():
    assert importlib.import_module("dynreg_core.__main__").main is dynreg_core.cli.main


def test_the_module_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "dynreg_core", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"dynreg {dynreg_core.__version__}\n"


# --- commands of plugins -----------------------------------------------------------------------


@click.command("greet")
def greet():
    """Greet."""
    click.echo("hello")


@pytest.fixture
def commands(monkeypatch):
    def add(**targets):
        entries = tuple(
            EntryPoint(name, value, _metadata.COMMANDS, "acme-compiler", "1.2")
            for name, value in targets.items()
        )
        monkeypatch.setattr(_metadata, "scan", lambda: _metadata.Scan(entries, (), {}, (0, ())))

    return add


def test_a_plugin_adds_a_command(commands, site):
    site.module("acme_cli", "import click\n\n@click.command()\ndef greet():\n    print('hello')\n")
    commands(greet="acme_cli:greet", list="acme_cli:greet")
    assert dynreg("greet").output == "hello\n"
    assert "greet       From acme-compiler 1.2." in dynreg("--help").output


@pytest.mark.parametrize(
    ("value", "cause"),
    [
        ("acme_cli_lost:greet", "No module named 'acme_cli_lost'"),
        ("json:lost", "has no attribute 'lost'"),
        ("json:loads", "it is no click command but function"),
    ],
)
def test_a_broken_command_says_so_and_the_others_work(commands, value, cause):
    commands(greet=value)
    done = dynreg("greet", "--loudly", "twice")
    assert done.exit_code == 1
    assert "command 'greet' from acme-compiler 1.2 cannot be loaded" in done.output
    assert cause in done.output
    assert "hint: reinstall or update acme-compiler" in done.output
    assert dynreg("--help").exit_code == 0


# --- where a target is -------------------------------------------------------------------------

SOURCE = '''
"""A module."""
import json as dumped
from os import path

assigned = 1
a = b = 2
typed: int = 3


def function():
    pass


async def waiting():
    pass


class Class:
    pass


if True:
    pass
'''


@pytest.mark.parametrize(
    ("attribute", "line"),
    [
        ("function", 11),
        ("waiting", 15),
        ("Class.method", 19),
        ("assigned", 6),
        ("b", 7),
        ("typed", 8),
        ("dumped", 3),
        ("path", 4),
        ("nothing", 0),
    ],
)
def test_locate(site, attribute, line):
    site.package("shown")
    file = site.module("shown.inner", SOURCE)
    assert locate(f"shown.inner:{attribute}") == (str(file), line)
    assert "shown.inner" not in sys.modules


def test_locate_what_is_not_there(site, monkeypatch):
    site.package("shown")
    site.module("shown.broken", "def (:\n")
    assert locate("") == ("", 0)
    assert locate("no_module_of_this_name:x") == ("", 0)
    assert locate("shown.nothing:x") == ("", 0)
    assert locate("shown.broken:x") == (str(site.folder / "shown" / "broken.py"), 0)
    assert locate("shown")[1] == 0
    assert locate("sys:path") == ("built-in", 0)
    assert locate(".:x") == ("", 0)
    monkeypatch.setitem(sys.modules, "without_a_spec", types.ModuleType("without_a_spec"))
    assert locate("without_a_spec:x") == ("", 0)


def test_settings_are_spelled():
    from dynreg_core.cli.config import _spelled

    assert [_spelled(value) for value in (None, (), True, False, ("a", "b"), "c")] == [
        *("-", "-", "yes", "no", "a, b", "c")
    ]
    assert Setting("plugins", True, "built in").key == "plugins"
