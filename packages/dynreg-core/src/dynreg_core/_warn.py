"""Warnings that point at the caller's line, from however deep inside dynreg_core."""

import sys
import warnings

__all__ = ["warn"]


def warn(text: str, category: type[Warning]) -> None:
    """Warn as if the first caller outside this package had done so.

    Args:
        text: What to say.
        category: Class of the warning.
    """
    level, frame = 1, sys._getframe()  # noqa: SLF001 - what `inspect` and `warnings` use
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith(
        "dynreg_core"
    ):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)
