"""Files of a queue: run folders in a work folder, and all that must travel in a few files of limited size.

    DIR/queue_000007.part_1_of_3     parts of a ZIP archive, at most 14 MiB each; the seventh that was packed
    DIR.work/items/NAME/run/         the run folder of an item, beside output.txt, what its process has said
    DIR.work/state.json              record of each item

The archive holds rows, curves and tables, and checkpoints in pieces: all of the newest of a trial that is to go on, and
the weights alone of others that it needs. Parts appear when they are whole, and those before are deleted after that, so
a kill leaves one whole archive or two. A work folder that stands behind the archive in DIR is kept, for it may be
ahead of it; any other is replaced by what the archive holds.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rl_models.file_lock import hold_lock
from rl_models.training import checkpoint_pieces
from rl_models.training.checkpoint import CheckpointError, load_checkpoint, save_checkpoint
from tune_experiments.core.errors import UserError
from tune_experiments.core.files import read_json, write_atomically, write_json

__all__ = ["MAX_FILES", "Record", "Store", "open_store"]

MAX_FILES = 8
"""Largest number of files in DIR."""
_PART = re.compile(r"queue_(\d{6})\.part_(\d+)_of_(\d+)")
_STATE, _PACKED, _LOCK, _HIDDEN = "state.json", "packed", ".lock", ".unfinished_"
_WEIGHTS = ".weights"
"""End of the name of a folder of pieces with the weights of a checkpoint alone."""
_NOT_PACKED = ("checkpoints", "videos")
"""Folders that are left out: checkpoints travel in pieces, videos can be made again."""
_CURVES = "events.out.tfevents"
"""Beginning of the names of TensorBoard's files, which are made again from metrics.jsonl."""


@dataclass
class Record:
    """State of an item.

    Attributes:
        definition: the item as it was begun.
        status: waiting (also between slices), done, stopped (by its gate) or failed.
        env_steps: trained until now; 1 for a command that is done.
        gate: phrase with the gate's result.
        failure: why it failed.
    """

    definition: dict[str, Any]
    status: str = "waiting"
    env_steps: int = 0
    gate: str = ""
    failure: str = ""


