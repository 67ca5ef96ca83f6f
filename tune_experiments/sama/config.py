"""Every setting of a run of SAMA in Overcooked, with the laptop's values as defaults.

The paper's constants are the preset `paper`; docs/papers/sama.md says where it gives none. How settings become a trial
is `trials.py`.
"""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt

from rl_envs.overcooked.layouts import LAYOUTS
from rl_envs.overcooked.world import MAX_EPISODE_STEPS
from rl_models.algorithms.learner_config import LearnerConfig
from rl_models.algorithms.optimiser import UnitInterval
from rl_models.chat.chat_settings import ChatSettings
from rl_models.networks.sama import SamaNetworkConfig
from rl_models.planners.rewards import RewardSource
from rl_models.rllib.workers import Workers
from rl_models.text.choice import AUTO, WORDS, TextEncoderConfig
from tune_experiments.core.checks import check_some
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.training_config import ExperimentConfig
from tune_experiments.overcooked.config import learner_config

MOST_REFLECTIONS = 3
RULES = ("offline", "noisy")
"""Planners that are no language model."""
RowName: TypeAlias = Literal["sama", "blind", "predicate", "code", "mappo", "selfplay"]


@dataclass(frozen=True)
class ModelSettings:
    """The language model behind `--planner openai` and `replay`."""

    name: str = "gpt-4o-mini"
    """Name by which the endpoint knows the model."""
    folder: str = ""
    """Folder of the record of all exchanges with the model, and of transcripts, with one folder within for each
    kitchen: what was asked once is not asked again, and `replay` reads from there. By default it is one in the user's
    cache."""
    concurrency: PositiveInt = 4
    """Number of questions under way at the same time, of all trials together."""
    chat: ChatSettings = field(default_factory=ChatSettings)
    """Bounds of a call, and budget of all trials of a run together; its model and record are not read."""


@dataclass(frozen=True)
class FineTuningSettings:
    """Further training on the states that a trained team meets under the planner."""

    rounds: NonNegativeInt = 0
    """Number of rounds in which the team plays and learns on; 0: never."""
    episodes: PositiveInt = 10
    """Number of episodes played to meet states, in each round."""
    share: PositiveFloat = 0.1
    """Env steps of a round's training as a share of the budget, above 0; they come on top of it."""


@dataclass(frozen=True, kw_only=True)
class SamaConfig(
    ExperimentConfig,
    workers=Workers(worlds_per_runner=64, fragment_length=32),
    budget_env_steps=600_000,
    validate_every_env_steps=60_000,
    checkpoint_every_env_steps=60_000,
    test_episodes=10,
):
    """One run."""

    methods: tuple[RowName, ...] = ("sama", "blind", "mappo", "selfplay")
    """Rows of the table: `sama`; `blind`, the same without being told anything; `predicate` and `code`, the same with
    rewards of that source; `mappo`, the same network that learns the game itself, without text and planner; `selfplay`,
    of overcooked_selfplay."""
    tasks: tuple[str, ...] = ("cramped_room",)
    """Names of the kitchens, each with policies of its own: cramped_room, asymmetric_advantages, coordination_ring,
    forced_coordination and counter_circuit_o_1order."""
    planner: Literal["offline", "noisy", "openai", "replay"] = "offline"
    """Who plans: offline, rules written by hand; noisy, these rules, erring on purpose; openai, a language model behind
    an endpoint; replay, the record of one."""
    noise: Literal["weak", "weaker"] = "weak"
    """How often the noisy planner errs: weak, or weaker, which errs more often."""
    goals: Literal["sama", "deps", "plan4mc"] = "sama"
    """Method that names the goals: sama, deps or plan4mc."""
    reflections: Annotated[int, Field(ge=0, le=MOST_REFLECTIONS)] = MOST_REFLECTIONS
    """Largest number of tries after a round that failed, from 0 to 3, each after a reflection."""
    after_failure: Literal["reflect", "retry"] = field(default="reflect", metadata={"came_later": True})
    """What precedes such a try: reflect, the planner reflects and remembers; retry, the control of reflection, a
    planner with another seed and an empty memory plans anew."""
    random_share: UnitInterval = 0.0
    """Share of the commands, from 0 to 1, that are replaced by random ones in the test."""
    manual: str = ""
    """LaTeX of a paper about the game, from which the planner's model writes the rules that prompts and policies have;
    by default they are the kitchen's own."""
    translates_states: bool = False
    """Whether the planner's model puts states into sentences, with the game's source at hand."""
    extracts_objects: bool = True
    """Whether prompts name the objects and list the valid sub-goals."""
    shots: NonNegativeInt = 1
    """Number of worked examples in a prompt."""
    reward_source: RewardSource = "builtin"
    """Who writes the tests of sub-goals in training: builtin, hand-written; predicate or code, written by the
    planner's model in the language of predicates or in Python."""
    model: ModelSettings = field(default_factory=ModelSettings)
    """The language model of the planners that need one."""
    encoder: TextEncoderConfig = field(default_factory=lambda: TextEncoderConfig(word_features=32))
    """How sentences become vectors: `--encoder.name words`, `auto`, a folder or a hub id."""
    network: SamaNetworkConfig = field(default_factory=SamaNetworkConfig)
    """Widths of the policy's layers and vectors."""
    learner: LearnerConfig = field(
        default_factory=lambda: learner_config(gamma=0.95, value_coef=0.5, entropy_coef=0.03, final_entropy_coef=0.003)
    )
    """How the rows that learn sub-goals learn (PPO)."""
    share: UnitInterval = 0.5
    """Share of the reward, from 0 to 1, that a chef gets when the other has reached its sub-goal; 1 is a team's
    reward."""
    states: PositiveInt = 1_000
    """Number of diverse states with sub-goals to learn from."""
    fine_tuning: FineTuningSettings = FineTuningSettings()
    """Further training of the rows that learn sub-goals."""
    round_steps: PositiveInt = 40
    """Number of env steps after which a round is over, in training and in tests."""
    max_episode_steps: PositiveInt = MAX_EPISODE_STEPS
    """Number of env steps of an episode in tests."""
    valid_episodes: PositiveInt = 200
    """Number of rounds in each validation."""
    is_greedy: bool = False
    """Whether the most likely cells are taken in tests. Chefs in each other's way then stay there until the round is
    over."""

    def __post_init__(self) -> None:
        """Refuse numbers that no run can have."""
        super().__post_init__()
        check_some(self, "tasks")
        for task in self.tasks:
            if task not in LAYOUTS:
                raise UserError(f"--tasks must be some of {', '.join(LAYOUTS)}, not {task!r}")
        if not self.network.channels:
            raise UserError("--network.channels must be one or more widths")
        self._keep_folders()

    def _keep_folders(self) -> None:
        """Make paths absolute: trials run, continue and are evaluated in other folders."""
        name, folder = self.encoder.name, self.encoder.folder
        is_folder = name not in (WORDS, AUTO) and os.path.isdir(name)
        encoder = dataclasses.replace(
            self.encoder, name=_absolute(name) if is_folder else name, folder=_absolute(folder)
        )
        object.__setattr__(self, "encoder", encoder)
        object.__setattr__(self, "manual", _absolute(self.manual))
        object.__setattr__(self, "model", dataclasses.replace(self.model, folder=_absolute(self.model.folder)))


def _absolute(path: str) -> str:
    return os.path.abspath(os.path.expanduser(path)) if path else ""
