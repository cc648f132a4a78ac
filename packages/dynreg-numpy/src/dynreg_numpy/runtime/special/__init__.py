"""Special functions, with torch's conventions."""

__all__: list[str] = []