class Store:
    """Files of a queue in DIR and DIR.work; `open_store` opens them."""

    def __init__(self, out: Path) -> None:
        self.out, self.work = out, out.with_name(f"{out.name}.work")
        self.records: dict[str, Record] = {}
        self.said = ""

    def folder(self, name: str) -> Path:
        """Run folder of an item, which is made."""
        folder = self.work / "items" / name / "run"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def save_records(self) -> None:
        """Write down what has become of the items."""
        write_json(self.work / _STATE, {"items": {name: asdict(one) for name, one in self.records.items()}})

    def keep(self, name: str, checkpoints: Iterable[tuple[Path, bool]]) -> None:
        """Make pieces of the checkpoints that an item needs, and forget its others.

        Args:
            name: of the item.
            checkpoints: each with whether all of it is needed, or its weights alone.

        Raises:
            CheckpointError: one is not whole, or has just been deleted by its trial.
        """
        wanted = {self._pieces_of(path, is_whole) for path, is_whole in checkpoints}
        for folder in self.work.glob(f"pieces/{name}/**/checkpoint_*/"):
            if folder not in wanted:
                shutil.rmtree(folder)

    def _pieces_of(self, checkpoint: Path, is_whole: bool) -> Path:
        """Folder with the pieces of a checkpoint, which are made once."""
        place = self.work / "pieces" / checkpoint.relative_to(self.work / "items")
        place = place if is_whole else place.with_name(place.name + _WEIGHTS)
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=_HIDDEN, dir=self.work) as hidden:
                if not is_whole:
                    loaded = load_checkpoint(checkpoint)
                    weights = {"weights": loaded.tensors["weights"]}
                    checkpoint = save_checkpoint(Path(hidden), loaded.step, weights, loaded.state)
                checkpoint_pieces.pack(checkpoint, Path(hidden) / "pieces")
                (Path(hidden) / "pieces").rename(place)
        return place

    def pack(self) -> None:
        """Write all that must travel into DIR.

        Raises:
            UserError: it is more than fits.
        """
        content, size = self._archive(), checkpoint_pieces.MAX_PIECE_BYTES
        parts = [content[begin : begin + size] for begin in range(0, len(content), size)]
        old = _parts_in(self.out)
        others = sum(1 for path in self.out.iterdir() if not path.name.startswith(".")) - len(old)
        if len(parts) > MAX_FILES - others:
            raise UserError(
                f"what must come back has {len(content) / 2**20:.0f} MiB and {self.out} takes {MAX_FILES - others} "
                f"files of 14 MiB: begin a queue of the items that are left with another --out"
            )
        number = 1 + max((found[0] for found in old), default=0)
        for place, part in enumerate(parts, 1):
            write_atomically(self.out / f"queue_{number:06d}.part_{place}_of_{len(parts)}", part)
        write_atomically(self.work / _PACKED, _digest(content))
        for path in [*old.values(), *self.out.glob(".queue_*")]:
            path.unlink(missing_ok=True)
        self.said = f"packed {len(content) / 2**20:.1f} MiB in {len(parts)} of at most {MAX_FILES} files in {self.out}"

    def _archive(self) -> bytes:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(self.work.rglob("*")):
                name = path.relative_to(self.work)
                if _travels(name) and path.is_file():
                    kind = zipfile.ZIP_STORED if name.parts[0] == "pieces" else zipfile.ZIP_DEFLATED
                    with contextlib.suppress(FileNotFoundError):  # what runs meanwhile has replaced it
                        archive.writestr(name.as_posix(), path.read_bytes(), kind)
        return buffer.getvalue()

    def unpack(self) -> None:
        """Make the work folder what the archive in DIR holds, unless it stands behind that archive or there is none.

        Raises:
            UserError: a part is missing or damaged.
        """
        for left in self.work.glob(f"{_HIDDEN}*"):
            shutil.rmtree(left)
        content, packed = _joined(self.out), self.work / _PACKED
        if content is not None and not (packed.exists() and packed.read_text() == _digest(content)):
            packed.unlink(missing_ok=True)
            for name in ("items", "pieces"):
                shutil.rmtree(self.work / name, ignore_errors=True)
            try:
                with zipfile.ZipFile(io.BytesIO(content)) as archive:
                    archive.extractall(self.work)
                for place in self.work.glob("pieces/**/checkpoint_*/"):
                    trial = self.work / "items" / place.relative_to(self.work / "pieces").parent
                    checkpoint_pieces.unpack(place.iterdir(), trial)
            except (zipfile.BadZipFile, CheckpointError) as error:
                raise UserError(f"the parts in {self.out} are damaged ({error}): copy them anew") from error
            write_atomically(packed, _digest(content))
            print(f"continues from the files in {self.out}")
        if (self.work / _STATE).exists():
            found = read_json(self.work / _STATE)["items"]
            self.records = {name: Record(**record) for name, record in found.items()}


@contextlib.contextmanager
def open_store(out: Path) -> Iterator[Store]:
    """Own DIR and DIR.work, and take up what DIR holds.

    Raises:
        UserError: another process has them, DIR.work is of something else, or DIR holds no whole archive.
    """
    store = Store(out)
    if store.work.exists() and not (store.work / _LOCK).exists():
        raise UserError(f"{store.work} is not of a queue, and this one would work there: give another --out")
    for folder in (out, store.work):
        folder.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(hold_lock(store.work / _LOCK))
        except TimeoutError:
            raise UserError(f"another process works on {out}: wait for it, or give another --out") from None
        store.unpack()
        yield store


def _travels(name: Path) -> bool:
    """Whether a file of the work folder is packed."""
    if name.parts[0] == "items":
        parts = name.parts[2:]
        is_hidden = any(part.startswith(".") for part in parts)
        return not (is_hidden or name.name.startswith(_CURVES) or set(_NOT_PACKED) & set(parts[:-1]))
    return name.parts[0] in ("pieces", _STATE)


def _parts_in(out: Path) -> dict[tuple[int, int, int], Path]:
    """Number of the archive, of the part and of all its parts -> file."""
    found = ((_PART.fullmatch(path.name), path) for path in out.iterdir())
    return {(int(match[1]), int(match[2]), int(match[3])): path for match, path in found if match}


def _joined(out: Path) -> bytes | None:
    """The newest archive of which all parts are there; None where there is not one part.

    Raises:
        UserError: parts, but no whole archive.
    """
    found = _parts_in(out)
    for number, of in sorted({(number, of) for number, _, of in found}, reverse=True):
        paths = [found.get((number, place, of)) for place in range(1, of + 1)]
        if None not in paths:
            return b"".join(path.read_bytes() for path in paths if path is not None)
    if found:
        number, _, of = max(found)
        missing = ", ".join(str(place) for place in range(1, of + 1) if (number, place, of) not in found)
        raise UserError(f"{out} lacks queue_{number:06d}.part_{missing}_of_{of}: copy it there, too")
    return None


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
