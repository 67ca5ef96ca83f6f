"""Every setting of a run of RED on MiniRTS, with the laptop's values as defaults, except those of cloning.

Presets are in `red_minirts.py`; `paper` has the published values where there are any.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pydantic import NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from rl_envs.minirts.opponents import get_opponent
from rl_models.algorithms.learner_config import AlgorithmConfig
from rl_models.configuration import STAYS, UnitInterval, Unread, fields_of_others
from rl_models.networks.network_config import CommandedUnitsConfig
from rl_models.rllib.workers import Workers
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.training_config import ExperimentConfig

if TYPE_CHECKING:
    from tune_experiments.red.commanded_rts import CommandedRts

RedRow = Literal["red", "rl", "scratch"]
Commander = Literal["oracle", "fair", "none", "random", "adversarial"]
OPPONENTS = tuple(f"medium_{name}" for name in ("spearman", "swordman", "cavalry", "dragon", "archer", "catapult"))


@dataclass(frozen=True, kw_only=True)
class CloningSettings:
    """Behaviour cloning of scripts, with template commands for their aims; no human data."""

    frames: PositiveInt = 4_000
    """Number of decisions of the scripts that are cloned."""
    distillation_frames: PositiveInt = 4_000
    """Number of decisions of the scripts, and as many of own won games, in a distillation."""
    silent_share: UnitInterval = 1 / 3
    """Share of the aims, from 0 to 1, that are not given as a command."""
    worlds: PositiveInt = 8
    """Number of games that are played at once to gather decisions."""
    num_epochs: PositiveInt = 6
    """Number of epochs over the decisions before reinforcement learning."""
    distillation_epochs: PositiveInt = 1
    """Number of epochs over the decisions in a distillation, half of them of own won games."""
    frequency_power: UnitInterval = 1.0
    """Exponent, from 0 to 1, of a command kind's frequency: the sampling weight of a kind is the result; 1 draws
    each decision once, 0 all kinds equally often."""
    batch_size: PositiveInt = 64
    """Number of decisions in a minibatch."""
    learning_rate: PositiveFloat = 1e-3
    """Learning rate of Adam, constant, above 0."""


@dataclass(frozen=True, kw_only=True)
class RedLearnerConfig(AlgorithmConfig):
    """PPO as in RED and SAMA; the learning rate rises linearly from 0, then falls linearly to 0."""

    gamma: UnitInterval = 0.999
    """Discount of a decision, from 0 to 1."""
    value_coef: NonNegativeFloat = 0.25
    """Weight of the squared value error in the loss, at least 0; the release has 0.5 of half the error."""
    value_clip_range: NonNegativeFloat = 0.2
    """Distance from the old value at which the value error is clipped, at least 0; 0 sets no limit (PPO)."""
    max_grad_norm: NonNegativeFloat = 0.5
    """Maximum global gradient norm, at least 0; 0 clips no gradient."""
    gradient_accumulation_steps: PositiveInt = 4
    """Number of parts of a minibatch whose gradients are summed before a step; memory holds one part at a time."""
    peak_learning_rate: PositiveFloat = 2e-4
    """Learning rate after the warm-up, above 0."""
    warm_up_share: UnitInterval = 0.2
    """Share of all updates, from 0 to 1, in which the learning rate rises."""
    value_learning_rate: PositiveFloat = 1e-3
    """Learning rate of the value head while only it is trained, above 0."""
    entropy_coef: UnitInterval = 0.01
    """Weight of the entropy bonus, from 0 to 1."""
    used_heads_only: bool = True
    """Whether an action's probability includes only the factors that have an effect; the released code includes all."""

    def unread_by(self, method: str) -> Unread:
        """The same, and flags of a fall of the learning rate that is always RED's."""
        of_fall = ("final_learning_rate_share", "schedule_optimiser_steps")
        return super().unread_by(method) | dict.fromkeys(of_fall, "RED's rate always falls to 0, leave it out")


