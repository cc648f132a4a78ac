"""Everything that touches torch's private tables."""

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dynreg_core._types import CompilerFn, State

_TORCH_REGISTRY = "torch._dynamo.backends.registry"

_mirrored: set[str] = set()


def sync(before: "State", after: "State") -> None:
    """Tell torch what is registered, where torch is in memory."""
    registry: Any = sys.modules.get(_TORCH_REGISTRY)
    if registry is None:
        return
    for name in before.registrations.keys() - after.registrations.keys():
        if name in _mirrored:
            _mirrored.discard(name)
            registry._BACKENDS.pop(name, None)  # noqa: SLF001 - this module's purpose
            registry._COMPILER_FNS.pop(name, None)  # noqa: SLF001 - this module's purpose
    for name, entry in after.registrations.items():
        if entry is not before.registrations.get(name) and entry.compiler_fn is not None:
            _mirrored.add(name)
            registry._BACKENDS[name] = None  # noqa: SLF001 - this module's purpose
            registry._COMPILER_FNS[name] = entry.compiler_fn  # noqa: SLF001 - this module's purpose


def torch_backends() -> "Mapping[str, tuple[str, ...]]":
    """Return tags by name of what torch's registry holds, without what dynreg put there."""
    registry: Any = sys.modules.get(_TORCH_REGISTRY)
    if registry is None:
        return {}
    tags = getattr(registry, "_BACKEND_TAGS", None)
    return {
        name: tuple(tags.get(name, ()) if tags is not None else getattr(function, "_tags", ()))
        for name, function in registry._COMPILER_FNS.items()  # noqa: SLF001 - this module's purpose
        if name not in _mirrored and registry._BACKENDS.get(name) is None  # noqa: SLF001 - likewise
    }


def lookup_torch_backend(name: str) -> "CompilerFn":
    """Import torch and return the backend that torch has under a name."""
    from torch._dynamo.backends import registry

    return registry.lookup_backend(name)
