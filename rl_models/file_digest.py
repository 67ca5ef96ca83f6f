"""The hash of a file."""

import hashlib
from pathlib import Path


def file_sha256(file: Path) -> str:
    """SHA-256 of a file in hexadecimal digits; raises OSError if it cannot be read."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
