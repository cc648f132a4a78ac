"""Policy: which backends a project or a machine allows, prefers, and leaves alone.

From ``[tool.dynreg]`` in the nearest ``pyproject.toml`` that has this table, overridden key by key
by ``DYNREG_*`` variables. Every value remembers where it comes from.
"""

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dynreg_core._metadata import normalized
from dynreg_core._names import closest, split_pin
from dynreg_core.errors import PolicyError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["DEFAULT_ORIGIN", "Policy", "Rule", "Setting", "load_policy", "yes_or_no"]

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


@dataclass(frozen=True, slots=True)
class Rule:
    """One entry of ``allow``, ``deny`` or ``pin``.

    Attributes:
        key: Which of them.
        text: As written: ``name`` or ``name@distribution``, either with ``*`` and ``?``.
        origin: Where it is written.
    """

    key: str
    text: str
    origin: str

    def matches(self, name: str, distribution: str) -> bool:
        """Whether the rule means a name of a distribution."""
        rule_name, rule_distribution = split_pin(self.text)
        return _glob(name, rule_name) and (
            not rule_distribution or _glob(normalized(distribution), normalized(rule_distribution))
        )

    def __str__(self) -> str:
        return f'{self.key} = "{self.text}"'


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules in effect.

    Attributes:
        settings: Every value with its origin, in the order of the documentation.
        plugins: Whether entry points are used at all.
        allow: If not ``None``, only what one of these matches may be used.
        deny: What one of these matches may not be used.
        pins: Which distribution a name is taken from.
        defaults: Default backends by device type; the empty string is every other device.
        origins: Origin of each default, likewise.
        doubts: What looks like a mistake without being an error, one sentence each.
    """

    settings: tuple[Setting, ...] = ()
    plugins: bool = True
    allow: tuple[Rule, ...] | None = None
    deny: tuple[Rule, ...] = ()
    pins: tuple[Rule, ...] = ()
    defaults: "Mapping[str, str]" = field(default_factory=dict)
    origins: "Mapping[str, str]" = field(default_factory=dict)
    doubts: tuple[str, ...] = ()

    def denial(self, name: str, distribution: str) -> Rule | None:
        """Return the rule that forbids a name of a distribution, or ``None``."""
        for rule in self.deny:
            if rule.matches(name, distribution):
                return rule
        if self.allow is None or any(rule.matches(name, distribution) for rule in self.allow):
            return None
        origin = self.allow[0].origin if self.allow else self.origin("allow")
        return Rule("allow", ", ".join(rule.text for rule in self.allow), origin)

    def pin(self, name: str) -> Rule | None:
        """Return the pin for a name, or ``None``."""
        for rule in self.pins:
            if split_pin(rule.text)[0] == name:
                return rule
        return None

    def origin(self, key: str) -> str:
        """Return where the value of a key comes from."""
        for setting in self.settings:
            if setting.key == key:
                return setting.origin
        return DEFAULT_ORIGIN

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Every rule that should match something."""
        return (*(self.allow or ()), *self.deny, *self.pins)


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


def load_policy(
    folder: str | None = None, environment: "Mapping[str, str] | None" = None
) -> Policy:
    """Read the policy.

    Args:
        folder: Where to start looking for ``pyproject.toml``; the current folder by default.
        environment: As ``os.environ``, which is the default.

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
    variables = os.environ if environment is None else environment
    for setting in (*_from_file(folder), *_from_environment(variables)):
        settings[setting.key] = setting
    return _policy(settings, _doubts(variables))


def _policy(settings: "Mapping[str, Setting]", doubts: tuple[str, ...]) -> Policy:
    rules = {
        key: tuple(
            Rule(key, _rule_text(key, text, setting.origin), setting.origin)
            for text in setting.value or ()
        )
        for key in ("allow", "deny", "pin")
        for setting in (settings[key],)
    }
    defaults = {
        key.removeprefix("defaults.") if key != "default" else "": setting
        for key, setting in settings.items()
        if key.startswith("default") and setting.value
    }
    return Policy(
        tuple(settings.values()),
        bool(settings["plugins"].value),
        None if settings["allow"].value is None else rules["allow"],
        rules["deny"],
        rules["pin"],
        {device: setting.value for device, setting in defaults.items()},
        {device: setting.origin for device, setting in defaults.items()},
        doubts,
    )


def _rule_text(key: str, text: str, origin: str) -> str:
    name, distribution = split_pin(text)
    if not name or (key == "pin" and not distribution):
        raise PolicyError(
            origin,
            f"{text!r} in {key} is no rule",
            expected="name@distribution" if key == "pin" else "name or name@distribution",
        )
    return text


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


def _doubts(environment: "Mapping[str, str]") -> tuple[str, ...]:
    """Find variables that look like misspelt ones. Plugins have variables of their own."""
    doubts = []
    for variable in environment:
        if variable.startswith("DYNREG") and variable not in _KNOWN_VARIABLES:
            close = closest(variable, _KNOWN_VARIABLES, 1)
            if close:
                doubts.append(f"the variable {variable} means nothing: did you mean {close[0]}?")
    return tuple(doubts)


def _glob(text: str, pattern: str) -> bool:
    if not any(character in pattern for character in "*?["):
        return text == pattern
    from fnmatch import fnmatchcase

    return fnmatchcase(text, pattern)
