"""`package.module:NAME`, an object in a module: one spelling, so that what is checked is what is imported."""

from __future__ import annotations

import re

__all__ = ["ENTRY_POINT", "MODULE"]

_NAME = r"[A-Za-z_][A-Za-z_0-9]*"
MODULE = re.compile(rf"{_NAME}(?:\.{_NAME})*")
"""A module."""
ENTRY_POINT = re.compile(rf"({MODULE.pattern}):({_NAME})")
"""An object in a module; groups: module, name."""
