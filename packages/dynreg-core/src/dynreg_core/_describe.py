"""What is told about a name: one record for each thing that it may stand for."""

from dataclasses import replace
from typing import TYPE_CHECKING

from dynreg_core._names import pin_of, split_pin
from dynreg_core._resolution import follow
from dynreg_core._scanner import read_headers
from dynreg_core._types import BackendInfo, Status
from dynreg_core.errors import AmbiguousBackendError, BackendDeniedError, DynregError

if TYPE_CHECKING:
    from dynreg_core._loading import Loader
    from dynreg_core._resolution import Candidate, View

__all__ = ["describe"]


def describe(view: "View", loader: "Loader", name: str) -> list[BackendInfo]:
    """Return what is known of everything that a name may stand for, without importing it.

    The first is what a lookup finds; where a lookup finds nothing, its status says why.
    """
    chosen: Candidate | None = None
    refused = Status("denied")
    try:
        chosen = view.select(name)
    except AmbiguousBackendError as error:
        refused = Status("ambiguous", ", ".join(error.distributions), error.hint)
    except BackendDeniedError as error:
        refused = _denied(error)
    version = view.torch.version()
    infos: list[BackendInfo] = []
    for candidate in view.candidates(name, every=True):
        rule = view.policy.denial(name, candidate.distribution)
        if chosen is not None and _is(candidate, chosen):
            infos.insert(0, _info(candidate, _own_status(view, loader, candidate), version))
        elif rule is not None:
            denied = _denied(BackendDeniedError(name, str(rule), rule.origin))
            infos.append(_info(candidate, denied, version))
        elif chosen is not None:
            shadowed = Status("shadowed", f"by {chosen.label}", _takeover(candidate, chosen))
            infos.append(_info(candidate, shadowed, version))
        else:
            infos.append(_info(candidate, refused, version))
    return infos


def _is(a: "Candidate", b: "Candidate") -> bool:
    return (a.source, a.distribution, a.alias_of) == (b.source, b.distribution, b.alias_of)


def _denied(error: BackendDeniedError) -> Status:
    return Status("denied", f"{error.rule} in {error.origin}", error.hint)


def _own_status(view: "View", loader: "Loader", candidate: "Candidate") -> Status:
    """Return the status of what a lookup finds: for an alias, that of what it stands for."""
    try:
        return loader.status(follow(candidate, lambda name: view.select(*split_pin(name))))
    except DynregError as error:
        return Status("broken", error.sentence, error.hint)


def _takeover(candidate: "Candidate", chosen: "Candidate") -> str:
    """Return how the name is taken from what holds it."""
    name = candidate.name
    if chosen.source == "process":
        return f"unregister_backend({name!r}) gives the name back"
    pin = pin_of(name, candidate.distribution)
    if chosen.built_in:
        return (
            f"use {pin!r}, or take the name over with "
            f"register_backend(lookup_backend({pin!r}), {name!r}, replace=True)"
        )
    return f'use {pin!r}, or `pin = ["{pin}"]` under [tool.dynreg] in pyproject.toml'


def _info(candidate: "Candidate", status: Status, torch_version: str) -> BackendInfo:
    entry, manifest = candidate.entry, candidate.manifest
    info = BackendInfo(
        candidate.name,
        candidate.source,
        "" if candidate.alias_of and entry is None else candidate.target,
        candidate.distribution,
        entry.version if entry else (torch_version if candidate.source == "torch" else ""),
        candidate.tags,
        status,
        candidate.alias_of.partition("@")[0],
        candidate.deprecated,
        manifest,
    )
    if entry is None or not entry.path:
        return info
    summary = ""
    if manifest is None or not manifest.description:
        summary = read_headers(entry.path).get("summary", [""])[0]
    return replace(info, path=entry.path, summary=summary)
