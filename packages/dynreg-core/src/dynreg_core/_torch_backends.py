"""The backends that torch itself has: their names, without importing torch."""

import sys
from typing import TYPE_CHECKING

from dynreg_core import _targets

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dynreg_core._types import CompilerFn
    from dynreg_core.errors import UnknownBackendError

__all__ = ["BUILT_IN", "DISTRIBUTION", "REQUIRED_MODULES", "TorchBackends", "distribution_of"]

DISTRIBUTION = "torch"

_PLAIN = ("cudagraphs", "inductor", "openxla", "tvm")
_EXPERIMENTAL = ("openxla_eval",)
_DEBUG = (
    "aot_eager",
    "aot_eager_decomp_partition",
    "aot_eager_decomp_partition_crossref",
    "aot_eager_decomp_partition_with_mode",
    "aot_eager_default_partitioner",
    "aot_ts",
    "dynamo_accuracy_minifier_backend",
    "dynamo_minifier_backend",
    "eager",
    "eager_debug",
    "eager_noexcept",
    "invoke_subgraph",
    "non_leaf_compile_error_TESTING_ONLY",
    "pre_dispatch_eager",
    "relu_accuracy_error_TESTING_ONLY",
    "relu_compile_error_TESTING_ONLY",
    "relu_runtime_error_TESTING_ONLY",
    "ts",
)

BUILT_IN: "Mapping[str, tuple[str, ...]]" = {
    **dict.fromkeys(_PLAIN, ()),
    **dict.fromkeys(_EXPERIMENTAL, ("experimental",)),
    **dict.fromkeys(_DEBUG, ("debug",)),
}
"""Tags by name, as ``torch.compiler.list_backends`` of torch 2.13 and 2.14 has them. Where torch's
registry is in memory, it is asked instead; a test holds the two together."""

REQUIRED_MODULES = {"openxla": "torch_xla", "openxla_eval": "torch_xla", "tvm": "tvm"}
"""Modules that a built-in backend imports when it is called; torch lists it without them."""

_PROVIDERS = {
    # name: (distribution, module whose import registers the name; empty for an entry point)
    "debug_compare": ("dynreg-debug", ""),
    "eager_interpret": ("dynreg-eager", ""),
    "eager_replay": ("dynreg-eager", ""),
    "hidet": ("hidet", ""),
    "ipex": ("intel-extension-for-pytorch", "intel_extension_for_pytorch"),
    "npu": ("torch-npu", "torch_npu"),
    "numpy": ("dynreg-numpy", ""),
    "openvino": ("openvino", "openvino.torch"),
    "tensorrt": ("torch-tensorrt", "torch_tensorrt"),
    "torch_tensorrt": ("torch-tensorrt", "torch_tensorrt"),
    "turbine_cpu": ("iree-turbine", ""),
}


def distribution_of(name: str) -> tuple[str | None, str]:
    """Return the distribution known to provide a name, and the module that registers it.

    The second is empty where the distribution has an entry point, or none is known.
    """
    return _PROVIDERS.get(name, (None, ""))


class TorchBackends:
    """Torch as a source of names."""

    def version(self) -> str:
        """Version of torch; empty where it is not installed. Imports nothing."""
        torch = sys.modules.get("torch")
        if torch is not None and hasattr(torch, "__version__"):
            return str(torch.__version__)
        from dynreg_core import _metadata

        return _metadata.scan().versions.get(DISTRIBUTION, "")

    def names(self) -> "Mapping[str, tuple[str, ...]]":
        """Tags by name of what torch has now; empty where torch is not installed."""
        if "torch._dynamo.backends.registry" in sys.modules:
            from dynreg_core import _bridge

            return {**BUILT_IN, **_bridge.torch_backends()}
        return BUILT_IN if self.version() else {}

    def holds(self, compiler_fn: object) -> bool:
        """Whether a callable is one of torch's backends; without torch in memory none can be."""
        return "torch._dynamo.backends.registry" in sys.modules and any(
            _targets.same(self.load(name), compiler_fn) for name in self.names()
        )

    def unknown(self, error: "UnknownBackendError") -> Exception:
        """Return an error that is torch's ``InvalidBackend`` as well, where torch is in memory."""
        if "torch._dynamo.exc" not in sys.modules:
            return error
        from dynreg_core import _bridge

        return _bridge.invalid_backend(error)

    def load(self, name: str) -> "CompilerFn":
        """Import torch and return the backend of a name."""
        from dynreg_core import _bridge

        return _bridge.lookup_torch_backend(name)
