"""The registry that the module-level functions act on."""

from dynreg_core._registry import Registry
from dynreg_core._types import State

__all__ = ["registry"]


def _tell_torch(before: State, after: State) -> None:
    from dynreg_core import _bridge

    _bridge.sync(before, after)


registry = Registry(observer=_tell_torch)

backend = registry.backend
default_for = registry.default_for
get_backend_info = registry.get_backend_info
get_default_backend = registry.get_default_backend
is_registered_backend = registry.is_registered_backend
list_backend_info = registry.list_backend_info
list_backends = registry.list_backends
lookup_backend = registry.lookup_backend
refresh = registry.refresh
register_alias = registry.register_alias
register_backend = registry.register_backend
register_debug_backend = registry.register_debug_backend
register_experimental_backend = registry.register_experimental_backend
set_default_backend = registry.set_default_backend
unregister_backend = registry.unregister_backend
using = registry.using
