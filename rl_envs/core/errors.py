"""What a caller can tell apart from a fault of this package."""

from __future__ import annotations

__all__ = ["ForeignEnvError"]


class ForeignEnvError(ValueError):
    """A foreign environment does what a world cannot; the message says what, where and how to mend it."""
