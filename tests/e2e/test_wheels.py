"""torch.compile by name, from installed wheels, in processes that never import dynreg."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

#: The plugins that the session says it has installed on top of core.
PLUGINS = [name for name in os.environ.get("E2E_PLUGINS", "").split(",") if name]
BACKENDS = {"eager": "eager_interpret", "debug": "debug_compare", "numpy": "numpy"}
SITE = str(Path(sysconfig.get_path("purelib")).resolve())

TRAIN = """
import sys
import torch
from torch import nn

def build():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))

assert not [name for name in sys.modules if name in {packages!r}], "torch brought a plugin along"
model, plain = build(), build()
compiled = torch.compile(model, backend={backend!r}, options={options!r})
x, y = torch.randn(5, 8), torch.randint(4, (5,))
losses = []
for run, net in ((compiled, model), (plain, plain)):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    loss = nn.functional.cross_entropy(run(x), y)
    loss.backward()
    optimizer.step()
    losses.append(loss.detach())
torch.testing.assert_close(*losses)
for one, other in zip(model.parameters(), plain.parameters()):
    torch.testing.assert_close(one, other)
with torch.no_grad():
    torch.testing.assert_close(compiled(x), plain(x))
print(sys.modules[{package!r}].__file__)
"""


@pytest.mark.parametrize("plugin", BACKENDS)
def test_compiles_and_trains_by_name_if_it_is_installed(run, plugin):
    if plugin not in PLUGINS:
        program = f"""
        from dynreg_core import errors, lookup_backend
        try:
            lookup_backend({BACKENDS[plugin]!r})
        except errors.UnknownBackendError as error:
            print(error)
        """
        assert f"pip install dynreg-{plugin}" in run(program).stdout
        return
    package = f"dynreg_{plugin}"
    options = {"backend": "aot_eager"} if plugin == "debug" else None
    program = TRAIN.format(
        backend=BACKENDS[plugin],
        options=options,
        package=package,
        packages=["dynreg_eager", "dynreg_debug", "dynreg_numpy"],
    )
    file = run(program).stdout.strip()
    assert str(Path(file).resolve()).startswith(SITE)


def test_torch_lists_exactly_what_is_installed(run):
    program = "import torch; print(*torch.compiler.list_backends(None))"
    names = set(run(program).stdout.split())
    assert {BACKENDS[plugin] for plugin in PLUGINS} == names & set(BACKENDS.values())
    assert ("eager_replay" in names) == ("eager" in PLUGINS)


def test_core_comes_from_the_environment(run):
    file = run("import dynreg_core; print(dynreg_core.__file__)").stdout.strip()
    assert str(Path(file).resolve()).startswith(SITE)


def test_listing_imports_no_torch(run):
    program = """
    import sys
    from dynreg_core.cli import cli
    sys.argv = ["dynreg", "list", "--all"]
    cli.main(["list", "--all"], standalone_mode=False)
    assert "torch" not in sys.modules, "the list has imported torch"
    plugins = ("dynreg_eager", "dynreg_debug", "dynreg_numpy")
    assert not [name for name in sys.modules if name.startswith(plugins)]
    """
    listed = run(program).stdout
    for plugin in PLUGINS:
        assert BACKENDS[plugin] in listed
    assert "inductor" in listed


def test_the_doctor_loads_them_all():
    done = subprocess.run(
        [sys.executable, "-m", "dynreg_core", "doctor", "--load", "--verify"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    count = len(PLUGINS) + ("eager" in PLUGINS)  # which has two
    backends = "1 installed backend" if count == 1 else f"{count} installed backends"
    assert f"no problems, {backends} checked" in done.stdout
