"""Errors that are not a fault of this package, so that a caller can tell them apart."""

from __future__ import annotations

__all__ = ["ForeignEnvError", "installing"]


class ForeignEnvError(ValueError):
    """A foreign environment does what a world cannot; the message says what, where and how to mend it."""


def installing(extra: str) -> str:
    """The command that installs an extra of pyproject.toml; Concord is in no index, so it is never named there."""
    return f"in the checkout, pip install -e '.[{extra}]'"
