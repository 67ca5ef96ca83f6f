"""What a run changes against the published agents, one sentence each."""

from __future__ import annotations

from typing import Any

from rl_envs.salad.tasks import TASKS
from tune_experiments.common.config_path import value_at
from tune_experiments.common.salad.config import VercoConfig

_COMPARED = {
    "model": "language model",
    "team.normalisation": "normalisation of scores",
    "team.critic_base": "whose state the critic reads",
    "learner.learning_rate": "learning rate",
    "learner.epochs": "passes over a batch",
    "learner.entropy_weight": "entropy weight",
    "learner.clip_gradient": "largest gradient norm",
    "budget_env_steps": "env steps of training",
}


def departures(config: VercoConfig, published: VercoConfig) -> list[str]:
    """Compare with the preset that has the base method's constants; the paper states none of its own."""
    notes = [
        "the teacher's lessons are about play of scripted cooks that err, the paper's about its initial policy",
        "adapter and critic share one learning rate, and no target KL ends an update",
    ]
    if config.teacher == "scripted":
        notes.append("the teacher is scripted, the paper's is GPT-4")
    if "drawing" in TASKS[config.task] or TASKS[config.task]["layout"] not in ("A", "B"):
        notes.append(f"the task {config.task} is not the paper's: there words are needed")
    for path, name in _COMPARED.items():
        ours, theirs = value_at(config, path), value_at(published, path)
        if ours != theirs:
            notes.append(f"{name}: {_in_words(ours)}, published is {_in_words(theirs)}")
    return notes


def _in_words(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value or "the small one")
