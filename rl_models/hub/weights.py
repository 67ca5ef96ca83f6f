"""Hashes of a model's files, without reading gigabytes where a hash is known."""

import functools
import re
from pathlib import Path

from rl_models.file_digest import file_sha256
from rl_models.hub.catalog import CATALOG
from rl_models.hub.fetch import WEIGHTS, read_card

_SHA256 = re.compile(r"[0-9a-f]{64}")


def model_file_sha256(file: Path) -> str:
    """SHA-256 of a file of a model; raises OSError if it cannot be read.

    The hub's cache names large files by their hash, and a model of the catalog has that of its weights on its card.
    """
    blob = file.resolve()
    if file.is_symlink() and blob.parent.name == "blobs" and _SHA256.fullmatch(blob.name):
        return blob.name
    if file.name == WEIGHTS and any(file.parent == model.folder for model in CATALOG.values()):
        known = read_card(file.parent).get("weights_sha256")
        if known and _SHA256.fullmatch(known):
            return known
    status = blob.stat()
    return _sha256_of_version(blob, status.st_size, status.st_mtime_ns)


@functools.lru_cache(64)
def _sha256_of_version(file: Path, size: int, changed_at: int) -> str:
    """The hash of a file, read once in a process while its size and time of change stay."""
    return file_sha256(file)
