"""Whether the processes of one job mean the same backends by the same names."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from dynreg_core.errors import FleetMismatchError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["BackendFingerprint", "assert_same_backends", "fingerprint"]


@dataclass(frozen=True, slots=True)
class BackendFingerprint:
    """What one name stands for, comparable between machines.

    Attributes:
        name: The name.
        source: Where it comes from: ``process``, ``entry point`` or ``torch``.
        distribution: Distribution that provides it; empty for names of the process.
        version: Version of that distribution.
        target: ``package.module:attribute`` of its callable.
        status: Whether it can be used there.
        sha256: Hash of the file that the target lies in; empty where there is none to read.
    """

    name: str
    source: str
    distribution: str
    version: str
    target: str
    status: str
    sha256: str


def fingerprint(names: "Iterable[str] | None" = None) -> "Mapping[str, BackendFingerprint]":
    """Return what names stand for in this process. Imports no backend.

    Args:
        names: The names; all names by default.

    Returns:
        By name, what a lookup of it finds. Equal on two machines where the same distributions of
        the same versions, with the same files, provide the names.

    Raises:
        UnknownBackendError: One of the names stands for nothing.
    """
    from dynreg_core._default import registry

    wanted = registry.list_backends(None) if names is None else sorted(set(names))
    found = {}
    for name in wanted:
        info = registry.get_backend_info(name)
        # Whether a backend is loaded already is no difference.
        status = "ready" if info.status.usable else info.status.kind
        found[name] = BackendFingerprint(
            name,
            info.source,
            info.distribution,
            info.version,
            info.target,
            status,
            _hash(info.target),
        )
    return found


def _hash(target: str) -> str:
    import hashlib

    from dynreg_core._source import locate

    file, _ = locate(target)
    try:
        with open(file, "rb") as stream:  # noqa: PTH123 - pathlib is costly to import
            return hashlib.sha256(stream.read()).hexdigest()
    except OSError:
        return ""


def assert_same_backends(group: Any = None, *, names: "Iterable[str] | None" = None) -> None:
    """Check that all ranks of a process group mean the same backends by the same names.

    Every rank of the group has to call this. Either all of them return, or all raise.

    Args:
        group: A ``torch.distributed`` process group; the default one if ``None``.
        names: The names to compare; by default all names that any rank has.

    Raises:
        FleetMismatchError: Ranks differ; the error names each with what it has.
    """
    import torch.distributed as dist

    from dynreg_core.errors import DynregError

    mine: Mapping[str, Any]
    try:
        mine = {name: asdict(one) for name, one in fingerprint(names).items()}
    except DynregError as error:  # told to the other ranks, who would wait for this one
        mine = {"": {"error": error.sentence}}
    gathered: list[Any] = [None] * dist.get_world_size(group)
    dist.all_gather_object(gathered, mine, group=group)
    check(gathered)


def check(ranks: "list[Mapping[str, Mapping[str, str]]]") -> None:
    """Hold what ranks have told against one another.

    Args:
        ranks: For each rank, by name, the fields of its fingerprint.

    Raises:
        FleetMismatchError: Ranks differ.
    """
    differences = list(_differences(ranks))
    if differences:
        raise FleetMismatchError(
            f"the ranks of this job resolve backends differently: {'; '.join(differences)}",
            hint="install the same versions on every machine, or pin the backend: "
            "`dynreg info NAME` on each shows what it has",
        )


def _differences(ranks: "list[Mapping[str, Mapping[str, str]]]") -> "Iterable[str]":
    """Say of each name which ranks differ from what most ranks have, and in what."""
    for name in sorted({name for rank in ranks for name in rank}):
        told = [rank.get(name) for rank in ranks]
        common = max(told, key=told.count)
        for number, one in enumerate(told):
            if one != common:
                yield f"rank {number} has {_difference(name, one, common)}"


def _difference(
    name: str, one: "Mapping[str, str] | None", common: "Mapping[str, str] | None"
) -> str:
    if one is None:
        return f"no backend {name!r}"
    if "error" in one:
        return f"a problem ({one['error']})"
    if common is None or "error" in common:
        return f"a backend {name!r} from {_source(one)}, which others lack"
    fields = [key for key in one if one[key] != common[key]]
    if set(fields) & {"distribution", "version", "source"}:
        return f"{name!r} from {_source(one)} where others have {_source(common)}"
    key = fields[0]
    if key == "sha256":
        return f"{name!r} with another file for {one['target']}"
    return f"{name!r} with {key} {one[key]!r} where others have {common[key]!r}"


def _source(one: "Mapping[str, str]") -> str:
    return f"{one['distribution']} {one['version']}".strip() or one["source"]
