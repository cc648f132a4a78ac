"""Loading of backends: imports, and what is told about them without importing."""

from typing import TYPE_CHECKING

from dynreg_core import _availability, _targets, _torch_backends
from dynreg_core._types import Status
from dynreg_core.errors import BackendLoadError, BackendUnavailableError, UnknownBackendError

if TYPE_CHECKING:
    from dynreg_core._availability import Missing
    from dynreg_core._resolution import Candidate
    from dynreg_core._torch_backends import TorchBackends
    from dynreg_core._types import CompilerFn

__all__ = ["Loader"]


class Loader:
    """Imports backends, and remembers what came of it.

    No lock is held while something is imported: a module that registers itself on import takes
    the registry's lock inside Python's import lock, and the other order would deadlock. Python
    runs a module once however many threads import it.

    Args:
        torch: Torch, as a source of names.
    """

    def __init__(self, torch: "TorchBackends") -> None:
        self._torch = torch
        self._loaded: dict[str, CompilerFn] = {}
        self._failures: dict[str, BackendLoadError] = {}

    def load(self, candidate: "Candidate") -> "CompilerFn":
        """Return the callable of something that is no alias.

        Raises:
            BackendUnavailableError: Something that it needs is missing.
            BackendLoadError: Its import fails, or is not callable.
        """
        if candidate.compiler_fn is not None:
            return candidate.compiler_fn
        self._check_requirements(candidate)
        if candidate.source == "torch":
            return self._load_torch(candidate.name)
        return self.load_target(candidate.name, candidate.target, candidate.label)

    def check(self, candidate: "Candidate") -> None:
        """Refuse a backend that cannot work here, without importing it.

        Raises:
            BackendUnavailableError: Something that it needs is missing.
            BackendLoadError: Its module is missing.
        """
        self._check_requirements(candidate)
        if candidate.entry is not None:
            self.check_target(candidate.name, candidate.target, candidate.label)

    def check_target(self, name: str, target: str, distribution: str | None = None) -> None:
        """Refuse ``package.module:function`` where its import is certain to fail.

        Args:
            name: Name of the backend, for errors.
            target: The place.
            distribution: Distribution and version that provide it.

        Raises:
            BackendLoadError: It has another form, or its module is missing.
        """
        try:
            module, _ = _targets.parse(target)
        except ValueError as error:
            cause = _cause(error)
        else:
            top = module.partition(".")[0]
            if _availability.module_exists(top):
                return
            cause = f"ModuleNotFoundError: No module named {top!r}"
        raise BackendLoadError(name, target, cause, distribution=distribution)

    def _check_requirements(self, candidate: "Candidate") -> None:
        missing = self._missing(candidate)
        if missing is not None:
            raise BackendUnavailableError(
                candidate.name,
                missing.reason,
                hint=missing.hint,
                distribution=candidate.label if candidate.entry else None,
            )

    def load_target(self, name: str, target: str, distribution: str | None = None) -> "CompilerFn":
        """Import ``package.module:function``.

        Args:
            name: Name of the backend, for errors.
            target: The place.
            distribution: Distribution and version that provide it.

        Raises:
            BackendLoadError: The import fails, or finds something that is not callable.
        """
        found = self._loaded.get(target)
        if found is not None:
            return found
        try:
            found = _targets.load(target)
        except (Exception, SystemExit) as error:
            failure = BackendLoadError(
                name, target, _cause(error), distribution=distribution, hint=_hint(error, target)
            )
            self._failures[target] = failure
            raise failure from error
        if not callable(found):
            failure = BackendLoadError(
                name,
                target,
                f"it is {type(found).__name__} {found!r:.60}, which is not callable",
                distribution=distribution,
            )
            self._failures[target] = failure
            raise failure
        self._failures.pop(target, None)
        # Where a module makes a new object for each access, the first one stays.
        return self._loaded.setdefault(target, found)

    def status(self, candidate: "Candidate") -> Status:
        """Return whether something that a name stands for can be used."""
        if candidate.compiler_fn is not None or candidate.target in self._loaded:
            return Status("loaded")
        missing = self._missing(candidate)
        if missing is not None:
            return Status("unavailable", missing.reason, missing.hint)
        failure = self._failures.get(candidate.target)
        if failure is None:
            try:
                self.check(candidate)
            except BackendLoadError as foreseen:
                failure = foreseen
            else:
                return Status("ready")
        return Status("broken", failure.cause, failure.hint)

    def forget(self) -> None:
        """Forget failures, because something may have been installed."""
        self._failures.clear()

    def holds(self, compiler_fn: object) -> bool:
        """Whether a callable is one of torch's, or of an entry point that was loaded."""
        loaded = any(_targets.same(compiler_fn, found) for found in self._loaded.values())
        return loaded or self._torch.holds(compiler_fn)

    def _missing(self, candidate: "Candidate") -> "Missing | None":
        if candidate.source == "torch":
            module = _torch_backends.REQUIRED_MODULES.get(candidate.name)
            return _availability.missing_module(module) if module else None
        manifest = candidate.manifest
        if manifest is None or candidate.target in self._loaded:
            return None
        return _availability.missing_torch(
            manifest.torch, self._torch.version()
        ) or _availability.missing_requirement(manifest.requires)

    def _load_torch(self, name: str) -> "CompilerFn":
        try:
            return self._torch.load(name)
        except UnknownBackendError:
            raise
        except Exception as error:
            raise BackendLoadError(
                name, f"torch's backend {name!r}", _cause(error), hint="check that torch works"
            ) from error


def _cause(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _hint(error: BaseException, target: str) -> str | None:
    """Return what to do where the failure is that another package is missing."""
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        return None
    top = error.name.partition(".")[0]
    if top == target.partition(":")[0].partition(".")[0].strip():
        return None
    return f"install the package that provides the module {top!r}"
