"""Atomic checkpoints that cannot run code: safetensors for arrays, JSON for the rest.

    folder/checkpoint_000123/<group>.safetensors   one file per group ("weights", "optimizer", "runner_0", ...)
    folder/checkpoint_000123/state.json            format, step, state, and the SHA-256 of every other file

A checkpoint is written into a hidden directory, flushed to the disk and renamed once, so `checkpoint_*` is never
incomplete. Complete ones are never overwritten. One process writes into a folder at a time.
"""

import contextlib
import functools
import logging
import re
import shutil
import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rl_models.training import checkpoint_files as files
from rl_models.training.checkpoint_files import CheckpointError

logger = logging.getLogger(__name__)

_FOLDER_NAME = re.compile(r"checkpoint_(\d{6,18})")
_HIDDEN_PREFIX = ".unfinished_checkpoint_"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Contents of a checkpoint.

    Attributes:
        step: counter that orders the checkpoints, at least 0.
        tensors: group -> name -> array [...] (NumPy or torch, on the CPU).
        state: JSON state.
    """

    step: int
    tensors: dict[str, dict[str, np.ndarray | torch.Tensor]]
    state: dict[str, Any]


def save_checkpoint(
    folder: Path, step: int, tensors: Mapping[str, Mapping[str, np.ndarray | torch.Tensor]], state: Mapping[str, Any]
) -> Path:
    """Write `folder/checkpoint_<step>`; a damaged checkpoint of the same step gets a hidden name.

    Tensors are group -> name -> array [...] of any shape, type and layout, on any device; the state has JSON values
    with text keys, also whole numbers of any size and non-finite floats. Raises CheckpointError for something that
    cannot be saved, a write error, or a step that has a checkpoint; earlier checkpoints are untouched.
    """
    folder = Path(folder)
    if step < 0:
        raise CheckpointError(f"a checkpoint's step must be at least 0, not {step}")
    final = get_checkpoint_path(folder, step)
    hidden = folder / f"{_HIDDEN_PREFIX}{step:06d}_{uuid.uuid4().hex[:8]}"
    try:
        hidden.mkdir(parents=True)
        entries = dict(files.write_group(hidden, group, arrays) for group, arrays in tensors.items())
        files.write_state(hidden, step, state, entries)
        files.sync_directory(hidden)
        if final.exists():
            _make_room(final, step)
        hidden.rename(final)
        files.sync_directory(folder)
    except OSError as error:
        raise CheckpointError(
            f"checkpoint {final} could not be written ({error.strerror or error}); "
            f"free space or make the folder writable and run again: the earlier checkpoints are untouched"
        ) from error
    finally:
        shutil.rmtree(hidden, ignore_errors=True)
    return final


def get_checkpoint_path(folder: Path, step: int) -> Path:
    """Path of the checkpoint of a step."""
    return folder / f"checkpoint_{step:06d}"


def load_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint directory, checking every byte of it against its recorded digest.

    Raises CheckpointError for missing, truncated, altered or unrelated files; nothing in them is ever executed.
    """
    path = Path(path)
    document = files.read_state(path)
    tensors = dict(files.read_group(path, name, entry) for name, entry in document["files"].items())
    return Checkpoint(document["step"], tensors, document["state"])


def load_state(path: Path) -> dict[str, Any]:
    """The JSON alone of a checkpoint directory; raises CheckpointError."""
    state: dict[str, Any] = files.read_state(Path(path))["state"]
    return state


def newest_complete_checkpoint(folder: Path) -> Path | None:
    """The checkpoint with the highest step whose files are all intact, or None.

    Damaged and unrelated directories are skipped, with one warning that says what is used; unfinished ones are hidden.
    """
    found: Path | None = None
    faults: list[str] = []
    for step, path in sorted(numbered_checkpoints(Path(folder)), reverse=True):
        try:
            check_complete(path, step)
        except CheckpointError as error:
            faults.append(str(error))
        else:
            found = path
            break
    if faults:
        _warn_once(f"{found or 'no checkpoint'} is used, because a newer one is damaged: {'; '.join(faults)}")
    return found


def check_complete(path: Path, step: int) -> None:
    """Compare all files of a checkpoint with its state; raises CheckpointError if it is damaged or of another step."""
    document = files.read_state(path)
    if document["step"] != step:
        raise CheckpointError(f"{path} holds step {document['step']}; rename it to match")
    for name, entry in document["files"].items():
        files.check_file(path / name, entry)


@functools.cache
def _warn_once(sentence: str) -> None:
    logger.warning(sentence)


def prune(folder: Path, keep: int, always: Collection[int] = ()) -> None:
    """Delete all but the `keep` newest checkpoints, the newest complete one and those in `always`; never during a save.

    Leftovers of crashed saves are deleted, too.
    """
    folder = Path(folder)
    whole = newest_complete_checkpoint(folder)
    for step, path in sorted(numbered_checkpoints(folder), reverse=True)[keep:]:
        if path != whole and step not in always:
            delete_checkpoint(path)
    for path in folder.glob(f"{_HIDDEN_PREFIX}*"):
        shutil.rmtree(path, ignore_errors=True)


def delete_checkpoint(path: Path) -> None:
    """Delete a checkpoint's own files, and its directory if it is empty then; files that cannot be deleted are left."""
    if path.is_symlink():
        return
    # state.json last: a checkpoint that is half deleted can still be identified.
    for file in sorted(path.iterdir(), key=lambda file: file.name == files.STATE_FILE):
        if files.is_own_name(file.name) and not file.is_dir():
            with contextlib.suppress(OSError):
                file.unlink()
    with contextlib.suppress(OSError):
        path.rmdir()


def numbered_checkpoints(folder: Path) -> list[tuple[int, Path]]:
    """Step and directory of all checkpoints, whole or not, in no order; none where there is no folder."""
    if not folder.is_dir():
        return []
    matches = ((_FOLDER_NAME.fullmatch(path.name), path) for path in folder.iterdir() if path.is_dir())
    return [(int(match[1]), path) for match, path in matches if match]


def _make_room(path: Path, step: int) -> None:
    """Give a damaged checkpoint a hidden name; refuse to overwrite an intact one."""
    try:
        check_complete(path, step)
    except CheckpointError as error:
        aside = path.with_name(f".damaged_{path.name}_{uuid.uuid4().hex[:8]}")
        logger.warning("%s; renamed to %s", error, aside)
        path.rename(aside)
    else:
        raise CheckpointError(f"{path} exists already, and no checkpoint is overwritten; use another folder")
