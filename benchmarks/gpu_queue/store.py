"""Files of a queue: run folders in a work folder, and all that must travel in a few files of limited size.

    DIR/queue_000007.part_1_of_3     parts of a ZIP archive, at most 14 MiB each; the seventh that was packed
    DIR.work/items/NAME/run/         the run folder of an item, beside output.txt, what its process has said, and
    DIR.work/items/NAME/record.json  what the run folder does not tell

The archive holds rows, curves and tables, and checkpoints in pieces: all of the newest of a trial that is to go on, and
of others what it needs, mostly their weights. Parts appear when they are whole, and those before are deleted after
that, so a kill leaves one whole archive or two. A work folder that stands behind the archive in DIR is kept, for it may
be ahead of it; any other is replaced by what the archive holds.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from rl_models.file_lock import hold_lock
from rl_models.training import checkpoint_pieces
from rl_models.training.checkpoint import (
    CheckpointError,
    load_checkpoint,
    load_state,
    newest_whole_checkpoint,
    path_of,
    save_checkpoint,
)
from tune_experiments.core.errors import UserError
from tune_experiments.core.files import write_atomically
from tune_experiments.run.curriculum_state import needed_checkpoints
from tune_experiments.run.final_evaluation import TEST_RESULTS_FILE
from tune_experiments.run.trial import CHECKPOINTS

__all__ = ["MAX_FILES", "Store", "open_store"]

MAX_FILES = 8
"""Largest number of files in DIR."""
_PART = re.compile(r"queue_(\d{6})\.part_(\d+)_of_(\d+)")
_ITEMS, _PACKED, _LOCK, _HIDDEN = "items", "packed", ".lock", ".unfinished_"
_NOT_PACKED = (CHECKPOINTS, "videos")
"""Folders that are left out: checkpoints travel in pieces, videos can be made again."""
_CURVES = "events.out.tfevents"
"""Beginning of the names of TensorBoard's files, which are made again from metrics.jsonl."""


