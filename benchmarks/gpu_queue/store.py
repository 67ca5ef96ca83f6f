"""Files of a queue: run folders in a work folder, and an archive of them in a few files of limited size.

    DIR/queue_000007.part_1_of_3     parts of the seventh archive, a ZIP file; at most 14 MiB each
    DIR.work/items/NAME/run/         run folder of an item, beside output.txt (output of its process) and
    DIR.work/items/NAME/record.json  (what the run folder does not hold)

The archive holds logs and tables, and checkpoints: the newest complete one of an unfinished trial, and what it needs of
the others, mostly weights. Parts are written atomically before those of the previous archive are deleted,
so a kill leaves one or two complete archives. A work folder from which the archive in DIR was made is kept, because it
may be ahead; any other is replaced by the archive's contents.
"""

import contextlib
import hashlib
import io
import re
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from rl_models.file_lock import hold_lock
from rl_models.training.checkpoint import (
    CheckpointError,
    check_complete,
    get_checkpoint_path,
    load_checkpoint,
    load_state,
    newest_complete_checkpoint,
    save_checkpoint,
)
from tune_experiments.core.errors import UserError, one_line
from tune_experiments.core.files import write_atomically
from tune_experiments.run.curriculum_state import needed_checkpoints
from tune_experiments.run.final_evaluation import TEST_RESULTS_FILE
from tune_experiments.run.request import get_checkpoint_step
from tune_experiments.run.trial import CHECKPOINTS

__all__ = ["MAX_FILES", "Store", "open_store"]

MAX_FILES = 8
"""Largest number of files in DIR."""
MAX_PART_BYTES = 14 * 2**20
"""Largest size of a file in DIR."""
_PART = re.compile(r"queue_(\d{6})\.part_(\d+)_of_(\d+)")
_ITEMS, _PACKED, _LOCK, _HIDDEN = "items", "packed", ".lock", ".unfinished_"
_NOT_PACKED = (CHECKPOINTS, "videos")
"""Folders that are left out: of checkpoints only what is needed is packed, videos can be made again."""
_EVENTS = "events.out.tfevents"
"""Prefix of TensorBoard's files, which are made again from metrics.jsonl."""


class Store:
    """Files of a queue in DIR and DIR.work, opened by `open_store`."""

    def __init__(self, out: Path) -> None:
        self.out, self.work = out, out.parent / f"{out.name}.work"

    def folder(self, name: str) -> Path:
        """Run folder of an item; it is created."""
        folder = self.work / _ITEMS / name / "run"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    @property
    def room(self) -> int:
        """Number of files in DIR that an archive may have; a UserError if there is none."""
        others = [path.name for path in self.out.iterdir() if not path.name.startswith(".")]
        room = MAX_FILES - len(others) + len(_parts_in(self.out))
        if room < 1:
            raise UserError(f"{self.out} is full of other files ({others[0]}, ...): use another --out folder")
        return room

    def pack(self) -> str:
        """Write the archive into DIR; returns a sentence with its size.

        Raises UserError where it does not fit, and CheckpointError where an item could not be packed, as where its
        trial has just deleted a checkpoint; the archive has all others, and of that item what the archive before had.
        """
        (content, failed), size, room = self._archive(), MAX_PART_BYTES, self.room
        parts = [content[begin : begin + size] for begin in range(0, len(content), size)]
        if len(parts) > room:
            raise UserError(
                f"the archive has {len(content) / 2**20:.0f} MiB and {self.out} takes {room} files of 14 MiB: "
                f"begin a queue of the items that are left with another --out"
            )
        old = _parts_in(self.out)
        number = 1 + max((found[0] for found in old), default=0)
        for place, part in enumerate(parts, 1):
            write_atomically(self.out / f"queue_{number:06d}.part_{place}_of_{len(parts)}", part)
        write_atomically(self.work / _PACKED, hashlib.sha256(content).hexdigest())
        for path in [*old.values(), *self.out.glob(".queue_*")]:
            path.unlink(missing_ok=True)
        for name, error in failed.items():
            fault = f"{type(error).__name__}: {one_line(error)}"
            raise CheckpointError(f"item {name} could not be packed ({fault}): copy {self.work} as well") from error
        return f"packed {len(content) / 2**20:.1f} MiB in {len(parts)} of at most {MAX_FILES} files in {self.out}"

    def _archive(self) -> tuple[bytes, dict[str, Exception]]:
        """The archive, and item -> what kept it from being packed."""
        buffer, failed = io.BytesIO(), dict[str, Exception]()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for folder in sorted(self.work.glob(f"{_ITEMS}/*/")):
                try:
                    members = dict(self._members(folder))
                except Exception as error:  # whatever it is, the other items travel
                    members, failed[folder.name] = self._packed_before(folder.name), error
                for name, content in members.items():
                    archive.writestr(name, content)
        return buffer.getvalue(), failed

    def _members(self, folder: Path) -> Iterator[tuple[str, bytes]]:
        """Name and bytes of each file of the archive for an item."""
        trials = list(folder.glob("run/trials/*/"))
        # Checkpoints come before logs: a running trial repeats newer rows, but could not restore missing ones.
        going_on = {trial for trial in trials if not (trial / TEST_RESULTS_FILE).exists()}
        for trial in trials:
            for name, content in _needed_files(trial, trial in going_on):
                yield f"{trial.relative_to(self.work)}/{CHECKPOINTS}/{name}", content
        for path in sorted(folder.rglob("*")):
            has_ended_since = path.name == TEST_RESULTS_FILE and path.parent in going_on
            if _is_archived(path.relative_to(self.work)) and not has_ended_since and path.is_file():
                with contextlib.suppress(FileNotFoundError):  # a running trial has replaced it
                    yield path.relative_to(self.work).as_posix(), path.read_bytes()

    def _packed_before(self, item: str) -> dict[str, bytes]:
        """What the newest archive has of an item."""
        if (content := _joined(self.out)) is None:
            return {}
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            own = [name for name in archive.namelist() if name.startswith(f"{_ITEMS}/{item}/")]
            return {name: archive.read(name) for name in own}

    def unpack(self) -> None:
        """Replace the work folder by the archive in DIR, unless that was made from it or there is none.

        Raises UserError where a part is missing or damaged, or an earlier version packed it.
        """
        for left in self.work.glob(f"{_HIDDEN}*"):
            shutil.rmtree(left)
        content, packed = _joined(self.out), self.work / _PACKED
        if content is None or (packed.exists() and packed.read_text() == hashlib.sha256(content).hexdigest()):
            return
        packed.unlink(missing_ok=True)
        shutil.rmtree(self.work / _ITEMS, ignore_errors=True)
        try:
            with tempfile.TemporaryDirectory(prefix=_HIDDEN, dir=self.work) as hidden:
                archive = zipfile.ZipFile(io.BytesIO(content))
                if not all(name.startswith(f"{_ITEMS}/") for name in archive.namelist()):
                    raise UserError(
                        f"{self.out} was packed by an earlier version of Concord: continue it with that one"
                    )
                archive.extractall(hidden)
                (Path(hidden) / _ITEMS).rename(self.work / _ITEMS)
        except (zipfile.BadZipFile, zlib.error, FileNotFoundError) as error:
            raise UserError(f"the parts in {self.out} are damaged ({error}): copy them again") from error
        write_atomically(packed, hashlib.sha256(content).hexdigest())
        print(f"continues from the files in {self.out}")


