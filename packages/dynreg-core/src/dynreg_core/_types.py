"""The data that the modules of dynreg_core pass to one another. Frozen, and without behaviour."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

__all__ = [
    "Alias",
    "BackendInfo",
    "BackendManifest",
    "CompilerFn",
    "EntryPoint",
    "MetadataProblem",
    "OptionSpec",
    "Registration",
    "Requirements",
    "Source",
    "State",
    "Status",
    "StatusKind",
]

CompilerFn: TypeAlias = Callable[..., Any]
"""``compiler_fn(graph_module, example_inputs, *, mode=None, options=None)``, as torch calls it."""

Source: TypeAlias = Literal["process", "entry point", "torch"]
"""Where a name comes from; the order is the order in which a name is looked up."""

StatusKind: TypeAlias = Literal[
    "loaded", "ready", "unavailable", "broken", "shadowed", "ambiguous", "denied"
]


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """One line of a distribution's ``entry_points.txt``, with where it was found.

    Attributes:
        name: Left of the equals sign.
        value: Right of it, ``package.module:attribute``.
        group: Heading that it stands under.
        distribution: Name of the distribution, as its authors spell it.
        version: Version of the distribution; empty where its metadata does not say.
        path: Folder with the distribution's metadata; empty where it is not a folder.
    """

    name: str
    value: str
    group: str
    distribution: str
    version: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True)
class MetadataProblem:
    """Something wrong with what is installed, found while scanning.

    Attributes:
        path: The file or folder.
        problem: What is wrong, in one sentence.
        hint: What to do.
        distribution: Name of the distribution, where it is known.
    """

    path: str
    problem: str
    hint: str
    distribution: str = ""


@dataclass(frozen=True, slots=True)
class Requirements:
    """What has to be there for a backend to work, checked without importing the backend.

    Attributes:
        modules: Importable modules.
        commands: Programs on the PATH.
        environment: Environment variables that are set.
    """

    modules: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OptionSpec:
    """One option of a backend.

    Attributes:
        name: Keyword under which it is passed.
        type: ``bool``, ``int``, ``float``, ``str``, ``list``, ``table`` or ``any``; for an option
            declared by a dataclass the text of its annotation.
        default: Value in effect when the option is not passed; ``None`` where there is none.
        choices: The only values that it can take; empty where any value of the type will do.
        description: One line.
        required: Whether it has to be passed.
    """

    name: str
    type: str
    default: Any = None
    choices: tuple[Any, ...] = ()
    description: str = ""
    required: bool = False


@dataclass(frozen=True, slots=True)
class Alias:
    """Another name of a backend.

    Attributes:
        name: The other name.
        tags: Tags of that name; they have nothing to do with the tags of the first.
        deprecated: Why the name will go away; empty where it will not.
    """

    name: str
    tags: tuple[str, ...] = ()
    deprecated: str = ""


@dataclass(frozen=True, slots=True)
class BackendManifest:
    """What a distribution states about one of its backends; see ``docs/manifest.md``.

    Attributes:
        name: The backend's name, that of its entry point.
        file: Path of the manifest.
        line: Line at which the backend's table starts.
        description: One line.
        tags: Tags, as in ``register_backend``.
        homepage: Address of a page for people.
        torch: Version specifier for torch, as in ``>=2.13``; empty for any.
        devices: Device types that it compiles for; empty where it does not say.
        training: Whether backward passes work, or ``None`` where it does not say.
        inference: Whether forward passes without gradients work, likewise.
        dynamic: Whether dynamic shapes work, likewise.
        aliases: Other names.
        options: Options, in the order of the file; ``None`` where it does not say.
        requires: What has to be there.
        op_counts: ``package.module:function`` that returns an object with the dictionaries
            ``native`` and ``fallback``, from the name of an op to how often the graphs compiled so
            far use it; empty where there is none.
    """

    name: str
    file: str
    line: int
    description: str = ""
    tags: tuple[str, ...] = ()
    homepage: str = ""
    torch: str = ""
    devices: tuple[str, ...] = ()
    training: bool | None = None
    inference: bool | None = None
    dynamic: bool | None = None
    aliases: tuple[Alias, ...] = ()
    options: tuple[OptionSpec, ...] | None = None
    requires: Requirements = field(default_factory=Requirements)
    op_counts: str = ""


@dataclass(frozen=True, slots=True)
class Status:
    """Whether a name can be used, and if not, why.

    Attributes:
        kind: ``loaded`` (its code is imported), ``ready`` (nothing speaks against loading it),
            ``unavailable`` (a requirement is missing), ``broken`` (loading it failed),
            ``shadowed`` (another source holds the name), ``ambiguous`` (several distributions
            provide it), ``denied`` (by policy).
        detail: The reason, cause, holder, distributions or rule; empty for loaded and ready.
        hint: What to do; empty for loaded and ready.
    """

    kind: StatusKind
    detail: str = ""
    hint: str = ""

    @property
    def usable(self) -> bool:
        """Whether a lookup of the name is expected to succeed."""
        return self.kind in {"loaded", "ready"}

    def __str__(self) -> str:
        return f"{self.kind} ({self.detail})" if self.detail else self.kind


@dataclass(frozen=True, slots=True)
class BackendInfo:
    """What is known of one name from one source, without importing the backend.

    Attributes:
        name: The name, valid in ``torch.compile(backend=name)``.
        source: Where it comes from.
        target: ``package.module:attribute`` of its callable; empty where it is not known.
        distribution: Distribution that provides it; empty for names of this process.
        version: Version of that distribution.
        tags: Tags of this name.
        status: Whether it can be used.
        alias_of: The name it stands for; empty where it is no alias.
        deprecated: Why the name will go away; empty where it will not.
        manifest: What the distribution states about it, or ``None``.
        summary: One line from the distribution's metadata, for want of a manifest.
        path: Folder with the distribution's metadata; empty where there is none.
    """

    name: str
    source: Source
    target: str
    distribution: str = ""
    version: str = ""
    tags: tuple[str, ...] = ()
    status: Status = Status("ready")
    alias_of: str = ""
    deprecated: str = ""
    manifest: BackendManifest | None = None
    summary: str = ""
    path: str = ""

    @property
    def description(self) -> str:
        """One line for a listing."""
        return (self.manifest.description if self.manifest else "") or self.summary


@dataclass(frozen=True, slots=True, eq=False)
class Registration:
    """A name that was registered in this process.

    Attributes:
        name: The name.
        compiler_fn: The backend, or ``None`` for an alias.
        tags: Tags of this name.
        alias_of: The name it stands for; empty where ``compiler_fn`` is set.
        deprecated: Why the name will go away; empty where it will not.
        options: Dataclass that declares the backend's options, or ``None``.
    """

    name: str
    compiler_fn: CompilerFn | None
    tags: tuple[str, ...] = ()
    alias_of: str = ""
    deprecated: str = ""
    options: type[Any] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """Everything in a registry that calls change. A change replaces the whole of it.

    Attributes:
        registrations: By name.
        defaults: Default backends by device type; the empty string is every other device.
    """

    registrations: Mapping[str, Registration] = field(default_factory=dict)
    defaults: Mapping[str, str | CompilerFn] = field(default_factory=dict)
