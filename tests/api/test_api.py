"""The public API of every package, held by a file: a change of it is a change that is seen.

``UPDATE_GOLDEN=1 pytest tests/api`` writes the file anew.
"""

import dataclasses
import importlib
import inspect
import os
import re
from pathlib import Path

import pytest

PACKAGES = [
    "dynreg_core",
    "dynreg_core.conformance",
    "dynreg_core.errors",
    "dynreg_debug",
    "dynreg_eager",
    "dynreg_numpy",
]


def describe(package):
    """Return one line for each public name, and for each public method of a class."""
    module = importlib.import_module(package)
    lines = []
    for name in module.__all__:
        thing = getattr(module, name)
        if inspect.isclass(thing):
            bases = ", ".join(base.__name__ for base in thing.__bases__ if base is not object)
            lines.append(f"class {name}({bases})" if bases else f"class {name}")
            fields = [f.name for f in dataclasses.fields(thing)] if is_dataclass(thing) else []
            lines += [f"    {field}" for field in fields]
            lines += [
                f"    {method}{signature(value)}"
                for method, value in sorted(vars(thing).items())
                if not method.startswith("_") and inspect.isfunction(value)
            ]
        elif inspect.ismodule(thing):
            lines.append(f"module {name}")
        elif not callable(thing):
            lines.append(f"{name}: {type(thing).__name__}")
        else:
            lines.append(f"{name}{signature(thing)}")
    return "\n".join(lines) + "\n"


def is_dataclass(thing):
    return dataclasses.is_dataclass(thing)


def signature(function):
    """Return parameters by name and kind, with defaults; annotations are mypy's business."""
    text = str(
        inspect.signature(function).replace(
            parameters=[
                parameter.replace(annotation=inspect.Parameter.empty)
                for parameter in inspect.signature(function).parameters.values()
            ],
            return_annotation=inspect.Signature.empty,
        )
    )
    return re.sub(r" at 0x[0-9a-f]+", "", text)


@pytest.mark.parametrize("package", PACKAGES)
def test_the_public_api_is_what_it_was(package):
    file = Path(__file__).with_name(f"{package}.txt")
    text = describe(package)
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(text)
    assert text == file.read_text()


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_documented(package):
    module = importlib.import_module(package)
    assert module.__doc__
    missing = [
        name
        for name in module.__all__
        if not inspect.ismodule(getattr(module, name)) and not inspect.getdoc(getattr(module, name))
    ]
    assert not missing
