"""What is told about a name: one record for each thing that it may stand for."""

from dataclasses import replace
from typing import TYPE_CHECKING

from dynreg_core._names import pin_of
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
    ambiguity: AmbiguousBackendError | None = None
    try:
        chosen = view.select(name)
    except AmbiguousBackendError as error:
        ambiguity = error
    except BackendDeniedError:
        pass  # each candidate below says by what
    infos: list[BackendInfo] = []
    for candidate in view.candidates(name, every=True):
        if chosen is not None and _is(candidate, chosen):
            status = _own_status(view, loader, candidate)
            infos.insert(0, _info(candidate, status, view.torch.version()))
        else:
            status = _reason(view, candidate, chosen, ambiguity)
            infos.append(_info(candidate, status, view.torch.version()))
    return infos


def _is(a: "Candidate", b: "Candidate") -> bool:
    return (a.source, a.distribution, a.alias_of) == (b.source, b.distribution, b.alias_of)


def _own_status(view: "View", loader: "Loader", candidate: "Candidate") -> Status:
    """Return the status of what a lookup finds: for an alias, that of what it stands for."""
    for _ in range(10):  # a chain of aliases is short, or a circle
        if not candidate.alias_of:
            return loader.status(candidate)
        name, _, distribution = candidate.alias_of.partition("@")
        try:
            candidate = view.select(name, distribution)
        except DynregError as error:
            return Status("broken", error.sentence, error.hint)
    return Status("broken", "its aliases form a circle", "unregister one of them")


def _reason(
    view: "View",
    candidate: "Candidate",
    chosen: "Candidate | None",
    ambiguity: AmbiguousBackendError | None,
) -> Status:
    """Return why a lookup of the name does not find this candidate."""
    denial = view.policy.denial(candidate.name, candidate.distribution)
    if denial is not None:
        error = BackendDeniedError(candidate.name, str(denial), denial.origin)
        return Status("denied", f"{denial} in {denial.origin}", error.hint)
    if chosen is not None:
        return Status("shadowed", f"by {chosen.label}", _takeover(candidate, chosen))
    if ambiguity is not None:
        return Status("ambiguous", ", ".join(ambiguity.distributions), ambiguity.hint)
    pin = view.policy.pin(candidate.name)
    rule, origin = (str(pin), pin.origin) if pin else ("policy", "")
    return Status("denied", f"{rule} in {origin}", f"change {origin}")


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
