"""Folder of one run: created or continued, owned by one process at a time, never mixed with another run.

    DIR/config.json      schema_version, concord_version, experiment, config
    DIR/config.yaml      experiment, options and config for --config (`experiment/config_file.py`)
    DIR/manifest.json    the run's id, and one entry per session: versions, git, command, hardware, seeds, changed flags
    DIR/results.jsonl, table.md, plots/, videos/, trials/<name>/

A folder with other files is refused.
"""

import dataclasses
import json
import os
import shlex
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from rl_models.file_lock import hold_lock
from tune_experiments.core.config_json import ABSENT
from tune_experiments.core.config_path import Difference, Rules, find_differences, leaves
from tune_experiments.core.errors import UserError
from tune_experiments.core.files import read_json, write_json
from tune_experiments.results.main_comparison import BEFORE, NOT_RECORDED, UNANNOUNCED, MainComparison
from tune_experiments.results.rows import RESULTS_FILE
from tune_experiments.results.tables import PaperTable, with_note
from tune_experiments.run.manifest import concord_version, describe_session

SCHEMA_VERSION = 4
CONFIG_FILE, MANIFEST_FILE, LOCK_FILE = "config.json", "manifest.json", ".concord.lock"
ANNOUNCED = "main_comparisons"
"""Key of a session in the manifest: the comparisons that it declared before training; null until then, so that nothing
was trained."""
MODELS = "pretrained_models"
"""Key of a session in the manifest: the pretrained weights that it trains with."""
CHANGED = "changed"
"""Key of a session in the manifest: changed flags, with their former values."""
WRITTEN_BY: dict[str, Any] = {"schema_version": SCHEMA_VERSION, "concord_version": concord_version()}
"""Versions of the program that config.json and each checkpoint name."""
_SHOWN = 5
TEST_RESULTS_FILE = "test_results.json"
"""File in a trial's folder with its test results, written last; no results for an untested trial."""
LANGUAGE_MODEL = "language_model"
"""Folder within a trial's, with a copy of the small model that it learns on."""
_SET_ASIDE = ".of_other_flags"
"""Hidden folder for files of trials without a checkpoint, when the run restarts with other flags."""


@dataclass
class RunFolder(AbstractContextManager["RunFolder"]):
    """An open run folder; `close` it, or leave its `with` block, to release its lock.

    Attributes:
        run_id: 32 hexadecimal digits, drawn when the run began, the same in every session.
        changed: Changed flags of this session, with old and new values; none for added methods.
        uri: URI of the store of which this folder is the copy; None for a folder.
    """

    path: Path
    run_id: str
    changed: tuple[str, ...]
    _lock: ExitStack = field(repr=False)
    uri: str | None = None

    @classmethod
    def open(
        cls,
        out: Path,
        config_json: Mapping[str, Any],
        experiment: str,
        seeds: Sequence[int] = (),
        rules: Rules = MappingProxyType({}),
    ) -> Self:
        """Create the folder of a run, or continue it.

        UserError if the folder is not writable, in use, or not of this experiment, or if a change is not allowed. A run
        without checkpoints accepts any configuration; the files of its trials are moved aside.
        """
        out = Path(out)
        try:
            out.mkdir(parents=True, exist_ok=True)
            with ExitStack() as stack:
                _take_lock(out, stack)
                changed = _claim(out, config_json, experiment, rules)
                run_id = _add_session(out, experiment, seeds, changed)
                for name in ("trials", "plots"):
                    (out / name).mkdir(exist_ok=True)
                return cls(out, run_id, changed, stack.pop_all())
        except OSError as error:
            fault = "is a file, not a folder" if out.is_file() else f"cannot be written ({error.strerror or error})"
            raise UserError(f"{out} {fault}; use another --out folder") from error

    @property
    def results(self) -> Path:
        """Path of results.jsonl."""
        return self.path / RESULTS_FILE

    def trial(self, name: str) -> Path:
        """The folder of one trial (created)."""
        folder = self.path / "trials" / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def record(self, key: str, values: Sequence[Any]) -> None:
        """Write a list into this session's entry of the manifest."""
        document = read_json(self.path / MANIFEST_FILE)
        document["sessions"][-1][key] = list(values)
        write_json(self.path / MANIFEST_FILE, document)

    def close(self) -> None:
        """Release the lock; the operating system does so when the process dies."""
        self._lock.close()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.close()


def read_config(out: Path) -> tuple[str, dict[str, Any]]:
    """Entry point of the experiment, and its configuration as JSON; UserError if it is no run folder."""
    path = Path(out) / CONFIG_FILE
    if not path.is_file():
        fault = f"is not a run folder: it has no {CONFIG_FILE}" if Path(out).exists() else "does not exist"
        raise UserError(f"{out} {fault}; name the folder of a run")
    document = read_json(path)
    experiment, config = document.get("experiment"), document.get("config")
    check_version(document, path)
    if not isinstance(experiment, str) or not isinstance(config, dict):
        raise UserError(f"{path} names no experiment and configuration; use another --out")
    return experiment, config


