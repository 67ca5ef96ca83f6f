"""Curriculum state of a trial: its stages in checkpoints, in the log and in the progress line.

It depends only on training, not on clocks or files, so a resumed trial goes through the same stages.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rl_models.schedule import Progress
from rl_models.training.weight_transfer import trainable_names, transfer_optimiser, transfer_weights
from tune_experiments.core.errors import UserError
from tune_experiments.core.files import write_json
from tune_experiments.experiment.curriculum import Plan
from tune_experiments.experiment.plan import Stage, TrialPlan

TRANSFER_FILE = "weight_transfer.json"
Tensors = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Choice:
    """Best validated weights so far: their value, and the env steps of all stages at their checkpoint."""

    value: float
    env_steps: int


@dataclass(frozen=True)
class StageEnd:
    """How a stage ended; `passed` is None without a promotion rule.

    `env_steps` are those of all stages to its end, the number of its last checkpoint; `chosen` is the number of the
    checkpoint with its best validation, None where weights are not chosen.
    """

    name: str
    passed: bool | None
    progress: Progress
    env_steps: int
    chosen: int | None = None

    @property
    def checkpoint_env_steps(self) -> int:
        """Number of the checkpoint that the next stage and tests load."""
        return self.env_steps if self.chosen is None else self.chosen


@dataclass
class CurriculumState:
    """Current stage of a trial and the history of the stages before it.

    Progress, the latest `values` of the promotion's metric, the last validation (in env steps) and the best validation,
    where the plan chooses weights, are those of the current stage.
    """

    declared: Plan
    ended: list[StageEnd] = field(default_factory=list)
    progress: Progress = field(default_factory=Progress)
    values: list[float] = field(default_factory=list)
    validated_at: int = 0
    choice: Choice | None = None

    def __post_init__(self) -> None:
        self.is_staged = self.declared.is_staged
        self.stages = self.declared.stages

    @property
    def stage(self) -> Stage:
        """Current stage."""
        return self.stages[len(self.ended)]

    @property
    def plan(self) -> TrialPlan:
        """Plan of the current stage."""
        return self.stage.plan_at(len(self.ended))

    @property
    def label(self) -> str:
        """Number and name of the stage, as in folder names: `2_moving`."""
        return f"{len(self.ended) + 1}_{self.stage.name}"

    @property
    def is_in_last_stage(self) -> bool:
        """Whether no stage follows."""
        return len(self.ended) + 1 == len(self.stages)

    @property
    def passed(self) -> bool | None:
        """Whether the stage's promotion rule is met; None without a rule."""
        rule = self.stage.promotion
        return None if rule is None else rule.is_met(self.values)

    @property
    def stage_is_over(self) -> bool:
        """Whether the stage has been passed, or its budget used."""
        return bool(self.passed) or self.progress.env_steps >= self.stage.plan.budget_env_steps

    @property
    def is_over(self) -> bool:
        """Whether training has ended."""
        return self.stage_is_over and self.is_in_last_stage

    def total(self) -> Progress:
        """Progress of all stages together."""
        parts = [*(end.progress for end in self.ended), self.progress]
        return Progress(**{name: sum(vars(part)[name] for part in parts) for name in vars(Progress())})

    def record(self, row: Mapping[str, float]) -> None:
        """Record the metric of the stage's promotion rule from a row of the log."""
        rule = self.stage.promotion
        if rule is None:
            return
        group = rule.metric.split("/")[0]
        known = [key for key in row if key.startswith(f"{group}/")]
        if rule.metric in row:
            self.values = [*self.values, float(row[rule.metric])][-rule.over :]
        elif known:
            raise ValueError(f"stage {self.stage.name} is passed by {_not_logged(rule.metric, known)}")

    def better_value(self, row: Mapping[str, float | None]) -> float | None:
        """Validation value of a row if it is the stage's best and weights are selected, else None; NaN never is."""
        key = f"valid/{self.plan.chosen_by}"
        known = [name for name in row if name.startswith("valid/")]
        if self.plan.chosen_by is None or not known:
            return None
        if (value := row.get(key)) is None:
            raise ValueError(f"stage {self.stage.name} selects weights by {_not_logged(key, known)}")
        if math.isnan(value):
            return None
        if self.choice is None or value > self.choice.value or (self.plan.chooses_last and value == self.choice.value):
            return value
        return None

    def end(self) -> StageEnd:
        """Record of the current stage's end."""
        chosen = None if self.choice is None else self.choice.env_steps
        return StageEnd(self.stage.name, self.passed, self.progress, self.total().env_steps, chosen)

    @property
    def needed(self) -> set[int]:
        """Env steps of the checkpoints that are still needed."""
        return needed_checkpoints(self.state())

    def next_stage(self) -> None:
        """Move to the next stage."""
        self.ended.append(self.end())
        self.progress, self.values, self.validated_at, self.choice = Progress(), [], 0, None

    # ---- checkpoints -------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """State that a checkpoint stores, as JSON."""
        state: dict[str, Any] = {"progress": vars(self.total()), "validated_at": self.validated_at}
        if self.choice is not None:
            state["choice"] = vars(self.choice)
        if not self.is_staged:
            return state
        ended = [vars(end) | {"progress": vars(end.progress)} for end in self.ended]
        stage = {"stage": self.stage.name, "progress": vars(self.progress), "values": self.values, "ended": ended}
        return state | {"curriculum": stage}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the state of a checkpoint."""
        stage = state.get("curriculum", {"stage": None, "progress": state["progress"], "values": [], "ended": []})
        ended = [StageEnd(**end | {"progress": Progress(**end["progress"])}) for end in stage["ended"]]
        there = [*(end.name for end in ended), stage["stage"]]
        here = [one.name for one in self.stages] if self.is_staged else [None]
        if there != here[: len(there)]:
            raise ValueError(
                f"the checkpoint was written in {_describe_stages(there)}, but the configuration now has "
                f"{_describe_stages(here)}: restore the former stages, or use another --out folder"
            )
        self.ended, self.validated_at = ended, state["validated_at"]
        self.choice = Choice(**state["choice"]) if "choice" in state else None
        self.progress, self.values = Progress(**stage["progress"]), list(stage["values"])

    def check_budgets(self) -> None:
        """Check that no stage that ended by its budget has a larger one now; UserError, as it is not trained again."""
        for end, stage in zip(self.ended, self.stages, strict=False):
            if not end.passed and end.progress.env_steps < stage.plan.budget_env_steps:
                raise UserError(
                    f"the stage {end.name} has ended after {end.progress.env_steps:,} env steps, and its budget is now "
                    f"{stage.plan.budget_env_steps:,}: restore the former budget, or use another --out folder"
                )

    # ---- log and progress line ---------------------------------------------------------------------------------------

    def log_entries(self) -> dict[str, float | None]:
        """Entries of the log: number of the stage, its own env steps, and in its last row whether it was passed."""
        if not self.is_staged:
            return {}
        passed = None if self.passed is None or not self.stage_is_over else float(self.passed)
        return {
            "curriculum/stage": len(self.ended) + 1,
            "curriculum/stage_env_steps": self.progress.env_steps,
            "curriculum/passed": passed,
        }

    def progress_entries(self) -> dict[str, Any]:
        """Entries of the progress line: stage, remaining budget, and how the stage ended."""
        if not self.is_staged:
            return {}
        spent = sum(end.progress.env_steps for end in self.ended)
        left = sum(stage.plan.budget_env_steps for stage in self.stages[len(self.ended) :])
        name = f"{len(self.ended) + 1}/{len(self.stages)} {self.stage.name}"
        shown = {"stage": name, "budget_env_steps": spent + left}
        return shown | ({"notice": self.verdict()} if self.stage_is_over else {})

    def verdict(self) -> str:
        """Sentence on how the current stage ended."""
        rule, steps = self.stage.promotion, f"{self.progress.env_steps:,} env steps"
        name = f"stage {len(self.ended) + 1} of {len(self.stages)}, {self.stage.name},"
        if rule is None:
            return f"{name} ended after {steps}"
        mean = f"{sum(self.values) / len(self.values):.4g}" if self.values else "not logged"
        found = f"{rule.metric} {mean}, threshold {rule.threshold:g}"
        if self.passed:
            return f"{name} was passed after {steps} ({found})"
        return f"{name} was not passed in {steps} ({found})"


def needed_checkpoints(state: Mapping[str, Any]) -> set[int]:
    """Numbers of the checkpoints that the newest one's state refers to: ends of stages, and the best validated."""
    ends = [*state.get("curriculum", {}).get("ended", ()), state.get("choice", {})]
    return {end[key] for end in ends for key in ("env_steps", "chosen") if end.get(key) is not None}


