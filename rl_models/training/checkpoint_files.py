"""The file format under `checkpoint`: durable writes, and reads that validate everything.

A group of arrays is one safetensors file; `state.json` lists every file with its size and SHA-256, and carries its own.
"""

import hashlib
import json
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch

from rl_models.file_digest import file_sha256

FORMAT = "concord-checkpoint"
SCHEMA_VERSION = 1
STATE_FILE = "state.json"
# A file that claims to be larger is refused before it is read: it is a mistake or an attempt to fill the memory.
MAX_STATE_BYTES = 256 * 2**20
MAX_GROUP_BYTES = 64 * 2**30

_SUFFIX = ".safetensors"
_GROUP_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")


class CheckpointError(ValueError):
    """A checkpoint cannot be written or read; one sentence says what, where and how to fix it."""


# ---- writing ---------------------------------------------------------------------------------------------------------


def write_group(
    folder: Path, group: str, arrays: Mapping[str, np.ndarray | torch.Tensor]
) -> tuple[str, dict[str, Any]]:
    """Write `folder/<group>.safetensors`: its name, and its entry (digest, bytes, names of NumPy arrays) of state.json.

    Arrays are name -> [...]. Raises CheckpointError for a group that is no file name, or an array of objects or text,
    and OSError where the file cannot be written.
    """
    if not _GROUP_NAME.fullmatch(group):
        raise CheckpointError(f"group {group!r} cannot be a file name; use letters, digits, '_', '-' and '.'")
    try:
        content = safetensors.torch.save({name: _owned(value) for name, value in arrays.items()})
    except (TypeError, ValueError, KeyError) as error:
        raise CheckpointError(f"group {group!r} holds what safetensors cannot hold ({error}); leave it out") from error
    _write_durably(folder / f"{group}{_SUFFIX}", content)
    numpy_names = [name for name, value in arrays.items() if not isinstance(value, torch.Tensor)]
    entry = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content), "numpy": numpy_names}
    return f"{group}{_SUFFIX}", entry


def write_state(folder: Path, step: int, state: Mapping[str, Any], entries: Mapping[str, dict[str, Any]]) -> None:
    """Write `folder/state.json`; raises CheckpointError for a state that JSON cannot represent, and OSError."""
    _check_keys(state, "state")
    body = {"format": FORMAT, "schema_version": SCHEMA_VERSION, "step": int(step), "state": state, "files": entries}
    try:
        content = json.dumps({**body, "sha256": _digest(body)}, indent=1).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise CheckpointError(f"the state of step {step} is not JSON ({error}); save plain numbers and text") from error
    _write_durably(folder / STATE_FILE, content)


def is_own_name(name: str) -> bool:
    """Whether a checkpoint's directory has a file of this name by the format."""
    return name == STATE_FILE or _is_group_file(name)


def sync_directory(path: Path) -> None:
    """Flush a directory's list of names to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _owned(value: np.ndarray | torch.Tensor) -> torch.Tensor:
    """A contiguous copy on the CPU without shared memory (safetensors refuses views and tied weights)."""
    if isinstance(value, torch.Tensor):
        return value.detach().to("cpu", copy=True).contiguous()
    # numpy.array keeps 0-d arrays 0-d, which ascontiguousarray does not.
    return torch.from_numpy(np.array(value, order="C"))


def _check_keys(value: Any, where: str) -> None:
    """Refuse keys that are no strings: JSON would silently turn the key 1 into "1"."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise CheckpointError(f"{where} has the key {key!r}; only text keys survive JSON, so write it as text")
            _check_keys(inner, f"{where}.{key}")
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            _check_keys(inner, f"{where}[{index}]")


def _digest(body: Mapping[str, Any]) -> str:
    """SHA-256 of the content of state.json without the digest itself."""
    inner = {key: value for key, value in body.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(inner, sort_keys=True).encode()).hexdigest()


