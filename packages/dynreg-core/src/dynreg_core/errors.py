"""Every error and warning that dynreg raises.

One class a failure. The text of an error is built here from the error's fields, so that a
message has one home and a program can read the fields instead of the text. ``str(error)`` is one
sentence, a line break, and ``hint: `` with what to do about it.

Each class also derives from the built-in exception that callers already catch in its place.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "AmbiguousBackendError",
    "ArgumentTypeError",
    "ArgumentValueError",
    "BackendDeniedError",
    "BackendLoadError",
    "BackendOptionError",
    "BackendSignatureError",
    "BackendUnavailableError",
    "BridgeError",
    "DeprecatedBackendWarning",
    "DuplicateBackendError",
    "DynregError",
    "DynregWarning",
    "FleetMismatchError",
    "IgnoredOptionWarning",
    "ManifestError",
    "OptionTypeError",
    "OptionValueError",
    "PluginWarning",
    "PolicyError",
    "PolicyWarning",
    "UnknownBackendError",
    "UnknownOptionError",
]


class DynregError(Exception):
    """Root of every error that dynreg and its plugins raise.

    Args:
        sentence: What went wrong, naming the thing and the cause.
        hint: What the reader can do about it.

    Attributes:
        sentence: As passed in.
        hint: As passed in.
    """

    def __init__(self, sentence: str, *, hint: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.sentence}\nhint: {self.hint}"

    def __reduce__(self) -> tuple[object, ...]:
        # Exception's own recipe calls the class with self.args, which a class that is built from
        # fields does not accept.
        return _rebuild, (type(self), self.sentence, self.hint), self.__dict__


def _rebuild(cls: type[DynregError], sentence: str, hint: str) -> DynregError:
    """Unpickle an error without running the constructor of its class."""
    error = cls.__new__(cls)
    DynregError.__init__(error, sentence, hint=hint)
    return error


def _one_of(words: "Iterable[str]") -> str:
    """Join words for a sentence: ``'a'``, ``'a' or 'b'``, ``'a', 'b' or 'c'``."""
    quoted = [repr(word) for word in words]
    if len(quoted) < 2:
        return "".join(quoted)
    return f"{', '.join(quoted[:-1])} or {quoted[-1]}"


# --- arguments ---------------------------------------------------------------------------------


class ArgumentTypeError(DynregError, TypeError):
    """An argument of a dynreg function has a type that the function does not take.

    Args:
        argument: The argument's name, as in ``name`` or ``tags``.
        given: The value that was passed.
        expected: What is wanted, as in ``a string``.
        hint: How to write it.
    """

    def __init__(self, argument: str, given: object, *, expected: str, hint: str) -> None:
        self.argument = argument
        self.expected = expected
        self.given = type(given).__name__
        super().__init__(
            f"{argument} must be {expected}, not {self.given} {_short(given)}", hint=hint
        )


class ArgumentValueError(DynregError, ValueError):
    """An argument of a dynreg function has the right type and an impossible value.

    Args:
        argument: The argument's name.
        given: The value that was passed.
        problem: What is wrong with it, as in ``has a space at its end``.
        hint: How to write it.
    """

    def __init__(self, argument: str, given: object, *, problem: str, hint: str) -> None:
        self.argument = argument
        self.problem = problem
        super().__init__(f"{argument} {_short(given)} {problem}", hint=hint)


class BackendSignatureError(DynregError, TypeError):
    """A backend cannot take the arguments that torch.compile would pass to it.

    Args:
        backend: Name of the backend.
        target: Where its callable lives.
        argument: The keyword that the callable does not accept: ``mode`` or ``options``.
    """

    def __init__(self, backend: str, target: str, argument: str) -> None:
        self.backend = backend
        self.target = target
        self.argument = argument
        super().__init__(
            f"backend {backend!r} takes no {argument}: {target} has no parameter {argument!r}",
            hint=f"leave {argument} out, or ask the author of {backend!r} to accept "
            f"`{argument}=None`",
        )


# --- names -------------------------------------------------------------------------------------


class UnknownBackendError(DynregError, LookupError):
    """No backend of this name is registered, installed, or built into torch.

    Args:
        backend: The name that was looked up.
        suggestions: The closest names that exist, best first.
        distribution: A distribution known to provide the name, or ``None``.
        because: Why the name is missing although somebody may expect it, or ``None``.
        hint: What to do, where more is known than names and distributions.
    """

    def __init__(
        self,
        backend: str,
        *,
        suggestions: "Iterable[str]" = (),
        distribution: str | None = None,
        because: str | None = None,
        hint: str | None = None,
    ) -> None:
        self.backend = backend
        self.suggestions = tuple(suggestions)
        self.distribution = distribution
        self.because = because
        hints = [hint] if hint else []
        if self.suggestions:
            hints.append(f"did you mean {_one_of(self.suggestions)}?")
        if distribution is not None:
            hints.append(f"`pip install {distribution}` provides {backend!r}")
        super().__init__(
            f"no backend is named {backend!r}" + (f": {because}" if because else ""),
            hint=" ".join(hints) or "`dynreg list --all` shows every name",
        )


class DuplicateBackendError(DynregError, ValueError, AssertionError):
    """A name is registered already, for something else.

    It is an ``AssertionError`` because torch raises one here, and programs that register a
    backend each time they are imported catch it.

    Args:
        backend: The name.
        holder: What holds it, as in ``torch's built-in backend`` or ``package.module:function``.
        undo: Whether the holder can be unregistered.
    """

    def __init__(self, backend: str, holder: str, *, undo: bool = True) -> None:
        self.backend = backend
        self.holder = holder
        super().__init__(
            f"the backend name {backend!r} is taken by {holder}",
            hint="pass replace=True to take the name over"
            + (f", or call unregister_backend({backend!r}) first" if undo else ""),
        )


class AmbiguousBackendError(DynregError, LookupError):
    """Several distributions provide one name, and nothing says which one is meant.

    Args:
        backend: The name.
        distributions: The distributions that provide it, each as ``name version``.
        pins: The same as pins, ``backend@name``.
    """

    def __init__(self, backend: str, distributions: "Iterable[str]", pins: "Iterable[str]") -> None:
        self.backend = backend
        self.distributions = tuple(distributions)
        self.pins = tuple(pins)
        super().__init__(
            f"backend {backend!r} is ambiguous: "
            f"{len(self.distributions)} distributions provide it: {', '.join(self.distributions)}",
            hint=f"say which one, as {_one_of(self.pins)}, or settle it for the project with "
            f'`pin = ["{self.pins[0]}"]` under [tool.dynreg] in pyproject.toml',
        )


class BackendDeniedError(DynregError, LookupError):
    """Policy forbids the backend.

    Args:
        backend: The name.
        rule: The rule, as written.
        origin: Where the rule stands: a file and line, or an environment variable.
    """

    def __init__(self, backend: str, rule: str, origin: str) -> None:
        self.backend = backend
        self.rule = rule
        self.origin = origin
        super().__init__(
            f"backend {backend!r} is denied by {rule} in {origin}",
            hint=f"change {origin}, or use a backend that it allows: `dynreg list` shows them",
        )


# --- loading -----------------------------------------------------------------------------------


class BackendLoadError(DynregError, ImportError):
    """A backend is installed, and what its entry point names cannot be loaded.

    Args:
        backend: The name.
        target: What the entry point names, ``package.module:function``.
        cause: What went wrong, in one line.
        distribution: The distribution that provides it, as ``name version``, or ``None``.
        hint: What to do, where more is known than that the distribution is broken.
    """

    def __init__(
        self,
        backend: str,
        target: str,
        cause: str,
        *,
        distribution: str | None = None,
        hint: str | None = None,
    ) -> None:
        self.backend = backend
        self.target = target
        self.cause = cause
        self.distribution = distribution
        source = f" from {distribution}" if distribution else ""
        if hint is None:
            hint = (
                f"reinstall or update {distribution.partition(' ')[0]}, or report this to its "
                "authors; the other backends are not affected"
                if distribution
                else f"check that {target} can be imported and is callable"
            )
        super().__init__(
            f"backend {backend!r}{source} cannot be loaded: {target}: {cause}", hint=hint
        )


class BackendUnavailableError(DynregError, RuntimeError):
    """A backend is installed, and what it needs on this machine is missing.

    Args:
        backend: The name.
        reason: The first need that is not met, as in ``needs the command 'nvcc'``.
        hint: How to meet it.
        distribution: The distribution that provides the backend, as ``name version``, or ``None``.
    """

    def __init__(
        self, backend: str, reason: str, *, hint: str, distribution: str | None = None
    ) -> None:
        self.backend = backend
        self.reason = reason
        self.distribution = distribution
        source = f" from {distribution}" if distribution else ""
        super().__init__(f"backend {backend!r}{source} cannot work here: it {reason}", hint=hint)


# --- options -----------------------------------------------------------------------------------


class BackendOptionError(DynregError, ValueError):
    """Options that a backend does not take. The classes below say which and why.

    Plugins raise this class itself where two options exclude one another.
    """


class UnknownOptionError(BackendOptionError, TypeError):
    """A backend has no option of this name.

    Args:
        backend: Name of the backend.
        option: The name that was given.
        known: All names that the backend takes.
        suggestions: The closest of them, best first.
    """

    def __init__(
        self,
        backend: str,
        option: str,
        *,
        known: "Iterable[str]" = (),
        suggestions: "Iterable[str]" = (),
    ) -> None:
        self.backend = backend
        self.option = option
        self.known = tuple(known)
        self.suggestions = tuple(suggestions)
        if self.suggestions:
            hint = f"did you mean {_one_of(self.suggestions)}?"
        elif self.known:
            hint = f"its options are {', '.join(self.known)}"
        else:
            hint = "it takes no options: leave them out"
        super().__init__(f"backend {backend!r} has no option {option!r}", hint=hint)


class OptionTypeError(BackendOptionError, TypeError):
    """The value of an option has the wrong type.

    Args:
        backend: Name of the backend.
        option: Name of the option.
        given: The value.
        expected: What is wanted, as in ``bool`` or ``int or None``.
        hint: How to write it; built from ``expected`` where it is left out.
    """

    def __init__(
        self, backend: str, option: str, given: object, *, expected: str, hint: str | None = None
    ) -> None:
        self.backend = backend
        self.option = option
        self.given = type(given).__name__
        self.expected = expected
        super().__init__(
            f"option {option!r} of backend {backend!r} must be {expected}, "
            f"not {self.given} {_short(given)}",
            hint=hint or f"pass {option} as {expected}; `dynreg info {backend}` shows all options",
        )


class OptionValueError(BackendOptionError):
    """The value of an option is none of the values that it can take.

    Args:
        backend: Name of the backend.
        option: Name of the option.
        given: The value.
        choices: The values that it can take.
        suggestions: The closest of them, best first.
    """

    def __init__(
        self,
        backend: str,
        option: str,
        given: object,
        *,
        choices: "Iterable[object]",
        suggestions: "Iterable[str]" = (),
    ) -> None:
        self.backend = backend
        self.option = option
        self.choices = tuple(choices)
        self.suggestions = tuple(suggestions)
        listed = ", ".join(repr(choice) for choice in self.choices)
        super().__init__(
            f"option {option!r} of backend {backend!r} cannot be {_short(given)}",
            hint=f"did you mean {_one_of(self.suggestions)}? choices are {listed}"
            if self.suggestions
            else f"choices are {listed}",
        )


# --- files and settings ------------------------------------------------------------------------


class ManifestError(DynregError, ValueError):
    """A manifest does not follow the format of ``docs/manifest.md``.

    Args:
        file: Path of the manifest.
        line: Line the problem is at, counted from 1; 0 where the whole file is meant.
        problem: What is there.
        expected: What was expected in its place.
    """

    def __init__(self, file: str, line: int, problem: str, *, expected: str) -> None:
        self.file = file
        self.line = line
        self.problem = problem
        self.expected = expected
        place = f"{file}:{line}" if line else file
        super().__init__(f"{place}: {problem}", hint=f"expected {expected}")


class PolicyError(DynregError, ValueError):
    """A setting under ``[tool.dynreg]`` or in a ``DYNREG_*`` variable cannot be understood.

    Args:
        origin: Where the setting stands: a file and line, or an environment variable.
        problem: What is there.
        expected: What was expected in its place.
        hint: What to do; built from ``expected`` where it is left out.
    """

    def __init__(
        self, origin: str, problem: str, *, expected: str = "", hint: str | None = None
    ) -> None:
        self.origin = origin
        self.problem = problem
        self.expected = expected
        super().__init__(f"{origin}: {problem}", hint=hint or f"expected {expected}")


# --- torch and fleets --------------------------------------------------------------------------


class BridgeError(DynregError, RuntimeError):
    """Torch is not built the way the bridge knows, so that names cannot be passed to it.

    Torch is left as it was.
    """


class FleetMismatchError(DynregError, RuntimeError):
    """The ranks of one job resolve a backend name differently."""


# --- warnings ----------------------------------------------------------------------------------


class DynregWarning(UserWarning):
    """Root of every warning that dynreg gives."""


class DeprecatedBackendWarning(DynregWarning, FutureWarning):
    """A name still works and will go away."""


class IgnoredOptionWarning(DynregWarning):
    """An option was left out because the backend does not know it."""


class PolicyWarning(DynregWarning):
    """A rule of the policy matches nothing."""


class PluginWarning(DynregWarning):
    """What a distribution declares about its backends is wrong, and was left out."""


def _short(value: object) -> str:
    """``repr`` cut to what fits into a sentence; never fails."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - a value that cannot be printed must not hide the error
        text = f"<{type(value).__name__} object>"
    text = " ".join(text.split())
    return text if len(text) <= 60 else f"{text[:57]}..."
