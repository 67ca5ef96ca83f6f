"""Settings of the whole process, which an environment must not change: what it changes is undone and named.

Reading them takes a tenth of a fast environment's step, so callers may look at first episodes alone; an environment
that has changed one is looked at ever after.
"""

import contextlib
import functools
import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from rl_envs.core.errors import warn_once

_NOTHING = contextlib.nullcontext()
_changing: set[str] = set()
"""Names of environments that have changed a setting."""


def undoing_changes(env: str, is_checked: bool = True) -> AbstractContextManager[None]:
    """Undo changes of settings that the files, the networks, the arrays and the log of a run follow.

    Without `is_checked` only if the environment has changed one before.
    """
    return _undoing(env) if is_checked or env in _changing else _NOTHING


@contextlib.contextmanager
def _undoing(env: str) -> Iterator[None]:
    settings = _settings(sys.modules.get("torch") is not None)
    before = {name: read() for name, (read, _) in settings.items()}
    try:
        yield
    finally:
        for name, (read, restore) in settings.items():
            if read() != before[name] is not None:
                _changing.add(env)
                restore(before[name])
                warn_once(f"{env} changes {name} of the whole process, which is undone: let it do without")


@functools.cache
def _settings(has_torch: bool) -> dict[str, tuple[Callable[[], Any], Callable[[Any], object]]]:
    """Setting -> functions that read it and restore it; None where it cannot be read."""
    found: dict[str, tuple[Callable[[], Any], Callable[[Any], object]]] = {
        "the working directory": (_folder, _return_to),
        "the reaction to floating-point errors (np.seterr)": (np.geterr, lambda kept: np.seterr(**kept)),
        "the level up to which nothing is logged (logging.disable)": (
            lambda: logging.root.manager.disable,
            logging.disable,
        ),
    }
    if has_torch:
        torch = sys.modules["torch"]
        found |= {
            "torch's default dtype": (torch.get_default_dtype, torch.set_default_dtype),
            "torch's default device": (
                torch.get_default_device,
                lambda device: torch.set_default_device(None if device == torch.device("cpu") else device),
            ),
            "torch's gradient mode": (torch.is_grad_enabled, torch.set_grad_enabled),
        }
    return found


def _folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # it was deleted
        return None


def _return_to(folder: str) -> None:
    with contextlib.suppress(OSError):  # it was deleted
        os.chdir(folder)
