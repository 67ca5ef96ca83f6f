"""The method `matching`: the mention-matching reader, our network, with its own settings.

It learns from reward only, by PPO with many worlds, short fragments and small minibatches. The equations are in
`rl_models/networks/mentions.py` and `matching.py`. In RTFM's curriculum a stage adds one difficulty to those before it,
and every weight is transferred.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import Field, PositiveFloat, PositiveInt

from rl_envs.rtfm.grid import MAX_SIZE, MIN_SIZE
from rl_models.configuration import Unread
from tune_experiments.core.checks import check_distinct
from tune_experiments.experiment.curriculum import Curriculum
from tune_experiments.experiment.plan import Stage, Tests
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperTable, make_table
from tune_experiments.rtfm.config import (
    LARGER,
    NEW_NAMES,
    REFERENCES,
    TEST,
    UNSEEN,
    MatchingRunConfig,
    RtfmTask,
    column,
)
from tune_experiments.rtfm.matching_config import MatchingRow, MatchingSettings, matching_learner

if TYPE_CHECKING:
    from rl_models.policy import TeamPolicy
    from tune_experiments.rtfm.evaluation import Changes


MATCHING = "matching"
MATCHING_NOTE = (
    "methods of the mention-matching reader: our network, with its own learner and budget. "
    "It is given which names are monsters and items, and learns from reward only unless the method's name adds a loss"
)


StageName: TypeAlias = Literal["simplest", "group", "nl", "dyna", "10x10"]
DIFFICULTIES: dict[StageName, dict[str, Any]] = {
    "simplest": {},
    "group": {"group": True},
    "nl": {"nl": True},
    "dyna": {"dyna": True},
    "10x10": {"size": 10},
}
"""Stage -> what it adds to the game."""


@dataclass(frozen=True, kw_only=True)
class MatchingRtfmConfig(
    MatchingRunConfig,
    validate_every_env_steps=100_000,
    test_episodes=500,
    matching=MatchingSettings(
        word_features=64, learner=matching_learner(final_entropy_coef=0.0), budget_env_steps=400_000
    ),
):
    """One run; settings of the papers' networks have no effect."""

    methods: tuple[MatchingRow, ...] = (MATCHING,)  # type: ignore[assignment]
    """Methods to train: matching, or an ablation: matching_named,
    matching_frozen_words, matching_two_tables, matching_two_tables_contrastive, matching_as_vector."""
    stages: tuple[StageName, ...] = ("simplest",)
    """Stages, trained one after another with the same team, each with the difficulties of those before it: simplest
    group nl dyna for the full game, and 10x10 for its large room."""
    task: RtfmTask = field(default_factory=RtfmTask)
    """Room of the game; each stage sets the other rules."""
    budget_env_steps: PositiveInt = 300_000
    """Number of env steps of training in each stage but the first."""
    later_learning_rate: PositiveFloat = 1e-3
    """Learning rate at the start of each stage but the first, above 0."""
    larger_sizes: tuple[Annotated[int, Field(ge=MIN_SIZE, le=MAX_SIZE)], ...] = (10,)
    """Sides in cells of the larger rooms for additional tests."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_distinct(self, "stages")

    def unread_by(self, method: str) -> Unread:
        """The same, what the stages set, and settings of later stages where there is one."""
        found = super().unread_by(method) | {"test_sizes": "give --larger-sizes"}
        found |= dict.fromkeys((f"task.{name}" for name in DIFFICULTIES[self.stages[0]]), "give --stages")
        if len(self.stages) == 1:
            found["budget_env_steps"] = "give --matching.budget-env-steps, or more --stages"
            found["later_learning_rate"] = "give --matching.learner.learning-rate, or more --stages"
        return found


def plan(config: MatchingRtfmConfig, row: MatchingRow, seed: int) -> Curriculum:
    """The stages of one method with one seed."""
    return Curriculum(tuple(_stage(config, row, seed, index) for index in range(len(config.stages))))


def _stage(config: MatchingRtfmConfig, row: MatchingRow, seed: int, index: int) -> Stage:
    from tune_experiments.rtfm.trials import matching_plan

    settings = config.matching
    if index:
        learner = dataclasses.replace(settings.learner, learning_rate=config.later_learning_rate)
        settings = dataclasses.replace(settings, learner=learner, budget_env_steps=config.budget_env_steps)
    own = at_stage(dataclasses.replace(config, matching=settings), index)
    is_last = index == len(config.stages) - 1
    return Stage(
        name=config.stages[index],
        plan=matching_plan(own, row, seed),
        evaluate=None if is_last else functools.partial(_evaluate_stage, own),
    )


def at_stage(config: MatchingRtfmConfig, index: int = -1) -> MatchingRtfmConfig:
    """The configuration with the game of a stage; by default of the last."""
    names = config.stages[: index + 1] if index >= 0 else config.stages
    changes: dict[str, Any] = {}
    for name in names:
        changes |= DIFFICULTIES[name]
    task = dataclasses.replace(config.task, **changes)
    return dataclasses.replace(config, task=task, test_sizes=(task.size,))


def _evaluate_stage(config: MatchingRtfmConfig, policy: TeamPolicy) -> Tests:
    from tune_experiments.rtfm.evaluation import evaluate

    return evaluate(config, policy)


def evaluate_last(config: MatchingRtfmConfig, policy: TeamPolicy) -> Tests:
    """Columns of the last stage's game: also new names, and larger rooms."""
    from tune_experiments.rtfm.evaluation import columns, evaluate

    own = at_stage(config)
    size = own.task.size
    further: dict[str, Changes] = {column(NEW_NAMES, size): {"split": TEST, "names": "new"}}
    further |= {
        column(LARGER, larger): {"split": TEST, "size": larger} for larger in config.larger_sizes if larger > size
    }
    return evaluate(own, policy, played=columns(own) | further)


def stage_tables(results: Sequence[Result], caption: str) -> list[PaperTable]:
    """Win rates in test games at the end of each stage before the last, if any; stages are columns."""
    title = f"{caption}: stage by stage"
    of_stages = {line: _get_stage(line) for line in results if line.metric == "win_rate"}
    cells = [
        dataclasses.replace(line, metric=stage, world="", condition="") for line, stage in of_stages.items() if stage
    ]
    stages = list(dict.fromkeys(cell.metric for cell in cells))
    return [make_table(cells, title, stages)] if stages else []


def _get_stage(line: Result) -> str:
    """The stage after which a line was measured in test games; empty for any other line."""
    condition, stage = line.condition_and_stage
    is_plain = not condition and line.method not in REFERENCES
    is_of_test = line.world.startswith(f"{UNSEEN}_") and not line.world.startswith(NEW_NAMES)
    return stage if is_plain and is_of_test else ""
