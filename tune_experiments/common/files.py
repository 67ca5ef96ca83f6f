"""Small files written whole: into a temporary neighbour, flushed, then renamed over the old one.

This file must not know what the files mean.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

__all__ = ["write_atomically", "write_json"]


def write_atomically(path: Path, content: bytes | str) -> None:
    """Replace `path` so that a crash leaves either the old or the new content, never a part.

    Raises:
        OSError: what the disk says; the old content is still there.
    """
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes files private; a result should be as readable as any other new file.
        os.chmod(temporary, 0o666 & ~_current_umask())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_json(path: Path, value: Any) -> None:
    """`write_atomically` of indented JSON with a final newline."""
    write_atomically(path, json.dumps(value, indent=2) + "\n")


def _current_umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
