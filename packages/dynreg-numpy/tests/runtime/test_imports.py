"""What importing the runtime costs and brings along."""

from __future__ import annotations

import json
import pkgutil
import subprocess
import sys

import dynreg_numpy.runtime

PROGRAM = """
import importlib, json, sys
import numpy, ml_dtypes
before = set(sys.modules)
for name in json.loads(sys.argv[1]):
    importlib.import_module(name)
print(json.dumps(sorted({name.partition(".")[0] for name in set(sys.modules) - before})))
"""


def modules():
    package = dynreg_numpy.runtime
    found = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    return [package.__name__, *(module.name for module in found)]


def loaded(names):
    program = [sys.executable, "-c", PROGRAM, json.dumps(names)]
    output = subprocess.run(program, check=True, capture_output=True, text=True).stdout
    return set(json.loads(output))


def test_no_module_of_the_runtime_loads_torch_or_scipy():
    assert not loaded(modules()) & {"torch", "scipy", "dynreg_core"}


def test_families_are_loaded_when_they_are_named():
    program = (
        "import sys, dynreg_numpy.runtime; "
        "print([m for m in sys.modules if m.startswith('dynreg_numpy.runtime.')])"
    )
    output = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    ).stdout
    assert output.strip() == "[]"


def test_what_a_family_exports_exists_and_is_described():
    for name in modules():
        module = __import__(name, fromlist=["__all__"])
        for export in getattr(module, "__all__", []):
            assert getattr(module, export).__doc__, f"{name}.{export}"
