"""Policy: which backends a project or a machine allows, prefers, and leaves alone.

From ``[tool.dynreg]`` in the nearest ``pyproject.toml`` that has this table, overridden key by key
by ``DYNREG_*`` variables. Every value remembers where it comes from.
"""

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dynreg_core._names import split_pin
from dynreg_core._scanner import normalized
from dynreg_core._settings import (
    DEFAULT_ORIGIN,
    Setting,
    misspelt_variables,
    read_settings,
    yes_or_no,
)
from dynreg_core.errors import PolicyError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["DEFAULT_ORIGIN", "Policy", "Rule", "Setting", "load_policy", "yes_or_no"]


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
    variables = os.environ if environment is None else environment
    return _policy(read_settings(folder, variables), misspelt_variables(variables))


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


def _glob(text: str, pattern: str) -> bool:
    if not any(character in pattern for character in "*?["):
        return text == pattern
    from fnmatch import fnmatchcase

    return fnmatchcase(text, pattern)
