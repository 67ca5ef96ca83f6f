"""Errors in a user's input, whose message a caller prints without a traceback."""

from __future__ import annotations

__all__ = ["InputError"]


class InputError(ValueError):
    """An unusable input; the message says in one sentence what, where and how to fix it."""