def check_version(written_by: Mapping[str, Any], path: Path) -> None:
    """Check the schema version of files; UserError names the version that wrote them."""
    schema = written_by.get("schema_version")
    if schema != SCHEMA_VERSION:
        version = written_by.get("concord_version", "of an unknown version")
        raise UserError(
            f"{path} was written by Concord {version} (schema version {schema!r}), and this version reads "
            f"{SCHEMA_VERSION}: open it with that version, or train again with another --out"
        )


def check_no_other_files(out: Path | str, names: Iterable[str]) -> None:
    """Raise UserError unless a folder is a run folder or holds no visible files."""
    foreign = sorted(name for name in names if not name.startswith("."))
    if foreign:
        raise UserError(f"{out} is not a run folder and holds other files ({foreign[0]}, ...); use a new --out folder")


def check_config(
    out: Path, config_json: Mapping[str, Any], experiment: str, rules: Rules, is_trained: bool = True
) -> list[Difference]:
    """Differences to the stored configuration, if the run can be continued with them.

    Raises UserError for a damaged file, one of another experiment, or a change that is not allowed.
    """
    old_experiment, old_config = read_config(out)
    if old_experiment != experiment:
        raise UserError(f"{out} belongs to experiment {old_experiment}, not {experiment}; use another --out folder")
    # Through JSON, so that tuples and lists are the same.
    found = find_differences(old_config, json.loads(json.dumps(config_json)), rules)
    refused = [one for one in found if not (one.is_allowed or _was_raised_in_vain(out, one))]
    if refused and is_trained:
        shown, more = refused[:_SHOWN], len(refused) - _SHOWN
        changes = "; ".join(one.refusal for one in shown) + (f"; and {more} more" if more > 0 else "")
        repeated = " ".join(one.old_flag for one in shown if one.old is not ABSENT and one.new is not ABSENT)
        advice = f"write {repeated}{' and so on' * (more > 0)}" if repeated else f"use the flags in its {MANIFEST_FILE}"
        gone = " (removed flags need the version that started it)" * any(one.new is ABSENT for one in refused)
        raise UserError(
            f"the run in {out} cannot continue with other flags ({changes}): {advice} to continue it{gone}, or use "
            f"another --out folder"
        )
    return found


def _was_raised_in_vain(out: Path, change: Difference) -> bool:
    """Whether a budget is lowered, and no trial was trained or tested with more than its new value."""
    if change.rule != "grows" or ABSENT in (change.old, change.new):
        return False
    from rl_models.training.checkpoint import load_state, newest_complete_checkpoint  # torch is slow to import

    used = list[Any]()
    for trial in out.glob("trials/*"):
        newest, results = newest_complete_checkpoint(trial / "checkpoints"), trial / TEST_RESULTS_FILE
        stored = {} if newest is None else load_state(newest).get("config", {})
        used += [value for path, value in leaves(stored) if path == change.path]
        used += [read_json(results).get("of", {}).get(change.path, 0)] if results.exists() else []
    return all(value <= change.new for value in used)


def with_announcement_times(
    comparisons: Sequence[MainComparison], sessions: Sequence[Mapping[str, Any]]
) -> list[MainComparison]:
    """The comparisons, each with the time of its declaration: before the run only if all sessions recorded it."""
    announced = [session[ANNOUNCED] for session in sessions if session.get(ANNOUNCED) is not None]

    def named(comparison: MainComparison) -> str:
        if not announced:
            return NOT_RECORDED
        return BEFORE if all(comparison.announcement() in one for one in announced) else UNANNOUNCED

    return [dataclasses.replace(comparison, named=named(comparison)) for comparison in comparisons]


def read_sessions(out: Path, may_be_missing: bool = False) -> list[dict[str, Any]]:
    """Sessions of a run from manifest.json, the oldest first; with `may_be_missing` none of them needs provenance.

    Raises UserError for a damaged file, and a missing one unless it `may_be_missing`.
    """
    path = out / MANIFEST_FILE
    if not path.exists():
        if may_be_missing:
            return []
        raise UserError(f"{path} does not exist; restore it, because it holds the commands of the run")
    sessions = read_json(path).get("sessions")
    if not isinstance(sessions, list) or not all(isinstance(session, dict) for session in sessions):
        raise UserError(f"{path} lists no sessions of a run; restore it or use another --out folder")
    for key, of, what in (("seeds", int, "numbers"), (ANNOUNCED, str, "texts"), (MODELS, dict, "objects")):
        lists = [one[key] for one in sessions if key in one and (one[key] is not None or key != ANNOUNCED)]
        if not all(isinstance(one, list) and all(isinstance(each, of) for each in one) for one in lists):
            raise UserError(f"{path}: {key} of a session must be a list of {what}; restore it")
    if not may_be_missing and not (sessions and all(map(has_provenance, sessions))):
        raise UserError(f"{path} has a session without command, commit or versions, or no session; restore it")
    return sessions


