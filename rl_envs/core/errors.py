"""Errors that are not a fault of this package, so that a caller can tell them apart."""

from __future__ import annotations

__all__ = ["CustomEnvError", "EnvRaisedError", "installing"]


class CustomEnvError(ValueError):
    """A custom environment does what a world cannot; the message says what, where and how to mend it.

    Attributes:
        is_final: playing on would give the same error, or results that are wrong, so a run must end.
    """

    is_final = True


class EnvRaisedError(CustomEnvError):
    """A custom environment raised an error of its own; another episode may not."""

    is_final = False


def installing(extra: str) -> str:
    """The command that installs an extra of pyproject.toml; Concord is in no index, so it is never named there."""
    return f"in the checkout, pip install -e '.[{extra}]'"
