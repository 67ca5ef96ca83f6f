"""Every setting of a run of EnDi in RTFM with several agents, with the laptop's values as defaults.

EnDi (2023), sections 5.1 and A.1: stages S1 to S5, each with one more difficulty. `QmixSettings` configures the method
`qmix`, EnDi's reference without language (2023, section 5.3).
"""

import dataclasses
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt

from rl_envs import World
from rl_envs.rtfm.grid import MAX_SIZE, MIN_SIZE
from rl_envs.rtfm.stages import STAGES
from rl_envs.rtfm.world import MAX_AGENTS
from rl_models.algorithms.learner_config import LearnerConfig, OptimiserName, QmixLearnerConfig
from rl_models.configuration import UnitInterval, Unread, fields_but
from rl_models.rllib.workers import Workers
from tune_experiments.core.checks import check_distinct, check_value_precision
from tune_experiments.core.errors import UserError
from tune_experiments.endi.division import (
    PAPER_DIVISIONS,
    DividedRow,
    DivisionSettings,
    check_stack,
    is_divided,
    on_matching,
    unread_division,
)
from tune_experiments.experiment.training_config import StagedExperimentConfig
from tune_experiments.rtfm.config import MatchingRunConfig, NetworkSettings, RtfmTask, learner_config, make_world
from tune_experiments.rtfm.matching_config import MatchingSettings, matching_learner


@dataclass(frozen=True, kw_only=True)
class QmixSettings(QmixLearnerConfig):
    """How `qmix` learns, and its widths; EnDi gives none; other constants of QMIX's paper are named."""

    sees_goal: bool = True
    """Whether observations contain the goal's team as a symbol; the network reads no document."""
    word_features: PositiveInt = 16
    """Width of a symbol's embedding."""
    cell_features: tuple[PositiveInt, PositiveInt] = (32, 64)
    """Widths of the two layers for cells."""
    hidden_size: PositiveInt = 64
    """Width of each agent's memory; QMIX's paper has 64."""
    mixing_hidden_size: NonNegativeInt = 32
    """Width of the mixing network, at least 0; QMIX's paper has 32, and 0 adds values up (VDN)."""
    optimiser: OptimiserName = "adam"
    """Name of the optimiser: adam, or rmsprop, whose alpha is 0.99; QMIX's paper has rmsprop."""
    learning_rate: PositiveFloat = 3e-3
    """Learning rate at the start, above 0; QMIX's paper has 0.0005 throughout."""
    final_learning_rate_share: UnitInterval = 0.1
    """Share of the learning rate, from 0 to 1, to which it falls linearly until the end of the budget."""
    batch_size: PositiveInt = 16
    """Number of fragments in a minibatch; QMIX's paper has 32 episodes."""
    train_every_env_steps: PositiveInt = 16
    """Number of env steps that are played for each minibatch; QMIX's paper plays one episode."""
    update_target_every_updates: PositiveInt = 100
    """Number of optimiser steps between updates of the targets; QMIX's paper has 200 episodes."""


PAPER_QMIX = QmixSettings(
    cell_features=(64, 64),
    optimiser="rmsprop",
    learning_rate=5e-4,
    final_learning_rate_share=1.0,
    batch_size=32,
    train_every_env_steps=20,
    update_target_every_updates=200,
)
"""QMIX's published constants, with 20 env steps for an episode; the encoder of cells is ours."""


MethodName: TypeAlias = Literal[
    "matching",
    "endi_num_matching",
    "endi_dis_matching",
    "endi_dis_weak_modelling_matching",
    "endi_sup_matching",
    "endi_reg_matching",
    "endi_dis_balance_matching",
    "txt2pi",
    "silg",
    DividedRow,
    "qmix",
]
PAPER_METHODS: tuple[MethodName, ...] = ("txt2pi", "silg", *PAPER_DIVISIONS)


@dataclass(frozen=True)
class TeamTask(RtfmTask):
    """The room; a stage sets all other rules."""

    num_agents: Annotated[int, Field(ge=2, le=MAX_AGENTS)] = 2
    """Number of agents, each with a target and an item that beats it."""
    max_episode_steps: PositiveInt = 40
    """Number of env steps after which the game is lost; the paper has 1000."""
    team_loss: Annotated[float, Field(ge=-1, le=0)] | None = -1.0
    """Reward, from -1 to 0, of the agents that did not cause a loss; None: the reward of a normal step, as in the
    paper, with which fleeing pays at first."""


