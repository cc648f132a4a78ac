"""Which backend is meant where none is named."""

from typing import TYPE_CHECKING, Any

from dynreg_core.errors import ArgumentTypeError, DynregError, PolicyError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dynreg_core._resolution import Candidate, View
    from dynreg_core._types import CompilerFn

__all__ = ["TORCH_DEFAULT", "default_for", "device_type"]

TORCH_DEFAULT = "inductor"

_INDUCTOR_DEVICES = frozenset({"cpu", "cuda", "xpu", "mps", "mtia"})
"""Device types that inductor generates code for: ``torch._inductor.codegen.common``,
``init_backend_registration`` of torch 2.13."""


def device_type(device: Any) -> str:
    """Return the type of a device: ``cuda`` for ``"cuda:0"`` and for ``torch.device("cuda", 0)``.

    Raises:
        ArgumentTypeError: It is neither a string nor has a ``type``.
    """
    kind = device if isinstance(device, str) else getattr(device, "type", None)
    if not isinstance(kind, str) or not kind:
        raise ArgumentTypeError(
            "device",
            device,
            expected="a device or its type",
            hint='pass a torch.device, or a string as in "cuda"',
        )
    return kind.partition(":")[0]


def default_for(view: "View", device: str, find: "Callable[[str], object]") -> "str | CompilerFn":
    """Return the default backend.

    What a program has set comes before policy, and a default for the device type before the
    default for all. Failing these, a device type that inductor does not know takes the only
    installed backend whose manifest names it.

    Args:
        view: What is known.
        device: Device type; empty for none in particular.
        find: Looks up a name, and raises where it stands for nothing.

    Raises:
        PolicyError: The default that policy names stands for nothing.
    """
    for key in (device, ""):
        chosen = view.state.defaults.get(key)
        if chosen is not None:
            return chosen
    for key in (device, ""):
        name = view.policy.defaults.get(key)
        if name is not None:
            if ":" not in name:
                _check(name, view.policy.origins[key], find)
            return name
    if device and device not in _INDUCTOR_DEVICES:
        makers = [
            name for name in sorted(view.installed.names()) if _compiles_for(view, name, device)
        ]
        if len(makers) == 1:
            return makers[0]
    return TORCH_DEFAULT


def _compiles_for(view: "View", name: str, device: str) -> bool:
    try:
        candidate: Candidate = view.select(name)
    except DynregError:
        return False
    return (
        candidate.manifest is not None
        and device in candidate.manifest.devices
        and not candidate.tags
    )


def _check(name: str, origin: str, find: "Callable[[str], object]") -> None:
    try:
        find(name)
    except DynregError as error:
        raise PolicyError(
            origin, f"the default {name!r} cannot be used: {error.sentence}", hint=error.hint
        ) from error
