"""What torch calls while it is imported, through the entry-point group ``torch.backends``.

Every program that imports torch where dynreg-core is installed pays for this module. It does
nothing unless ``DYNREG_INSTALL`` is set, and never makes the import of torch fail.
"""

import os

__all__ = ["autoload"]


def autoload() -> None:
    """Install dynreg's lookups into torch if ``DYNREG_INSTALL`` says yes."""
    text = os.environ.get("DYNREG_INSTALL")
    if text:
        _install(text)


def _install(text: str) -> None:
    from dynreg_core import _bridge, _policy
    from dynreg_core.errors import DynregError, PolicyWarning

    try:
        if _policy.yes_or_no(text, "DYNREG_INSTALL"):
            _bridge.install()
    except DynregError as error:
        import warnings

        warnings.warn(str(error), PolicyWarning, stacklevel=2)
