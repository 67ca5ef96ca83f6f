"""A member of a population (Jaderberg et al. 2017), as the trainable of Ray Tune's `PopulationBasedTraining`.

After each generation it reports its folder of checkpoints to Tune, because Tune silently skips exploits without it.
Given another member's folder and changed values, it continues from those weights with these values.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rl_models.training.checkpoint import (
    delete_checkpoint,
    get_checkpoint_path,
    load_checkpoint,
    load_state,
    newest_complete_checkpoint,
    numbered_checkpoints,
    save_checkpoint,
)
from tune_experiments.core.config_json import config_to_json
from tune_experiments.core.config_path import value_at, with_overrides
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.base_experiment import BaseExperiment, Config
from tune_experiments.experiment.finding import find_experiment, read_configuration
from tune_experiments.results.trial_log import SCORE, finite, score
from tune_experiments.run.curriculum_state import needed_checkpoints
from tune_experiments.run.request import Request, get_checkpoint_step
from tune_experiments.run.stage_training import DivergedError
from tune_experiments.run.trial import CHECKPOINTS

GENERATIONS = 8
GENERATION = "search/generation"
"""Key of a report to Ray Tune: the last finished generation, PBT's unit of time (env steps may overshoot)."""
EXPLOITS_FILE = "exploits.jsonl"
"""File in a trial's folder: one line `{env_steps, source, values}` for each exploit."""


def generation_ends(budget: int) -> dict[int, int]:
    """Generation, from 1, -> env steps at its end; the last generation is not judged."""
    return {number: math.ceil(budget * number / GENERATIONS) for number in range(1, GENERATIONS)}


def member_values(
    experiment: BaseExperiment[Config], trial: Path, config: Config, paths: Sequence[str]
) -> dict[str, Any]:
    """Path -> value of a member, from its newest checkpoint, or from its first configuration."""
    newest = newest_complete_checkpoint(trial / CHECKPOINTS)
    config = config if newest is None else read_configuration(experiment, load_state(newest)["config"])
    return {path: value_at(config, path) for path in paths}


def member_request(request: Request, name: str) -> Request:
    """Request of the member `name` with its own values, from the request of the member that it exploits."""
    config = read_configuration(find_experiment(request["experiment"]), request["config"])
    return request | {
        "name": name,
        "folder": str(Path(request["folder"]).parent / name),
        "config": config_to_json(with_overrides(config, request["values"])),
    }


def train_member(
    request: Request,
    tune_checkpoint: Path | None,
    train: Callable[[Request], None],
    report: Callable[[dict[str, Any], Path], None],
) -> None:
    """Train to the end of each generation with a report to Tune, which may end the process in it, then to the end.

    The request has `ends` and `first`. `tune_checkpoint` is Tune's copy of the checkpoints, in a folder with the name
    of its trial; `train` trains a request to its `until`; `report` reports a row with the folder of checkpoints.
    """
    folder = Path(request["folder"])
    if tune_checkpoint is not None and tune_checkpoint.parent.name != request["name"]:
        env_steps = exploit(tune_checkpoint, folder / CHECKPOINTS, request["config"])
        line = {"env_steps": env_steps, "source": tune_checkpoint.parent.name, "values": request["values"]}
        with (folder / EXPLOITS_FILE).open("a") as file:
            file.write(json.dumps(line) + "\n")
    reported = _env_steps(tune_checkpoint) if tune_checkpoint is not None else 0
    for generation, end in request["ends"].items():
        if generation >= request["first"] and end > reported:
            try:
                train(request | {"until": end})
                value = score(folder, request["objective"], since=request["ends"].get(generation - 1, 0))
            except DivergedError:  # ranked last: it exploits another member, or fails again in the next generation
                value = math.nan
            row = {"env_steps": _env_steps(folder / CHECKPOINTS), GENERATION: generation, SCORE: finite(value)}
            report(row, folder / CHECKPOINTS)
    train(request)


def exploit(source: Path, target: Path, config: Mapping[str, Any]) -> int:
    """Replace the target's checkpoints by the source's newest and those that it needs; returns its env steps."""
    newest = _env_steps(source)
    needed = needed_checkpoints(load_state(get_checkpoint_path(source, newest))) - {newest}
    # The newest is replaced last: so that after a crash the target still has its own.
    kept = [_copied(get_checkpoint_path(source, number), target, config) for number in (*sorted(needed), newest)]
    for _, path in numbered_checkpoints(target):
        if path not in kept:
            delete_checkpoint(path)
    return _env_steps(target)


def _copied(checkpoint: Path, folder: Path, config: Mapping[str, Any]) -> Path:
    found = load_checkpoint(checkpoint)
    if (own := get_checkpoint_path(folder, found.step)).exists():
        delete_checkpoint(own)
    return save_checkpoint(folder, found.step, found.tensors, found.state | {"config": config})


def _env_steps(checkpoints: Path) -> int:
    newest = newest_complete_checkpoint(checkpoints)
    if newest is None:
        raise UserError(f"{checkpoints} has no complete checkpoint; the same command trains it from the start")
    return get_checkpoint_step(newest)
