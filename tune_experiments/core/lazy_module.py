"""Modules that are imported at first use, so that the help of a script loads neither Ray nor torch."""

import importlib
from typing import Any


class LazyModule:
    """A module that is imported when one of its names is first read; type checkers see an import of it instead."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(importlib.import_module(self._name), attribute)
