"""Settings of the policy: read from ``pyproject.toml`` and ``DYNREG_*``, not yet interpreted."""

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dynreg_core._names import closest
from dynreg_core.errors import PolicyError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["DEFAULT_ORIGIN", "Setting", "misspelt_variables", "read_settings", "yes_or_no"]

DEFAULT_ORIGIN = "built in"

_YES = frozenset({"1", "true", "t", "yes", "y", "on", "enable", "enabled"})
_NO = frozenset({"0", "false", "f", "no", "n", "off", "disable", "disabled", "none", ""})


@dataclass(frozen=True, slots=True)
class Setting:
    """One value of the policy, for ``dynreg config``.

    Attributes:
        key: Its key under ``[tool.dynreg]``; ``defaults.TYPE`` for a device type.
        value: The value.
        origin: File and line, environment variable, or ``built in``.
    """

    key: str
    value: Any
    origin: str


def yes_or_no(text: str, origin: str) -> bool:
    """Read a yes or no in any usual spelling.

    Args:
        text: As in ``1``, ``true``, ``Yes``, ``off``; empty is no.
        origin: Where it stands, for the error.

    Raises:
        PolicyError: It is neither.
    """
    word = text.strip().casefold()
    if word in _YES:
        return True
    if word in _NO:
        return False
    raise PolicyError(
        origin, f"{text!r} is neither yes nor no", expected="1, true, yes, on, 0, false, no or off"
    )


def read_settings(folder: str | None, environment: "Mapping[str, str]") -> "dict[str, Setting]":
    """Return the settings in effect by key, a variable before the file.

    Args:
        folder: Where to start looking for ``pyproject.toml``; the current folder by default.
        environment: As ``os.environ``.

    Raises:
        PolicyError: A value cannot be understood.
    """
    settings = {
        "plugins": Setting("plugins", True, DEFAULT_ORIGIN),
        "allow": Setting("allow", None, DEFAULT_ORIGIN),
        "deny": Setting("deny", (), DEFAULT_ORIGIN),
        "pin": Setting("pin", (), DEFAULT_ORIGIN),
        "default": Setting("default", None, DEFAULT_ORIGIN),
    }
    for setting in (*_from_file(folder), *_from_environment(environment)):
        settings[setting.key] = setting
    return settings


# --- pyproject.toml ----------------------------------------------------------------------------

_SHAPES: "dict[str, tuple[type, str]]" = {
    "plugins": (bool, "true or false"),
    "allow": (list, 'an array of names, as in ["numpy", "eager_*"]'),
    "deny": (list, 'an array of names, as in ["tvm"]'),
    "pin": (list, 'an array of pins, as in ["numpy@dynreg-numpy"]'),
    "default": (str, "the name of a backend"),
    "defaults": (dict, 'a table of backends by device type, as in { cpu = "numpy" }'),
}


def _from_file(folder: str | None) -> list[Setting]:
    here = os.path.abspath(folder or os.getcwd())  # noqa: PTH100, PTH109 - pathlib is costly to import
    while True:
        file = os.path.join(here, "pyproject.toml")  # noqa: PTH118 - as above
        try:
            with open(file, "rb") as stream:  # noqa: PTH123 - as above
                data = stream.read()
        except OSError:
            data = b""
        if b"dynreg" in data:
            found = _from_pyproject(data, file)
            if found is not None:
                return found
        parent = os.path.dirname(here)  # noqa: PTH120 - as above
        if parent == here:
            return []
        here = parent


def _from_pyproject(data: bytes, file: str) -> list[Setting] | None:
    """Return the settings of a file, or ``None`` where it has no ``[tool.dynreg]``."""
    from dynreg_core import _toml

    try:
        table = _toml.parse(data, bounded=False)
    except _toml.TOMLError as error:
        raise PolicyError(f"{file}:{error.line}", error.problem, expected=error.expected) from None
    tool = table.get("tool", {})
    if not isinstance(tool, dict) or "dynreg" not in tool:
        return None
    text = data.decode("utf-8")

    def origin(*keys: str) -> str:
        return f"{file}:{_toml.line_of(text, ('tool', 'dynreg', *keys))}"

    values = tool["dynreg"]
    if not isinstance(values, dict):
        raise PolicyError(origin(), "tool.dynreg is no table", expected="a table [tool.dynreg]")
    settings = []
    for key, value in values.items():
        if key not in _SHAPES:
            close = closest(key, _SHAPES)
            raise PolicyError(
                origin(key),
                f"unknown key {key!r}",
                expected=f"one of {', '.join(_SHAPES)}" if not close else f"{close[0]!r}",
            )
        shape, expected = _SHAPES[key]
        items = value.values() if isinstance(value, dict) else value
        fits = isinstance(value, shape)
        if not fits or (shape in {list, dict} and not all(isinstance(item, str) for item in items)):
            raise PolicyError(origin(key), f"{key} = {value!r}", expected=expected)
        if key == "defaults":
            settings += [
                Setting(f"defaults.{device}", name, origin(key, device))
                for device, name in value.items()
            ]
        else:
            settings.append(Setting(key, tuple(value) if shape is list else value, origin(key)))
    return settings


# --- environment -------------------------------------------------------------------------------

_VARIABLES = {
    "DYNREG_PLUGINS": "plugins",
    "DYNREG_ALLOW": "allow",
    "DYNREG_DENY": "deny",
    "DYNREG_PIN": "pin",
    "DYNREG_DEFAULT": "default",
    "DYNREG_DEFAULTS": "defaults",
}

_KNOWN_VARIABLES = (*_VARIABLES, "DYNREG_INSTALL")


def _from_environment(environment: "Mapping[str, str]") -> list[Setting]:
    settings = []
    for variable, key in _VARIABLES.items():
        text = environment.get(variable, "").strip()
        if not text:
            continue
        words = tuple(word.strip() for word in text.split(",") if word.strip())
        if key == "plugins":
            settings.append(Setting(key, yes_or_no(text, variable), variable))
        elif key == "default":
            settings.append(Setting(key, text, variable))
        elif key == "defaults":
            for word in words:
                device, equals, name = word.partition("=")
                if not equals or not device.strip() or not name.strip():
                    raise PolicyError(
                        variable,
                        f"{word!r} is no default",
                        expected="device types and backends, as in cpu=numpy,cuda=inductor",
                    )
                settings.append(Setting(f"defaults.{device.strip()}", name.strip(), variable))
        else:
            settings.append(Setting(key, words, variable))
    return settings


def misspelt_variables(environment: "Mapping[str, str]") -> tuple[str, ...]:
    """Say of which variables look like misspelt ones. Plugins have variables of their own."""
    doubts = []
    for variable in environment:
        if variable.startswith("DYNREG") and variable not in _KNOWN_VARIABLES:
            close = closest(variable, _KNOWN_VARIABLES, 1)
            if close:
                doubts.append(f"the variable {variable} means nothing: did you mean {close[0]}?")
    return tuple(doubts)
