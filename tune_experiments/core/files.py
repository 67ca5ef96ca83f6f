"""Atomic writes of small files (temporary file, flush, rename), and checked reads."""

import json
import os
import tempfile
import zipfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from tune_experiments.core.errors import UserError


def write_atomically(path: Path, content: bytes | str) -> None:
    """Replace `path` atomically: a crash leaves the old or the new content."""
    temporary = ""
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes files private; a result should be as readable as any other new file.
        mask = os.umask(0o022)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except BaseException as error:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError):  # it names the temporary file, or none if the disk is full
            error.filename = str(path)
        raise


def check_folder(folder: Path, flag: str) -> None:
    """Raise UserError, before long work, where no file can be written into a folder; a missing one is made later."""
    # lexists: a link to nothing is there, and no folder can be made in its place
    there = next(place for place in (folder.absolute(), *folder.absolute().parents) if os.path.lexists(place))
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        why = "may not be written to" if there.is_dir() else "is not a folder"
        raise UserError(f"no file can be written into {folder}, because {there} {why}: name another place with {flag}")


def check_for_other_files(out: Path, own: Collection[str] = ()) -> None:
    """Raise UserError where a folder holds files with other names than `own`; a missing folder is accepted."""
    if others := sorted(path.name for path in out.glob("*") if path.name not in own):
        raise UserError(f"{out} holds other files ({others[0]}, ...); use a new --out folder")


def write_json(path: Path, value: Any) -> None:
    """`write_atomically` of indented JSON with a final newline."""
    write_atomically(path, json.dumps(value, indent=2) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a run folder, perhaps of another user; UserError if it is not one."""
    try:
        document = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not JSON ({error}); restore it or use another --out folder") from error
    if not isinstance(document, dict):
        raise UserError(f"{path} is not a JSON object; restore it or use another --out folder")
    return document


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Arrays [...] of an `.npz` file, never pickled objects; UserError if it holds anything else."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return dict(arrays)
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise UserError(f"{path} holds no arrays ({error}); delete it; figures are then drawn without it") from error
