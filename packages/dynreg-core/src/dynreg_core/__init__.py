"""A registry, loader and command line for torch.compile backends.

The functions here have the names and semantics of torch's own registry, so that code moves over
by changing the import. They act on one :class:`Registry`, the default one.

Importing this package imports nothing else: each name is imported when it is first used.
"""

TYPE_CHECKING = False  # a type checker reads it as typing.TYPE_CHECKING, which is costly to import
if TYPE_CHECKING:
    from dynreg_core import errors as errors
    from dynreg_core._bridge import install as install
    from dynreg_core._bridge import uninstall as uninstall
    from dynreg_core._default import backend as backend
    from dynreg_core._default import default_for as default_for
    from dynreg_core._default import get_backend_info as get_backend_info
    from dynreg_core._default import get_default_backend as get_default_backend
    from dynreg_core._default import is_registered_backend as is_registered_backend
    from dynreg_core._default import list_backend_info as list_backend_info
    from dynreg_core._default import list_backends as list_backends
    from dynreg_core._default import lookup_backend as lookup_backend
    from dynreg_core._default import refresh as refresh
    from dynreg_core._default import register_alias as register_alias
    from dynreg_core._default import register_backend as register_backend
    from dynreg_core._default import register_debug_backend as register_debug_backend
    from dynreg_core._default import register_experimental_backend as register_experimental_backend
    from dynreg_core._default import set_default_backend as set_default_backend
    from dynreg_core._default import unregister_backend as unregister_backend
    from dynreg_core._default import using as using
    from dynreg_core._fleet import assert_same_backends as assert_same_backends
    from dynreg_core._fleet import fingerprint as fingerprint
    from dynreg_core._handle import BackendHandle as BackendHandle
    from dynreg_core._options import parse_options as parse_options
    from dynreg_core._registry import Registry as Registry
    from dynreg_core._types import BackendInfo as BackendInfo
    from dynreg_core._types import BackendManifest as BackendManifest
    from dynreg_core._types import OptionSpec as OptionSpec
    from dynreg_core._types import Status as Status
    from dynreg_core.errors import DynregError as DynregError

_HOMES = {
    "_bridge": ("install", "uninstall"),
    "_default": (
        "backend",
        "default_for",
        "get_backend_info",
        "get_default_backend",
        "is_registered_backend",
        "list_backend_info",
        "list_backends",
        "lookup_backend",
        "refresh",
        "register_alias",
        "register_backend",
        "register_debug_backend",
        "register_experimental_backend",
        "set_default_backend",
        "unregister_backend",
        "using",
    ),
    "_fleet": ("assert_same_backends", "fingerprint"),
    "_handle": ("BackendHandle",),
    "_options": ("parse_options",),
    "_registry": ("Registry",),
    "_types": ("BackendInfo", "BackendManifest", "OptionSpec", "Status"),
    "errors": ("DynregError",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "BackendHandle",
    "BackendInfo",
    "BackendManifest",
    "DynregError",
    "OptionSpec",
    "Registry",
    "Status",
    "assert_same_backends",
    "backend",
    "default_for",
    "errors",
    "fingerprint",
    "get_backend_info",
    "get_default_backend",
    "install",
    "is_registered_backend",
    "list_backend_info",
    "list_backends",
    "lookup_backend",
    "parse_options",
    "refresh",
    "register_alias",
    "register_backend",
    "register_debug_backend",
    "register_experimental_backend",
    "set_default_backend",
    "uninstall",
    "unregister_backend",
    "using",
]


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name == "errors":
        return import_module("dynreg_core.errors")
    if name == "__version__":
        from importlib.metadata import version

        return version("dynreg-core")
    module = _HOME.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"dynreg_core.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *(name for name in __all__ if name not in globals())]