def _write_durably(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


# ---- reading ---------------------------------------------------------------------------------------------------------


def read_state(path: Path) -> dict[str, Any]:
    """The contents of `path/state.json`, validated except for the files that it lists; raises CheckpointError."""
    state_file = path / STATE_FILE
    if not path.is_dir():
        raise CheckpointError(f"{path} is not a checkpoint directory; give the path of a checkpoint_<step> directory")
    _check_size(state_file, None, MAX_STATE_BYTES)
    content = _read(state_file)
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{state_file} is not valid JSON ({error}); use an earlier checkpoint") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise CheckpointError(f"{state_file} has no format {FORMAT!r}; give a checkpoint that Concord wrote")
    if document.get("schema_version") != SCHEMA_VERSION:
        raise CheckpointError(
            f"{state_file} has schema version {document.get('schema_version')!r} and this Concord reads "
            f"{SCHEMA_VERSION}; use the Concord that wrote it"
        )
    if not _well_formed(document) or document["sha256"] != _digest(document):
        raise CheckpointError(f"{state_file} was altered after it was written; use an earlier checkpoint")
    return document


def read_group(path: Path, name: str, entry: dict[str, Any]) -> tuple[str, dict[str, np.ndarray | torch.Tensor]]:
    """Read and check a group's file: its name, and name -> array [...] on the CPU, of the saved kind, dtype and shape.

    Raises CheckpointError where it is missing, truncated, altered, or no safetensors.
    """
    file = path / name
    _check_size(file, entry["bytes"], MAX_GROUP_BYTES)
    content = _read(file)
    _check_digest(file, hashlib.sha256(content).hexdigest(), entry["sha256"])
    try:
        loaded: dict[str, torch.Tensor] = safetensors.torch.load(content)
    except Exception as error:  # the parser's errors have no common base class
        raise CheckpointError(f"{file} is not a safetensors file ({error}); give one that Concord wrote") from error
    as_numpy = set(entry["numpy"])
    arrays = {key: value.numpy() if key in as_numpy else value for key, value in loaded.items()}
    return name.removesuffix(_SUFFIX), arrays


def check_file(file: Path, entry: dict[str, Any]) -> None:
    """Compare size and digest with the recorded ones, without holding the file in memory; raises CheckpointError."""
    _check_size(file, entry["bytes"], MAX_GROUP_BYTES)
    try:
        found = file_sha256(file)
    except OSError as error:
        raise CheckpointError(f"{file} cannot be read ({error.strerror}); make it readable") from error
    _check_digest(file, found, entry["sha256"])


def _well_formed(document: dict[str, Any]) -> bool:
    entries, step = document.get("files"), document.get("step")
    if not isinstance(entries, dict) or type(step) is not int or not isinstance(document.get("state"), dict):
        return False
    return isinstance(document.get("sha256"), str) and all(_entry_ok(name, entry) for name, entry in entries.items())


def _entry_ok(name: str, entry: Any) -> bool:
    # The pattern also keeps an untrusted checkpoint from naming files outside its own directory.
    return (
        _is_group_file(name)
        and isinstance(entry, dict)
        and isinstance(entry.get("sha256"), str)
        and type(entry.get("bytes")) is int
        and isinstance(entry.get("numpy"), list)
        and all(isinstance(key, str) for key in entry["numpy"])
    )


def _is_group_file(name: str) -> bool:
    return name.endswith(_SUFFIX) and _GROUP_NAME.fullmatch(name.removesuffix(_SUFFIX)) is not None


def _check_size(path: Path, expected: int | None, limit: int) -> None:
    """Refuse a file that is missing, not regular (a pipe would hang), of another size, or over the limit."""
    try:
        status = path.lstat()
    except OSError as error:
        raise CheckpointError(f"{path} is missing ({error.strerror}); use an earlier checkpoint") from error
    if not stat.S_ISREG(status.st_mode):
        raise CheckpointError(f"{path} is not a regular file; copy the checkpoint with its files, not links to them")
    if status.st_size > limit:
        raise CheckpointError(f"{path} has {status.st_size} bytes, more than {limit}; give a checkpoint of Concord's")
    if expected is not None and status.st_size != expected:
        raise CheckpointError(f"{path} has {status.st_size} bytes instead of {expected}; use an earlier checkpoint")


def _check_digest(path: Path, found: str, expected: str) -> None:
    if found != expected:
        raise CheckpointError(f"{path} differs from its recorded SHA-256; use an earlier checkpoint or copy it again")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read ({error.strerror}); make it readable") from error
