"""Errors that are no fault of this package, so that a caller can print their sentence alone."""

from __future__ import annotations

__all__ = ["InputError"]


class InputError(ValueError):
    """Something that was given cannot be used; the message says in one sentence what, where and how to mend it."""