@contextlib.contextmanager
def open_store(out: Path) -> Iterator[Store]:
    """Lock DIR and DIR.work, and unpack the archive in DIR.

    Raises UserError where another process uses them, DIR.work is not of a queue, or DIR is full or holds no complete
    archive.
    """
    store = Store(out)
    if store.work.exists() and not (store.work / _LOCK).exists():
        raise UserError(f"{store.work} is not of a queue: use another --out")
    for folder in (out, store.work):
        folder.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(hold_lock(store.work / _LOCK))
        except TimeoutError:
            raise UserError(f"another process works on {out}: wait for it, or use another --out") from None
        _ = store.room  # or an error
        store.unpack()
        yield store


def _needed_files(trial: Path, is_going_on: bool) -> Iterator[tuple[str, bytes]]:
    """(CHECKPOINT/FILE, bytes) of all checkpoints that a trial needs."""
    newest = newest_complete_checkpoint(trial / CHECKPOINTS)
    needed = [] if newest is None else needed_checkpoints(load_state(newest))
    for checkpoint in {newest, *(get_checkpoint_path(trial / CHECKPOINTS, number) for number in needed)} - {None}:
        assert checkpoint is not None
        with tempfile.TemporaryDirectory() as hidden:
            source = checkpoint
            if not (is_going_on and checkpoint == newest):
                loaded = load_checkpoint(checkpoint)
                # The next stage of a curriculum may continue with the optimiser's state.
                left = {"weights", "optimizer"} if is_going_on and "curriculum" in loaded.state else {"weights"}
                tensors = {group: values for group, values in loaded.tensors.items() if group in left}
                source = save_checkpoint(Path(hidden), loaded.step, tensors, loaded.state)
            check_complete(source, get_checkpoint_step(source))
            for file in source.iterdir():
                yield f"{checkpoint.name}/{file.name}", file.read_bytes()


def _is_archived(name: Path) -> bool:
    """Whether the archive holds this file of the work folder."""
    is_hidden = any(part.startswith(".") for part in name.parts)
    return not (is_hidden or name.name.startswith(_EVENTS) or set(_NOT_PACKED) & set(name.parts[2:-1]))


def _parts_in(out: Path) -> dict[tuple[int, int, int], Path]:
    """(number of the archive, number of the part, number of its parts) -> file."""
    found = ((_PART.fullmatch(path.name), path) for path in out.iterdir())
    return {(int(match[1]), int(match[2]), int(match[3])): path for match, path in found if match}


def _joined(out: Path) -> bytes | None:
    """Bytes of the newest complete archive; None if there are no parts, a UserError if no archive is complete."""
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
