"""A plugin of other people, that knows only torch's documentation, beside broken ones."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PLUGIN_DIST = Path(__file__).parents[2] / "dist" / "plugins"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with every sample plugin, as pip installs them from their wheels."""
    folder = tmp_path_factory.mktemp("plugins")
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps"]
    wheels = [str(wheel) for wheel in PLUGIN_DIST.glob("*.whl")]
    assert len(wheels) == 8
    subprocess.run([*command, "--target", str(folder), *wheels], check=True)
    return folder


def python(site, program):
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(site), "PYTHONSAFEPATH": "1"},
        cwd=site,
        capture_output=True,
        text=True,
        check=False,
    )


def test_its_name_is_a_backend_without_dynreg(site):
    program = """
import sys, torch
f = torch.compile(lambda x: x.sin() + 1, backend="acme")
torch.testing.assert_close(f(torch.ones(3)), torch.ones(3).sin() + 1)
import acme_backend.compiler
assert acme_backend.compiler.acme_compiler.compiled == 1
print(acme_backend.__file__)
"""
    done = python(site, program)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().startswith(str(site))


def test_torch_keeps_its_own_eager(site):
    program = """
import torch
from dynreg_core import get_backend_info, list_backend_info, lookup_backend
assert lookup_backend("eager").__module__.startswith("torch.")
held = [info for info in list_backend_info(None) if info.name == "eager"]
print([(info.source, info.status.kind) for info in held])
"""
    done = python(site, program)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[('torch', 'ready'), ('entry point', 'shadowed')]" or (
        done.stdout.strip() == "[('torch', 'loaded'), ('entry point', 'shadowed')]"
    )
