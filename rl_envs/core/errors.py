"""Errors that are not a fault of this package, so that a caller can tell them apart."""

from __future__ import annotations

__all__ = ["ForeignEnvError"]


class ForeignEnvError(ValueError):
    """A foreign environment does what a world cannot; the message says what, where and how to mend it."""
