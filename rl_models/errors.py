"""Errors that are no fault of this package, so that a caller can print their sentence alone."""

from __future__ import annotations

__all__ = ["InputError"]


class InputError(ValueError):
    """An unusable input; the message says in one sentence what, where and how to mend it."""
