"""What a valid name, tag, pin and qualified name is, and which names are close to another."""

from typing import TYPE_CHECKING

from dynreg_core._scanner import normalized
from dynreg_core.errors import ArgumentTypeError, ArgumentValueError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "check_name",
    "check_tags",
    "closest",
    "is_qualified",
    "pin_of",
    "same_distribution",
    "split_pin",
]

_RESERVED = "@:,"
"""Characters that mean something in a lookup: ``name@distribution``, ``module:function``, lists."""


def check_name(name: object, argument: str = "name") -> str:
    """Return a name that can be registered.

    Args:
        name: The name.
        argument: What the error calls it.

    Raises:
        ArgumentTypeError: It is not a string.
        ArgumentValueError: It is empty, or has spaces or reserved characters.
    """
    if not isinstance(name, str):
        raise ArgumentTypeError(
            argument, name, expected="a string", hint='write it in quotes, as in "my_backend"'
        )
    if not name:
        raise ArgumentValueError(
            argument, name, problem="is empty", hint='pass a name, as in "my_backend"'
        )
    for character in name:
        if character.isspace() or not character.isprintable() or character in _RESERVED:
            raise ArgumentValueError(
                argument,
                name,
                problem=f"contains {character!r}",
                hint="use letters, digits, '_', '-' and '.'",
            )
    return name


def check_tags(tags: "Iterable[str]", argument: str = "tags") -> tuple[str, ...]:
    """Return tags as a tuple.

    Args:
        tags: Any iterable of strings, except a string.
        argument: What the error calls it.

    Raises:
        ArgumentTypeError: It is one string, no iterable, or holds something else than strings.
        ArgumentValueError: A tag is empty or has spaces.
    """
    if isinstance(tags, str):
        raise ArgumentTypeError(
            argument,
            tags,
            expected="a sequence of strings",
            hint=f"pass [{tags!r}] for one tag",
        )
    try:
        checked = tuple(tags)
    except TypeError:
        raise ArgumentTypeError(
            argument, tags, expected="a sequence of strings", hint='pass a list, as in ["debug"]'
        ) from None
    for tag in checked:
        if not isinstance(tag, str):
            raise ArgumentTypeError(
                f"each of {argument}", tag, expected="a string", hint="write it in quotes"
            )
        if not tag or any(character.isspace() for character in tag):
            raise ArgumentValueError(
                "tag",
                tag,
                problem="contains a space" if tag else "is empty",
                hint="use letters, digits, '_' and '-'",
            )
    return checked


def is_qualified(name: str) -> bool:
    """Whether a name is that of a target, ``package.module:function``."""
    return ":" in name


def split_pin(name: str) -> tuple[str, str]:
    """Split ``name@distribution``; the distribution is empty where there is none."""
    name, _, distribution = name.partition("@")
    return name, distribution


def pin_of(name: str, distribution: str) -> str:
    """Return the pin that chooses a distribution for a name."""
    return f"{name}@{distribution}"


def same_distribution(a: str, b: str) -> bool:
    """Whether two spellings name one distribution."""
    return normalized(a) == normalized(b)


def closest(name: str, names: "Iterable[str]", count: int = 3) -> tuple[str, ...]:
    """Return the names most like a name, best first.

    Args:
        name: What was written.
        names: What exists.
        count: How many at most.
    """
    from difflib import get_close_matches

    by_fold = {other.casefold(): other for other in sorted(names)}
    matches = get_close_matches(name.casefold(), by_fold, n=count, cutoff=0.6)
    return tuple(by_fold[match] for match in matches)
