"""A custom experiment: SYNC against marginal policies in the corridor, from a package outside Concord.

    python -m examples.corridor_experiment                                  # laptop: about a minute
    python -m examples.corridor_experiment --preset smoke                   # a few seconds of training
    python -m tune_experiments examples.corridor_experiment:EXPERIMENT      # the same, by name
    python -m tune_experiments evaluate runs/corridor_laptop --allow examples.corridor_experiment

Methods: `sync` draws the agents' actions from a mixture of three product policies by a shared random stream, `marginal`
samples each agent's independently, `marginal_agreement` adds the agreement loss to PPO's.

The configuration is a frozen dataclass: its fields are the flags, with the docstrings as help. `plan` defines how a
method is trained, `tables` the table's metrics. Everything else (validation, test, curves, videos, checkpoints,
continuing, search, commands) follows.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import NonNegativeFloat

from examples.agreement_loss import AgreementLoss
from examples.corridor import LENGTH
from examples.talking_network import TalkingConfig, talking_team
from rl_envs import World, make
from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.algorithms.ppo import Ppo
from rl_models.rllib.workers import Workers
from rl_models.schedule import Schedule
from tune_experiments import (
    Experiment,
    ExperimentConfig,
    MainComparison,
    PaperTable,
    Result,
    TrialPlan,
    main,
    make_table,
)

COMPONENTS = {"sync": 3, "marginal": 1, "marginal_agreement": 1}


@dataclass(frozen=True, kw_only=True)
class Config(
    ExperimentConfig,
    workers=Workers(worlds_per_runner=32, fragment_length=10),
    budget_env_steps=60_000,
    validate_every_env_steps=6_000,
    checkpoint_every_env_steps=15_000,
    valid_episodes=32,
    test_episodes=200,
):
    """Configuration of a run: the common fields with other defaults, and the fields of this experiment."""

    methods: tuple[Literal["sync", "marginal", "marginal_agreement"], ...] = ("sync", "marginal", "marginal_agreement")
    """Methods to train: sync, marginal, marginal_agreement."""
    network: TalkingConfig = dataclasses.field(default_factory=TalkingConfig)
    """Widths of the network."""
    agreement_weight: NonNegativeFloat = 0.1
    """Weight of the agreement loss in the method marginal_agreement, at least 0."""
    learning_rate: NonNegativeFloat = 1e-2
    """Learning rate of Adam at the start; it falls to a tenth of this at the end of the budget."""
    entropy_coef: NonNegativeFloat = 0.2
    """Weight of the entropy bonus at the start; it falls to 0 at two thirds of the budget. Without it a team that has
    found one door never looks for the other."""


LAPTOP = Config()
SMOKE = dataclasses.replace(
    LAPTOP,
    methods=("sync",),
    budget_env_steps=1_280,
    validate_every_env_steps=640,
    checkpoint_every_env_steps=640,
    test_episodes=16,
)


def make_corridors(num_worlds: int = 1, first_world: int = 0) -> World:
    """Make the world by `package.module:Class`; an id such as `overcooked-v0` works too."""
    return make("examples.corridor:Corridor", num_worlds, first_world=first_world)


class CorridorExperiment(Experiment[Config]):
    """SYNC, marginal policies, and marginal policies with a custom loss."""

    name = "corridor"
    caption = "Two agents carry a sofa out of a corridor"
    presets = {"smoke": SMOKE, "laptop": LAPTOP}
    main = MainComparison("sync", "marginal", "success")

    def plan(self, config: Config, method: str, seed: int, trial_folder: Path | None = None) -> TrialPlan:
        """PPO with a custom network in a custom world."""
        weight = config.agreement_weight if method == "marginal_agreement" else 0.0
        rate = config.learning_rate
        build = functools.partial(talking_team, config.network, COMPONENTS[method], 2, LENGTH + 2, 3, seed)
        return TrialPlan(
            make_world=make_corridors,
            build_policy=build,
            objective=Ppo(
                entropy_coef=Schedule.linear(config.entropy_coef, 0.0, 2 * config.budget_env_steps // 3),
                extra_losses=(AgreementLoss(Schedule.constant(weight)),),
            ),
            optimiser=OptimiserSettings(learning_rate=Schedule.linear(rate, rate / 10, config.budget_env_steps)),
            seed=seed,
            **config.plan_arguments(),
        )

    def tables(self, results: Sequence[Result]) -> Sequence[PaperTable]:
        """One table, made from the rows of results.jsonl."""
        return [make_table(results, self.caption, ("success", "episode_length", "return"))]


EXPERIMENT = CorridorExperiment()

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
