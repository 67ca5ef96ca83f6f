"""`package.module:NAME`, an object in a module: one spelling, so that what is checked is what is imported."""

from __future__ import annotations

import re

__all__ = ["ENTRY_POINT"]

_NAME = r"[A-Za-z_][A-Za-z_0-9]*"
ENTRY_POINT = re.compile(rf"({_NAME}(?:\.{_NAME})*):({_NAME})")
"""An object in a module; groups: module, name."""
