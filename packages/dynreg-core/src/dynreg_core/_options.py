"""Options of backends, checked against a dataclass or a manifest."""

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping

OptionsT = TypeVar("OptionsT")


def parse_options(
    schema: type[OptionsT], options: "Mapping[str, Any] | None", *, backend: str
) -> OptionsT:
    """Turn the mapping that ``torch.compile(options=...)`` passes into a dataclass instance."""
    return schema(**(options or {}))