class Store:
    """Files of a queue in DIR and DIR.work; `open_store` opens them."""

    def __init__(self, out: Path) -> None:
        self.out, self.work = out, out.parent / f"{out.name}.work"

    def folder(self, name: str) -> Path:
        """Run folder of an item, which is made."""
        folder = self.work / _ITEMS / name / "run"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    @property
    def room(self) -> int:
        """Number of files that an archive in DIR may have, beside what else lies there.

        Raises:
            UserError: none.
        """
        others = [path.name for path in self.out.iterdir() if not path.name.startswith(".")]
        room = MAX_FILES - len(others) + len(_parts_in(self.out))
        if room < 1:
            raise UserError(f"{self.out} is full of other files ({others[0]}, ...): give --out a folder of its own")
        return room

    def pack(self) -> str:
        """Write all that must travel into DIR; a sentence on how much it is.

        Raises:
            UserError: it is more than fits.
            CheckpointError: a checkpoint has just been deleted by its trial; or FileNotFoundError.
        """
        content, size, room = self._archive(), checkpoint_pieces.MAX_PIECE_BYTES, self.room
        parts = [content[begin : begin + size] for begin in range(0, len(content), size)]
        if len(parts) > room:
            raise UserError(
                f"what must come back has {len(content) / 2**20:.0f} MiB and {self.out} takes {room} files of 14 MiB: "
                f"begin a queue of the items that are left with another --out"
            )
        old = _parts_in(self.out)
        number = 1 + max((found[0] for found in old), default=0)
        for place, part in enumerate(parts, 1):
            write_atomically(self.out / f"queue_{number:06d}.part_{place}_of_{len(parts)}", part)
        write_atomically(self.work / _PACKED, _digest(content))
        for path in [*old.values(), *self.out.glob(".queue_*")]:
            path.unlink(missing_ok=True)
        return f"packed {len(content) / 2**20:.1f} MiB in {len(parts)} of at most {MAX_FILES} files in {self.out}"

    def _archive(self) -> bytes:
        trials = list(self.work.glob(f"{_ITEMS}/*/run/trials/*/"))
        # Checkpoints come before rows: what a running trial adds meanwhile is trained again, rows that lack are not.
        going_on = {trial for trial in trials if not (trial / TEST_RESULTS_FILE).exists()}
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for trial in trials:
                for name, piece in _pieces_of(trial, trial in going_on):
                    archive.writestr(f"pieces/{trial.relative_to(self.work)}/{name}", piece, zipfile.ZIP_STORED)
            for path in sorted((self.work / _ITEMS).rglob("*")):
                has_ended_since = path.name == TEST_RESULTS_FILE and path.parent in going_on
                if _travels(path.relative_to(self.work)) and not has_ended_since and path.is_file():
                    with contextlib.suppress(FileNotFoundError):  # what runs meanwhile has replaced it
                        archive.writestr(path.relative_to(self.work).as_posix(), path.read_bytes())
        return buffer.getvalue()

    def unpack(self) -> None:
        """Make the work folder what the archive in DIR holds, unless it stands behind that archive or there is none.

        Raises:
            UserError: a part is missing or damaged.
        """
        for left in self.work.glob(f"{_HIDDEN}*"):
            shutil.rmtree(left)
        content, packed = _joined(self.out), self.work / _PACKED
        if content is None or (packed.exists() and packed.read_text() == _digest(content)):
            return
        packed.unlink(missing_ok=True)
        shutil.rmtree(self.work / _ITEMS, ignore_errors=True)
        try:
            with tempfile.TemporaryDirectory(prefix=_HIDDEN, dir=self.work) as hidden:
                zipfile.ZipFile(io.BytesIO(content)).extractall(hidden)
                for place in Path(hidden).glob(f"pieces/{_ITEMS}/*/run/trials/*/checkpoint_*/"):
                    trial = Path(hidden) / place.parent.relative_to(Path(hidden) / "pieces")
                    checkpoint_pieces.unpack(place.iterdir(), trial / CHECKPOINTS)
                (Path(hidden) / _ITEMS).rename(self.work / _ITEMS)
        except (zipfile.BadZipFile, CheckpointError, FileNotFoundError) as error:
            raise UserError(f"the parts in {self.out} are damaged ({error}): copy them anew") from error
        write_atomically(packed, _digest(content))
        print(f"continues from the files in {self.out}")


@contextlib.contextmanager
def open_store(out: Path) -> Iterator[Store]:
    """Own DIR and DIR.work, and take up what DIR holds.

    Raises:
        UserError: another process has them, DIR.work is of something else, or DIR is full or holds no whole archive.
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
        _ = store.room
        store.unpack()
        yield store


def _pieces_of(trial: Path, is_going_on: bool) -> Iterator[tuple[str, bytes]]:
    """Name and content of the pieces of all checkpoints that a trial needs; a name begins with its checkpoint's."""
    newest = newest_whole_checkpoint(trial / CHECKPOINTS)
    needed = [] if newest is None else needed_checkpoints(load_state(newest))
    for checkpoint in {newest, *(path_of(trial / CHECKPOINTS, number) for number in needed)} - {None}:
        assert checkpoint is not None
        with tempfile.TemporaryDirectory() as hidden:
            source = checkpoint
            if not (is_going_on and checkpoint == newest):
                loaded = load_checkpoint(checkpoint)
                # The next stage of a curriculum may go on with the optimiser's state.
                left = ("weights", "optimizer") if is_going_on and "curriculum" in loaded.state else ("weights",)
                tensors = {group: loaded.tensors[group] for group in left}
                source = save_checkpoint(Path(hidden), loaded.step, tensors, loaded.state)
            for piece in checkpoint_pieces.pack(source, Path(hidden) / "pieces"):
                yield f"{checkpoint.name}/{piece.name}", piece.read_bytes()


def _travels(name: Path) -> bool:
    """Whether a file of the work folder is packed."""
    is_hidden = any(part.startswith(".") for part in name.parts)
    return not (is_hidden or name.name.startswith(_CURVES) or set(_NOT_PACKED) & set(name.parts[2:-1]))


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
