"""Run folders of self-play as training leaves them, with teams that were never trained, for what comes after."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import torch

from rl_models.schedule import Progress
from rl_models.training.checkpoint import save_checkpoint
from tune_experiments.core.config_json import config_to_json
from tune_experiments.overcooked.trials import self_play_team
from tune_experiments.overcooked_selfplay import SMOKE
from tune_experiments.run.run_folder import WRITTEN_BY, RunFolder

STAY, INTERACT = 4, 5


def stubborn_team(config, action, seed=0):
    """A team that nearly always does the same."""
    team = self_play_team(config, seed)
    with torch.no_grad():
        team.policy_head.policy.bias[action] = 50.0
    return team


def write_run(out: Path, teams, rewards=None, config=SMOKE, experiment="overcooked_selfplay", method="selfplay"):
    """A run with trials of seeds 0, 1, ...: `teams[seed]` is env steps -> team, `rewards` env steps -> reward."""
    config = dataclasses.replace(config, methods=(method,))
    RunFolder.open(out, config_to_json(config), experiment).close()
    for seed, checkpoints in enumerate(teams):
        trial = out / f"trials/{method}-seed{seed}"
        trial.mkdir(parents=True)
        for env_steps, team in checkpoints.items():
            state = {"experiment": experiment, "config": config_to_json(config), "method": method, "seed": seed}
            state |= {
                "written_by": WRITTEN_BY,
                "progress": vars(Progress(env_steps=env_steps)),
                "validated_at": env_steps,
            }
            save_checkpoint(trial / "checkpoints", env_steps, {"weights": team.state_dict()}, state)
        rows = [
            {"env_steps": steps, "wall_time": 0.0, "valid/reward": value} for steps, value in (rewards or {}).items()
        ]
        (trial / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return out
