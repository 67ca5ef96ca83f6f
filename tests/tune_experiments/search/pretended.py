"""Trials that have not been trained: what they would have left in their folders."""

import dataclasses
import json
from pathlib import Path

from ray import tune

from tune_experiments import matrix_game
from tune_experiments.experiment.search_space import SearchSpace
from tune_experiments.run.final_evaluation import write_test_results

OBJECTIVE = "valid/value_against_adversary"
SPACE = SearchSpace({"learning_rate": tune.loguniform(1e-4, 1e-1), "games": tune.choice([8, 16])}, objective=OBJECTIVE)
CONFIG = dataclasses.replace(
    matrix_game.SMOKE,
    games=8,
    updates_per_row=2,
    budget_env_steps=512,
    checkpoint_every_env_steps=10_000,
    hold_share=0.9,
)


def request_in(folder, setting, method, seed):
    trial = folder / "trials" / f"{method}-setting{setting.number:02}-seed{seed}"
    trial.mkdir(parents=True, exist_ok=True)
    return {"name": trial.name, "folder": str(trial), "method": method, "seed": seed, "setting": setting}


def finish(request, value):
    """Its log and test results."""
    folder = Path(request["folder"])
    (folder / "metrics.jsonl").write_text(json.dumps({"env_steps": 512, OBJECTIVE: value}) + "\n")
    write_test_results(folder, [])
