"""Weight transfer between stages: from the last checkpoint of one stage to the policy of the next.

It depends only on that checkpoint and on the plan, so a killed trial repeats it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rl_models.policy import with_present_names
from rl_models.training.weight_transfer import WeightTransfer, trainable_names, transfer_optimiser, transfer_weights
from tune_experiments.core.files import write_json
from tune_experiments.experiment.plan import Stage
from tune_experiments.run.curriculum_state import CurriculumState

TRANSFER_FILE = "weight_transfer.json"
Tensors = dict[str, dict[str, Any]]


def transfer_stage(curriculum: CurriculumState, tensors: Tensors, trial: Path) -> tuple[Tensors, str]:
    """Weights and optimiser state for the current stage, and a sentence; a report goes to the stage's folder."""
    team = curriculum.plan.build_policy()
    weights = with_present_names(team, tensors["weights"])
    transfer = transfer_weights(weights, team.state_dict())
    names = trainable_names(team)
    optimiser: dict[str, Any] = {}
    if curriculum.stage.keeps_optimiser:
        before = curriculum.stages[len(curriculum.ended) - 1].plan_at(len(curriculum.ended) - 1)
        names_before = trainable_names(before.build_policy())
        optimiser = transfer_optimiser(tensors["optimizer"], names_before, names, transfer.loaded)
    frozen = [name for name, _ in team.named_parameters() if name not in names]
    kept = [name for index, name in enumerate(names) if any(key.startswith(f"{index}.") for key in optimiser)]
    path = Path("stages", curriculum.label, TRANSFER_FILE)
    (trial / path).parent.mkdir(parents=True, exist_ok=True)
    write_json(trial / path, _report(curriculum, transfer, frozen, kept))
    return {"weights": transfer.weights, "optimizer": optimiser}, _sentence(curriculum, transfer, frozen, kept, path)


def check_transfers(stages: Sequence[Stage]) -> None:
    """Build every stage's policy and transfer weights, before the first stage is trained.

    ValueError for a pattern that matches no parameter, or policies without a common weight.
    """
    old: dict[str, Any] = {}
    for index, stage in enumerate(stages):
        try:
            new = stage.plan_at(index).build_policy().state_dict()
            if index:
                transfer_weights(old, new)
        except ValueError as error:
            raise ValueError(f"stage {stage.name}: {error}") from error
        old = new


def _report(
    curriculum: CurriculumState, transfer: WeightTransfer, frozen: list[str], kept: list[str]
) -> dict[str, Any]:
    end = curriculum.ended[-1]
    return {
        "from": {"stage": end.name, "passed": end.passed, "env_steps": end.checkpoint_env_steps},
        "to": {"stage": curriculum.stage.name},
        "loaded": transfer.loaded,
        "of_another_shape": {
            name: {"there": there, "here": here} for name, (there, here) in transfer.other_shape.items()
        },
        "new": transfer.new,
        "left_behind": transfer.skipped,
        "frozen": frozen,
        "optimiser_state_kept": kept,
    }


def _sentence(
    curriculum: CurriculumState, transfer: WeightTransfer, frozen: list[str], kept: list[str], path: Path
) -> str:
    held = f", {len(frozen)} frozen" if frozen else ""
    with_optimiser = f", {len(kept)} with their optimiser state" if kept else ""
    where = f"stage {len(curriculum.ended) + 1} of {len(curriculum.stages)}, {curriculum.stage.name}"
    after = f"after {curriculum.ended[-1].name}"
    return f"{where}, {after}: {transfer.sentence()}{held}{with_optimiser} (every name is in {path})"