@dataclass(frozen=True, kw_only=True)
class RedConfig(
    ExperimentConfig,
    validate_every_env_steps=64_000,
    checkpoint_every_env_steps=16_000,
    valid_episodes=24,
    test_episodes=120,
):
    """One run of RED; an env step is a decision, and validation is with the oracle and without commands."""

    methods: tuple[RedRow, ...] = ("red", "rl")
    """Methods to train: red, cloning, then PPO and distillation alternately; rl, cloning, then PPO only; scratch, PPO
    only."""
    num_agents: PositiveInt = 1
    """Number of agents in the team, 1, 2 or 3."""
    opponents: tuple[str, ...] = OPPONENTS
    """Names of the opponents, of which each game draws one: simple, medium, strong, medium_TYPE, medium_two,
    medium_three."""
    network: CommandedUnitsConfig = field(default_factory=lambda: CommandedUnitsConfig().quarter())
    """Widths of the network; a quarter of the published ones on a laptop."""
    cloning: CloningSettings = CloningSettings()
    """How the team clones scripts and its own won games."""
    learner: RedLearnerConfig = RedLearnerConfig()
    """PPO settings of all methods."""
    rl_commander: Commander = "none"
    """Commander in reinforcement learning: none as in RED; oracle, fair, random or adversarial."""
    iterations: PositiveInt = 2
    """Number of rounds of reinforcement learning, each followed by a distillation in the method red."""
    budget_env_steps: PositiveInt = field(default=640_000, metadata=STAYS)  # divided among the rounds
    """Number of decisions of reinforcement learning, of all its rounds together."""
    value_updates: PositiveInt = 10
    """Number of PPO updates that train only the value head, before the first round."""
    random_share: UnitInterval = 1.0
    """Share of decisions, from 0 to 1, at which the random commander gives a command."""
    workers: Workers = field(default_factory=lambda: Workers(worlds_per_runner=32, fragment_length=100))
    """Processes and worlds of a trial."""
    max_episode_steps: PositiveInt = 256
    """Number of decisions after which a game is truncated; tests count it as a draw, training bootstraps its value."""
    test_seed: NonNegativeInt = 42
    """Seed of the test games."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.num_agents > 3:
            raise UserError(f"--num-agents must be 1, 2 or 3, not {self.num_agents}")
        if not self.opponents:
            raise UserError("--opponents must name at least one opponent, such as medium_spearman")
        for name in self.opponents:
            try:
                get_opponent(name)
            except ValueError as error:
                raise UserError(f"--opponents: {error}") from error

    def unread_by(self, method: str) -> Unread:
        """Settings of stages that the method does not have."""
        readers: dict[str, tuple[str, ...]] = {
            **dict.fromkeys(("cloning", "value_updates", "learner.value_learning_rate"), ("red", "rl")),
            **dict.fromkeys(("cloning.distillation_frames", "cloning.distillation_epochs"), ("red",)),
        }
        return fields_of_others(method, readers)

    @property
    def updates(self) -> int:
        """PPO updates of one round, at least one."""
        return max(1, self.budget_env_steps // (self.iterations * self.workers.env_steps_of_update))

    @property
    def game(self) -> dict[str, Any]:
        """Arguments of all worlds of the run."""
        return {
            "agents_per_side": self.num_agents,
            "opponents": self.opponents,
            "max_episode_steps": self.max_episode_steps,
        }


def make_world(
    config: RedConfig, num_worlds: int = 1, first_world: int = 0, commander: str | None = None, **changes: Any
) -> CommandedRts:
    """Worlds of a run, by default with the commander of reinforcement learning."""
    from tune_experiments.red.commanded_rts import CommandedRts

    speaker = config.rl_commander if commander is None else commander
    return CommandedRts(num_worlds, first_world, commander=speaker, share=config.random_share, **config.game | changes)
