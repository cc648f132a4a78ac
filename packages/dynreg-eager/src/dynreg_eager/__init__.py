"""torch.compile backends that run the captured graph with torch's own kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dynreg_eager.interpret import InterpretOptions as InterpretOptions
    from dynreg_eager.interpret import eager_interpret as eager_interpret
    from dynreg_eager.replay import ReplayOptions as ReplayOptions
    from dynreg_eager.replay import eager_replay as eager_replay

_HOME = {
    "InterpretOptions": "interpret",
    "ReplayOptions": "replay",
    "eager_interpret": "interpret",
    "eager_replay": "replay",
}

__all__ = ["InterpretOptions", "ReplayOptions", "eager_interpret", "eager_replay"]


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"dynreg_eager.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
