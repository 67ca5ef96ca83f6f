"""Runs in a store on this machine, and what lies there."""

import json
import tempfile
from pathlib import Path

import numpy as np
import pytest

from rl_models.training.checkpoint import prune, save_checkpoint
from tune_experiments.core.errors import UserError
from tune_experiments.results.rows import Result, replace_rows
from tune_experiments.results.trial_log import TrialLog
from tune_experiments.run import remote_claim, run_folder
from tune_experiments.run.remote_sync import open_run, synced_folder

CONFIG, TRIAL = {"a": 1}, "trials/sync-seed0"
HIDDEN = {".secret/key": b"k", ".git/config": b"g", ".env": b"e"}


@pytest.fixture(autouse=True)
def short_manifest(monkeypatch):
    """Asking git and the driver each time would make these tests slow."""
    monkeypatch.setattr(run_folder, "describe_session", lambda seeds: {"seeds": list(seeds)})
    monkeypatch.setattr(remote_claim, "PROPAGATION_SECONDS", 0.0)


def put(store, files):
    for name, content in files.items():
        (store / name).parent.mkdir(parents=True, exist_ok=True)
        (store / name).write_bytes(content)


def run_in(store, begin, end=lambda: None, config=CONFIG):
    """What a run with one trial does to its folders, by the code that does it: train from checkpoint `begin` on."""
    with open_run(Path(copy_at(store)), config, "matrix_game", (0,)) as (run, copy):
        with synced_folder(f"{copy_at(store)}/{TRIAL}") as (folder, trial_copy), TrialLog(folder) as log:
            log.rewind(begin)
            for env_steps in range(begin + 1, begin + 4):
                log.append({"env_steps": env_steps, "loss": 1.0})
                save_checkpoint(folder / "checkpoints", env_steps, {"weights": {"a": np.zeros(2)}}, {})
                prune(folder / "checkpoints", keep=2)
                trial_copy.push()
            end()
        copy.pull("trials/")
        replace_rows(run.results, [Result("x", "A", "sync", "w", "test", 0, "return", 1.0)])


def damage(store, step):
    """Let a run go on from the checkpoint before this one."""
    put(store, {f"{TRIAL}/checkpoints/checkpoint_{step:06d}/weights.safetensors": b""})


def fail():
    raise ZeroDivisionError("mine")


def refuse():
    raise UserError(f"table.md of {next(Path(tempfile.gettempdir()).iterdir())} is wrong")


def interrupt():
    raise KeyboardInterrupt


def claim(store, beat, is_over=False):
    """The claim of a run on another machine."""
    text = json.dumps({"owner": "other", "process": 7, "host": "elsewhere", "beat": beat, "is_over": is_over})
    put(store, {"passing.json": text.encode()})
    (store / "passing.json").replace(store / remote_claim.CLAIM_FILE)


def visible(files):
    """Without the claim."""
    return {name: content for name, content in files.items() if name != remote_claim.CLAIM_FILE}


def copy_at(store):
    return f"file://{store}"


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