def has_provenance(session: Mapping[str, Any]) -> bool:
    """Whether a session has a command, versions, and a commit (null outside of a checkout)."""
    git = session.get("git", {})
    if isinstance(git, dict):
        is_source = isinstance(git.get("commit"), str | None) and isinstance(git.get("dirty"), bool)
    else:
        is_source = git is None
    return is_source and bool(_words(session.get("command"))) and isinstance(session.get("versions"), dict)


def _words(command: object) -> list[str]:
    """Words of a session's command; none if a damaged file has no command that a shell could read."""
    try:
        return shlex.split(command) if isinstance(command, str) else []
    except ValueError:
        return []


def _claim(out: Path, config_json: Mapping[str, Any], experiment: str, rules: Rules) -> tuple[str, ...]:
    """Write or check config.json; returns the changed flags."""
    found: list[Difference] = []
    if (out / CONFIG_FILE).exists():
        marks = ("checkpoints/checkpoint_*", TEST_RESULTS_FILE)
        is_trained = any(any(out.glob(f"trials/*/{name}")) for name in marks)
        found = check_config(out, config_json, experiment, rules, is_trained)
        if found and not is_trained:
            _set_trials_aside(out)
            found = []
    else:
        check_no_other_files(out, (path.name for path in out.iterdir()))
    write_json(out / CONFIG_FILE, WRITTEN_BY | {"experiment": experiment, "config": config_json})
    return tuple(one.words for one in found if one.rule != "gains")


def _set_trials_aside(out: Path) -> None:
    """Move files of trials without a checkpoint, which have another configuration, to a hidden folder."""
    left = [folder for folder in out.glob("trials/*") if folder.is_dir() and any(folder.iterdir())]
    if left:
        aside = out / _SET_ASIDE / uuid.uuid4().hex[:8]
        aside.mkdir(parents=True)
        for folder in left:
            folder.rename(aside / folder.name)


def _add_session(out: Path, experiment: str, seeds: Sequence[int], changed: Sequence[str]) -> str:
    """Add a session to the manifest; the run's id, drawn if there is none."""
    path, sessions = out / MANIFEST_FILE, read_sessions(out, may_be_missing=True)
    run_id = (read_json(path) if sessions else {}).get("run_id", uuid.uuid4().hex)
    if not isinstance(run_id, str):
        raise UserError(f"{path} has no run_id; restore it or use another --out folder")
    session = describe_session(seeds) | {ANNOUNCED: None} | ({CHANGED: list(changed)} if changed else {})
    document = {
        "schema_version": SCHEMA_VERSION,
        "experiment": experiment,
        "run_id": run_id,
        "sessions": [*sessions, session],
    }
    write_json(path, document)
    return run_id


def _take_lock(out: Path, stack: ExitStack) -> None:
    """Hold the lock until the stack closes; a refused folder is not changed."""
    lock = out / LOCK_FILE
    is_new = not lock.exists()
    try:
        stack.enter_context(hold_lock(lock))
    except TimeoutError:
        owner = lock.read_text(errors="replace").strip()[:20] or "unknown"
        raise UserError(
            f"{out} is in use by process {owner}; wait for it, end it, or use another --out folder"
        ) from None
    lock.write_text(f"{os.getpid()}\n")
    if is_new:
        stack.push(lambda kind, error, trace: lock.unlink() if kind is UserError else None)


# ---- notes on a run in the captions of its tables --------------------------------------------------------------------


def describe_models(sessions: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Each pretrained model of a run's sessions once: its name, with its revision where that is known."""
    models = [model for session in sessions for model in session.get(MODELS, ())]
    named = ((model.get("name"), model.get("revision")) for model in models)
    return tuple(dict.fromkeys(f"{name} ({revision})" if revision else str(name) for name, revision in named))


def with_model_notes(tables: Sequence[PaperTable], models: Sequence[str]) -> list[PaperTable]:
    """The tables, with captions that name these models."""
    return with_note(tables, f"Pretrained model: {', '.join(models)}." if models else "")


def changed_flags(sessions: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Flags that changed between the sessions of a run, each once, with their former values."""
    lists = (session.get(CHANGED) for session in sessions)
    return tuple(dict.fromkeys(str(flag) for one in lists if isinstance(one, list) for flag in one))