@dataclass(frozen=True, kw_only=True)
class EndiRtfmConfig(
    MatchingRunConfig,
    StagedExperimentConfig,
    # With fewer env steps an update, agents first learn to avoid monsters.
    workers=Workers(worlds_per_runner=128, fragment_length=32),
    first_stage_env_steps=250_000,
    budget_env_steps=2_000_000,
    validate_every_env_steps=50_000,
    matching=MatchingSettings(
        word_features=64,
        learner=matching_learner(joint_ratio=False),
        workers=Workers(worlds_per_runner=128, fragment_length=16),
        budget_env_steps=250_000,
    ),
):
    """One run."""

    methods: tuple[MethodName, ...] = PAPER_METHODS
    """Methods to train."""
    stages: tuple[int, ...] = (1,)
    """Numbers of the stages S1 to S5, from 1 to 5, trained one after another with the same team: 1 2 3 4 5 for all."""
    task: TeamTask = field(default_factory=TeamTask)
    """Room and number of agents; each stage sets the other rules of the game."""
    network: NetworkSettings = field(
        default_factory=lambda: NetworkSettings(first_summary="max_of_linear", activation="relu")
    )
    """Widths of all networks; the first summary and the features are those of the paper's text, with which txt2pi
    learns to read sooner."""
    goal_channels: tuple[PositiveInt, ...] = (8, 4)
    """Number of channels of the layers that ground the goal, in methods with the entity divider; the paper has 16 4."""
    divided_features: NonNegativeInt = 64
    """Width of the features that the heads receive in methods with the entity divider; 0: the pooled grid, as in the
    paper, which has 64 channels."""
    learner: LearnerConfig = field(
        default_factory=lambda: learner_config(joint_ratio=False, entropy_coef=0.015, num_minibatches=16)
    )
    """Learner of all methods except `qmix` and those of the mention-matching reader."""
    division: DivisionSettings = field(default_factory=DivisionSettings)
    """How methods with the entity divider differ from their backbones."""
    matching_goal_features: PositiveInt = 16
    """Width of the states that ground the goal, in methods with the entity divider and the mention-matching reader."""
    qmix: QmixSettings = field(default_factory=QmixSettings)
    """How the method `qmix` learns, and its widths."""
    annealing_env_steps: NonNegativeInt = 0
    """Number of env steps in which a stage's learning rate falls linearly towards 0; a shorter stage ends earlier;
    0: it falls to the learner's `final_learning_rate_share`."""
    test_sizes: tuple[Annotated[int, Field(ge=MIN_SIZE, le=MAX_SIZE)], ...] = (10,)
    """Sides in cells of the larger rooms for additional tests of unseen assignments."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_distinct(self, "stages")
        check_value_precision(self, "qmix.precision")
        if list(self.stages) != sorted(set(self.stages) & set(range(1, len(STAGES) + 1))):
            raise UserError(f"--stages must be some of 1 to {len(STAGES)} in this order, not {self.stages}")
        check_stack(self, "goal_channels")

    def unread_by(self, method: str) -> Unread:
        """The same, settings of other methods, what the stages set, and the budget of stages that there are not."""
        found = super().unread_by(method)
        of_rules = set.intersection(*({*STAGES[f"S{stage}"]} for stage in self.stages)) - {"size"}
        found |= dict.fromkeys((f"task.{name}" for name in sorted(of_rules)), "give --stages")
        if len(self.stages) == 1:
            found["budget_env_steps"] = "give --first-stage-env-steps, or more --stages"
        found |= unread_division(method)
        divides, matches = is_divided(method), on_matching(method)
        if not divides or matches:
            found |= dict.fromkeys(("goal_channels", "divided_features"), "train endi_dis, or leave it out")
        if not (divides and matches):
            found["matching_goal_features"] = "train endi_dis_matching, or leave it out"
        if method == "qmix":
            found |= fields_but(self, "learner", "gamma", "give flags of the group --qmix")
            found |= dict.fromkeys(("network", "annealing_env_steps", "division"), "leave it out")
            return found
        found["qmix"] = "train qmix, or leave it out"
        if method == "silg":
            of_txt2pi = ("goal_hidden_size", "inventory_hidden_size", "first_summary", "activation")
            found |= dict.fromkeys((f"network.{name}" for name in of_txt2pi), "train txt2pi, or leave it out")
        if matches:
            found["annealing_env_steps"] = "give --matching.learner.final-learning-rate-share"
            found["division.shares_network"] = "give --matching.shares-network"
            found["first_stage_env_steps"] = "give --matching.budget-env-steps"
            if len(self.stages) == 1:
                found["budget_env_steps"] = "give --matching.budget-env-steps, or more --stages"
        elif self.annealing_env_steps:
            found["learner.final_learning_rate_share"] = "set --annealing-env-steps to 0"
        return found

    @property
    def last_stage(self) -> int:
        """Number of the stage in which training ends."""
        return self.stages[-1]

    def learner_for(self, env_steps: int) -> LearnerConfig:
        """The learner of a stage of so many env steps."""
        if not self.annealing_env_steps:
            return self.learner
        share = max(0.0, 1 - env_steps / self.annealing_env_steps)
        return dataclasses.replace(self.learner, final_learning_rate_share=share)


def make_task(config: EndiRtfmConfig, stage: int) -> TeamTask:
    """The run's room with a stage's rules."""
    return dataclasses.replace(config.task, **{**STAGES[f"S{stage}"], "size": config.task.size})


def make_stage(config: EndiRtfmConfig, stage: int, num_worlds: int = 1, first_world: int = 0, **changes: str) -> World:
    """Worlds of a stage; `changes` override arguments, such as `split`."""
    return make_world(make_task(config, stage), num_worlds, first_world, **changes)
