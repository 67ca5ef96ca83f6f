"""`package.module:NAME`, an object in a module: one parser for the check and the import."""

import re

_NAME = r"[A-Za-z_][A-Za-z_0-9]*"
ENTRY_POINT = re.compile(rf"({_NAME}(?:\.{_NAME})*):({_NAME})")
"""An object in a module; groups: module, name."""