def restore_curriculum(declared: Plan, state: Mapping[str, Any]) -> CurriculumState:
    """Curriculum state of a checkpoint."""
    curriculum = CurriculumState(declared)
    if curriculum.is_staged:
        curriculum.restore(state)
    return curriculum


def _not_logged(key: str, known: Sequence[str]) -> str:
    return f"{key!r}, which is not logged; name one of {', '.join(known)}"


def _describe_stages(names: Sequence[str | None]) -> str:
    return "no stages" if None in names else f"the stage{'s' * (len(names) > 1)} {', '.join(map(str, names))}"


# ---- weight transfer: from the last checkpoint of one stage to the policy of the next, repeated by a killed trial ----


def transfer_stage(curriculum: CurriculumState, tensors: Tensors, trial: Path) -> tuple[Tensors, str]:
    """Weights and optimiser state for the current stage, and a sentence; a report goes to the stage's folder."""
    team = curriculum.plan.build_policy()
    transfer = transfer_weights(tensors["weights"], team.state_dict())
    names = trainable_names(team)
    optimiser: dict[str, Any] = {}
    if curriculum.stage.keeps_optimiser:
        index = len(curriculum.ended) - 1
        names_before = trainable_names(curriculum.stages[index].plan_at(index).build_policy())
        optimiser = transfer_optimiser(tensors["optimizer"], names_before, names, transfer.loaded)
    frozen = [name for name, _ in team.named_parameters() if name not in names]
    kept = [name for index, name in enumerate(names) if any(key.startswith(f"{index}.") for key in optimiser)]
    before, path = curriculum.ended[-1], Path("stages", curriculum.label, TRANSFER_FILE)
    (trial / path).parent.mkdir(parents=True, exist_ok=True)
    report = {
        "from": {"stage": before.name, "passed": before.passed, "env_steps": before.checkpoint_env_steps},
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
    write_json(trial / path, report)
    where = (
        f"stage {len(curriculum.ended) + 1} of {len(curriculum.stages)}, {curriculum.stage.name}, after {before.name}"
    )
    held = f", {len(frozen)} frozen" if frozen else ""
    with_optimiser = f", {len(kept)} with their optimiser state" if kept else ""
    sentence = f"{where}: {transfer.sentence()}{held}{with_optimiser} (every name is in {path})"
    return {"weights": transfer.weights, "optimizer": optimiser}, sentence


def check_transfers(stages: Sequence[Stage]) -> None:
    """Build every stage's policy and transfer weights, before the first stage is trained; ValueError if impossible."""
    old: dict[str, Any] = {}
    for index, stage in enumerate(stages):
        try:
            new = stage.plan_at(index).build_policy().state_dict()
            if index:
                transfer_weights(old, new)
        except ValueError as error:
            raise ValueError(f"stage {stage.name}: {error}") from error
        old = new
