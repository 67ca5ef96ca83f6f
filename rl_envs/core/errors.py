"""Errors of custom environments and other input."""

import difflib
import functools
import logging
from collections.abc import Iterable

logger = logging.getLogger(__name__)


class ArraysError(ValueError):
    """A world does not offer its argument `arrays` together with its other arguments; in NumPy it can be built."""


class CustomEnvError(ValueError):
    """A custom environment breaks the API; the message says what, where and how to fix it.

    With `is_final`, playing on would give the same error, or results that are wrong, so a run must end.
    """

    is_final = True


class EnvRaisedError(CustomEnvError):
    """A custom environment raised an error of its own; another episode may not."""

    is_final = False


def did_you_mean(name: str, known: Iterable[str], otherwise: str, prefix: str = "") -> str:
    """Suggestion for a misspelt name; `otherwise` is advice for a name that resembles none of the known ones.

    Users write `prefix` before these names.
    """
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean {prefix}{near[0]}?" if near else otherwise


def installing(extra: str) -> str:
    """Command that installs an extra from the checkout, because Concord is not on PyPI."""
    return f"in the checkout, pip install -e '.[{extra}]'"


@functools.cache
def warn_once(message: str) -> None:
    """Log a warning, unless this process has logged it before."""
    logger.warning("%s", message)
