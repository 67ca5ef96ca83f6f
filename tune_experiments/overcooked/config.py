"""Every setting of a run in Overcooked, with the laptop's values as defaults.

Constants of the published self-play agents are the preset `paper`. How settings become a trial is `trials.py`.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from typing import Any

from rl_envs import make
from rl_envs.overcooked.layouts import LAYOUTS
from rl_envs.overcooked.world import MAX_EPISODE_STEPS, Overcooked
from rl_models.networks.grid_cnn import GridCnnConfig
from rl_models.rllib.workers import Workers
from tune_experiments.experiment.checks import check_above, check_at_least, check_between, check_some, check_workers
from tune_experiments.experiment.errors import UserError


@dataclass(frozen=True)
class ShapingSettings:
    """Weight of the shaped points in the rewards, in rows with shaping: 1, falling linearly to 0."""

    share: float = 0.6
    """When it reaches 0, as a share of the budget."""
    env_steps: int = 0
    """The same in env steps of the whole run; 0: use the share."""


@dataclass(frozen=True)
class LearnerSettings:
    """PPO."""

    learning_rate: float = 1e-3
    """Adam's, at the start."""
    final_learning_rate_share: float = 0.1
    """Of the learning rate, reached linearly at the end of the budget."""
    gamma: float = 0.98
    """Discount of an env step."""
    lambda_: float = 0.9
    """Of GAE."""
    clip: float = 0.2
    """Clipping range."""
    epochs: int = 4
    """Passes over each batch."""
    minibatches: int = 4
    """Of whole fragments in a pass."""
    value_weight: float = 0.05
    """Of the squared value error."""
    entropy_weight: float = 0.05
    """Of the entropy bonus, at the start."""
    final_entropy_weight: float = 0.01
    """The same after `entropy_env_steps`."""
    entropy_env_steps: int = 0
    """Env steps in which the bonus falls; 0: the whole budget."""
    clip_gradient: float = 1.0
    """Largest norm of all gradients together."""
    is_joint: bool = False
    """One ratio of joint probabilities; False: each chef's own ratio and advantage, as published."""


@dataclass(frozen=True)
class OvercookedConfig:
    """One run in one kitchen."""

    methods: tuple[str, ...] = ("selfplay", "selfplay_sparse")
    """Rows of the table."""
    layout: str = "cramped_room"
    """Which of the five kitchens."""
    population: str = ""
    """Run folder of this experiment whose row `selfplay` gives row `fcp` its partners."""
    network: GridCnnConfig = field(
        default_factory=lambda: GridCnnConfig(channels=(16, 16, 16), first_kernel=3, hidden_sizes=(64, 64))
    )
    """Widths of the chefs' network."""
    shaping: ShapingSettings = ShapingSettings()
    """In rows with shaping."""
    learner: LearnerSettings = LearnerSettings()
    """For all rows."""
    workers: Workers = field(default_factory=lambda: Workers(worlds_per_runner=32, fragment_length=50))
    """Processes and worlds of a trial."""
    max_episode_steps: int = MAX_EPISODE_STEPS
    """Env steps of an episode, in training and in tests."""
    budget_env_steps: int = 600_000
    """Joint steps of training."""
    validations: int = 10
    """Of a run: points of the curve of rewards."""
    valid_episodes: int = 32
    """Of each."""
    checkpoints: int = 10
    """Of a run."""
    test_episodes: int = 100
    """Behind the table's numbers."""

    def __post_init__(self) -> None:
        """Refuse numbers that no run can have."""
        check_some(self, "methods")
        if self.layout not in LAYOUTS:
            raise UserError(f"--layout must be one of {', '.join(LAYOUTS)}, not {self.layout!r}")
        if self.population:  # trials run, continue and are evaluated in other folders
            object.__setattr__(self, "population", os.path.abspath(os.path.expanduser(self.population)))
        check_at_least(1, self, "max_episode_steps", "budget_env_steps", "validations", "checkpoints")
        check_at_least(1, self, "valid_episodes", "test_episodes", "learner.epochs", "learner.minibatches")
        check_workers(self)
        check_some_widths(self.network)
        check_at_least(0, self, "shaping.env_steps", "learner.entropy_env_steps", "learner.entropy_weight")
        check_at_least(0, self, "learner.final_entropy_weight", "learner.value_weight")
        check_above(0, self, "learner.learning_rate", "learner.clip", "learner.clip_gradient", "shaping.share")
        check_between(0, 1, self, "learner.gamma", "learner.lambda_", "learner.final_learning_rate_share")

    @property
    def num_worlds(self) -> int:
        """Worlds that are played at once in training."""
        return max(self.workers.runners, 1) * self.workers.worlds_per_runner

    @property
    def shaping_steps(self) -> int:
        """Env steps of each world until the shaped points weigh nothing."""
        total = self.shaping.env_steps or self.shaping.share * self.budget_env_steps
        return max(1, math.ceil(total / self.num_worlds))


def check_some_widths(network: GridCnnConfig) -> None:
    """Refuse a network that cannot be built.

    Raises:
        UserError: no layers, a width below 1 or an even kernel.
    """
    for name in ("channels", "hidden_sizes"):
        widths = getattr(network, name)
        if not widths or min(widths) < 1:
            raise UserError(
                f"--network.{name.replace('_', '-')} must be one or more widths of at least 1, not {widths}"
            )
    if network.first_kernel < 1 or network.first_kernel % 2 == 0:
        raise UserError(f"--network.first-kernel must be an odd number, not {network.first_kernel}")


def make_world(config: OvercookedConfig, num_worlds: int = 1, first_world: int = 0, **changes: Any) -> Overcooked:
    """Kitchens of a run, without shaping unless `changes` says so.

    Args:
        config: layout and horizon.
        num_worlds: B.
        first_world: number of the first one.
        changes: further arguments of the world.
    """
    world = make("overcooked-v0", num_worlds, first_world=first_world, **arguments_of(config) | changes)
    assert isinstance(world, Overcooked)
    return world


def arguments_of(config: OvercookedConfig) -> dict[str, Any]:
    """What a run says of all its kitchens."""
    return {"layout": config.layout, "max_episode_steps": config.max_episode_steps}
