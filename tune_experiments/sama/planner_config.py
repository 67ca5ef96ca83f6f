"""Settings of the planner, which all games have in common: who plans, and what is in its prompts."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeVar

from pydantic import Field, NonNegativeInt, PositiveInt

from rl_models.chat.chat_settings import ChatSettings
from rl_models.configuration import MAY_CHANGE, UnitInterval
from rl_models.planners.code_index import CodeIndex
from rl_models.planners.domain import Domain
from rl_models.planners.rewards import RewardSource
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.training_config import ExperimentConfig

MAX_REFLECTIONS = 3
RULES = ("offline", "noisy")
"""Planners that are no language model."""


@dataclass(frozen=True)
class PlannedGame:
    """One game under the planner.

    Attributes:
        name: common name, for questions about papers.
        domain: words and rules.
        map: text of the map, below a manual that was written from a paper.
        code: source code of the game.
    """

    name: str
    domain: Domain
    map: str
    code: Callable[[], CodeIndex]


@dataclass(frozen=True)
class ModelSettings:
    """The language model behind `--planner openai` and `replay`."""

    name: str = "gpt-4o-mini"
    """Name by which the endpoint knows the model."""
    folder: str = ""
    """Folder of the record of all exchanges with the model, and of transcripts, with one folder within for each
    kitchen: what was asked once is not asked again, and `replay` reads from there. By default it is one in the user's
    cache."""
    concurrency: PositiveInt = field(default=4, metadata=MAY_CHANGE)
    """Number of questions under way at the same time, of all trials together."""
    chat: ChatSettings = field(default_factory=ChatSettings)
    """Bounds of a call, and budget of all trials of a run together; its model and record are not read."""


@dataclass(frozen=True, kw_only=True)
class PlannerConfig(ExperimentConfig):
    """One run under a planner."""

    planner: Literal["offline", "noisy", "openai", "replay"] = "offline"
    """Planner: offline, rules written by hand; noisy, these rules with errors on purpose; openai, a language model
    behind an endpoint; replay, the record of a language model."""
    noise: Literal["weak", "weaker"] = "weak"
    """How often the noisy planner errs: weak, or weaker, which errs more often."""
    goals: Literal["sama", "deps", "plan4mc"] = "sama"
    """Method that names the goals: sama, deps or plan4mc."""
    reflections: Annotated[int, Field(ge=0, le=MAX_REFLECTIONS)] = MAX_REFLECTIONS
    """Largest number of further tries after a failed round, from 0 to 3, each after a reflection."""
    after_failure: Literal["reflect", "retry"] = "reflect"
    """Preparation of such a try: reflect, the planner reflects and remembers; retry, the control of reflection, a
    planner with another seed and an empty memory plans again."""
    random_share: UnitInterval = 0.0
    """Share of the commands, from 0 to 1, that are replaced by random ones in the test."""
    manual: str = ""
    """LaTeX file of a paper about the game; from it the planner's model writes the rules for prompts and policies;
    empty: the game's own rules."""
    translates_states: bool = False
    """Whether the planner's model describes states in sentences, with the game's source code in its prompt."""
    extracts_objects: bool = True
    """Whether prompts name the objects and list the valid sub-goals."""
    shots: NonNegativeInt = 1
    """Number of worked examples in a prompt, at least 0."""
    reward_source: RewardSource = "builtin"
    """Source of the tests of sub-goals: builtin, hand-written; code, written by the planner's model in Python."""
    model: ModelSettings = field(default_factory=ModelSettings)
    """The language model of the planners that need one."""
    record: str = ""
    """Folder in which all questions and answers are saved, those of rules, too; empty: only those of a language model
    are saved, in `--model.folder`."""
    replay: str = ""
    """Folder that --record or --model.folder has written; its answers replace those of the planner."""

    def __post_init__(self) -> None:
        """Refuse numbers that no run can have, and make paths absolute: trials run and continue in other folders."""
        super().__post_init__()
        if self.record and self.replay:
            raise UserError("--record and --replay exclude each other: a replay asks nobody, so there is nothing new")
        asked = "" if self.planner in RULES else self.replay or self.record
        model = dataclasses.replace(self.model, folder=absolute(asked or self.model.folder))
        planner = "replay" if self.replay and self.planner == "openai" else self.planner
        paths = {name: absolute(getattr(self, name)) for name in ("manual", "record", "replay")}
        for name, value in (paths | {"model": model, "planner": planner}).items():
            object.__setattr__(self, name, value)

    def game(self, task: str) -> PlannedGame:
        """The game of a task that the planner plans for."""
        raise NotImplementedError(f"{type(self).__name__} names no game")


Planned = TypeVar("Planned", bound=PlannerConfig)
"""Type of a configuration with a planner."""


def as_loaded(config: Planned) -> Planned:
    """The settings of a stored run whose team is loaded, perhaps a stranger's.

    They name no folder to write, and no endpoint, whose calls cost money: a language model's answers are replayed from
    their record. `sama_retest.py` asks a model again.
    """
    return dataclasses.replace(config, planner=config.planner if config.planner in RULES else "replay", record="")


def absolute(path: str) -> str:
    """A path that means the same in every folder; "" stays."""
    return os.path.abspath(os.path.expanduser(path)) if path else ""
