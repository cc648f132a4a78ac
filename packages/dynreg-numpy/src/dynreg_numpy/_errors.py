"""Errors of the numpy backend."""

from __future__ import annotations

from dynreg_core.errors import DynregError

__all__ = ["LoweringError", "MissingLoweringError"]


class MissingLoweringError(DynregError, LookupError):
    """An op has no lowering, and falling back is not allowed.

    Args:
        op: The overload, as in ``aten.sort.default``.
        location: The user's ``file:line``, or empty.
    """

    def __init__(self, op: str, location: str = "") -> None:
        self.op = op
        self.location = location
        where = f", used at {location}" if location else ""
        super().__init__(
            f"the numpy backend has no lowering for {op}{where}",
            hint="leave out options={'fallback': 'error'} to run this op with torch's own kernel",
        )


class LoweringError(DynregError, RuntimeError):
    """A lowering gave something else than what torch promises; a defect of dynreg-numpy.

    Args:
        op: The overload.
        problem: What differs.
        location: The user's ``file:line``, or empty.
    """

    def __init__(self, op: str, problem: str, location: str = "") -> None:
        self.op = op
        self.location = location
        where = f", used at {location}" if location else ""
        super().__init__(
            f"the lowering of {op} in the numpy backend is wrong: {problem}{where}",
            hint="please report this; until it is mended, another backend compiles this model",
        )
