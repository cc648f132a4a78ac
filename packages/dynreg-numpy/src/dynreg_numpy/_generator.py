"""Torch's CPU generator as a stream of random words for the runtime."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import torch

__all__ = ["GENERATOR", "TorchStream"]

_WORDS = 624
#: The state that torch gives out: a seed, the position, the words, and normal numbers kept.
_LAYOUT = np.dtype(
    {
        "names": ["left", "seeded", "next", "words", "normal", "has_normal"],
        "formats": ["<i4", "<i4", "<u8", ("<u8", (_WORDS,)), "<f8", "<i4"],
        "offsets": [8, 12, 16, 24, 24 + 8 * _WORDS + 8, 24 + 8 * _WORDS + 24],
        "itemsize": 5056,
    }
)


class TorchStream:
    """Draws from torch's default generator and moves it on, so that both go on from there."""

    def __init__(self) -> None:
        self._twister = np.random.MT19937()
        self._lock = threading.Lock()

    def words(self, count: int) -> Any:
        """Return the next ``count`` words of 32 bits, as uint64."""
        if not count:
            return np.empty(0, np.uint64)
        with self._lock:
            tensor, state = _state()
            position = _WORDS + 1 - int(state["left"])
            key = state["words"].astype(np.uint32)
            self._twister.state = {
                "bit_generator": "MT19937",
                "state": {"key": key, "pos": position},
            }
            drawn = self._twister.random_raw(count)
            after = self._twister.state["state"]
            state["words"] = after["key"]
            state["next"] = after["pos"]
            state["left"] = _WORDS + 1 - int(after["pos"])
            torch.set_rng_state(tensor)
        return drawn

    def take_normal(self) -> float | None:
        """Return the second half of the last pair of normal numbers, once."""
        tensor, state = _state()
        if not state["has_normal"]:
            return None
        state["has_normal"] = 0
        torch.set_rng_state(tensor)
        return float(state["normal"])

    def keep_normal(self, value: float) -> None:
        """Keep the second half of a pair of normal numbers."""
        tensor, state = _state()
        state["normal"], state["has_normal"] = value, 1
        torch.set_rng_state(tensor)

    def get_state(self) -> Any:
        """Return all that decides what comes next, as bytes."""
        return torch.get_rng_state().numpy()

    def set_state(self, state: Any) -> None:
        """Go back to a state."""
        torch.set_rng_state(torch.from_numpy(state))


def _state() -> tuple[torch.Tensor, Any]:
    tensor = torch.get_rng_state()
    return tensor, tensor.numpy().view(_LAYOUT)[0]


GENERATOR = TorchStream()
