"""From settings to one training run in Overcooked. A row says what it has of its own; everything else is shared.

A further row (another population, another team) is a `Row` that an experiment hands to `plan_of`.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rl_envs.overcooked.words import ACTIONS
from rl_models.algorithms.objective import Objective, Ppo
from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.policy import TeamPolicy
from rl_models.schedule import Schedule
from rl_models.teams.grid_cnn_team import grid_cnn_team
from tune_experiments.experiment.errors import UserError
from tune_experiments.experiment.plan import TrialPlan
from tune_experiments.overcooked.config import OvercookedConfig, arguments_of, make_world
from tune_experiments.overcooked.evaluation import validate
from tune_experiments.overcooked.partners import KitchenWithPartners
from tune_experiments.overcooked.population import load_population


def self_play_team(config: OvercookedConfig, seed: int) -> TeamPolicy:
    """Two chefs with the same weights, who act and value apart."""
    world = make_world(config)
    view = world.observation_spec["lossless"].shape
    return grid_cnn_team(config.network, world.num_agents, (view[0], view[1], view[2]), len(ACTIONS), seed)


def ppo(config: OvercookedConfig) -> Ppo:
    """The loss of all rows that learn by PPO."""
    learner = config.learner
    falls = learner.entropy_env_steps or config.budget_env_steps
    return Ppo(
        gamma=learner.gamma,
        lambda_=learner.lambda_,
        clip=learner.clip,
        epochs=learner.epochs,
        minibatches=learner.minibatches,
        value_weight=learner.value_weight,
        entropy_weight=Schedule.linear(learner.entropy_weight, learner.final_entropy_weight, falls),
        is_joint=learner.is_joint,
    )


@dataclass(frozen=True, kw_only=True)
class Row:
    """What one row of a table has of its own.

    Attributes:
        is_shaped: whether it is paid for shaped points in training.
        build_policy: `(config, seed)`, the team with its initial weights.
        objective: `(config)`, its loss.
        world: further arguments of its training worlds.
        make_world: `(config, num_worlds, first_world, **arguments)`, its training worlds.
        make_algorithm: `(config, plan)`, who trains; RLlib's algorithm where none is named.
    """

    is_shaped: bool = True
    build_policy: Callable[[Any, int], TeamPolicy] = self_play_team
    objective: Callable[[Any], Objective] = ppo
    world: Mapping[str, Any] = field(default_factory=dict)
    make_world: Callable[..., Any] = make_world
    make_algorithm: Callable[[Any, TrialPlan], Any] | None = None


def make_world_with_partners(
    config: OvercookedConfig,
    num_worlds: int = 1,
    first_world: int = 0,
    partners: Sequence[TeamPolicy] | None = None,
    **arguments: Any,
) -> KitchenWithPartners:
    """Kitchens to learn in beside a population; it is read from its run where no partners are given."""
    cooks = partners or _partners_of(config)
    return KitchenWithPartners(num_worlds, first_world, partners=cooks, **arguments_of(config) | arguments)


def _partners_of(config: OvercookedConfig) -> list[TeamPolicy]:
    return [partner.team for partner in load_population(config)]


def _algorithm_with_partners(config: OvercookedConfig, trial: TrialPlan) -> Any:
    """Read the population once, in the process that leads the trial; env runners get it with their worlds."""
    from rl_models.rllib.algorithm import TeamAlgorithm  # Ray is needed only where RLlib trains

    make_world = functools.partial(trial.make_world, partners=_partners_of(config))
    return TeamAlgorithm(dataclasses.replace(trial, make_world=make_world))


ROWS = {
    "selfplay": Row(),
    "selfplay_sparse": Row(is_shaped=False),
    "fcp": Row(make_world=make_world_with_partners, make_algorithm=_algorithm_with_partners),
}


def plan(config: OvercookedConfig, method: str, seed: int) -> TrialPlan:
    """One of `ROWS` with one seed.

    Raises:
        UserError: no row is called so.
    """
    if method not in ROWS:
        raise UserError(f"--methods must be some of {', '.join(ROWS)}, not {method!r}")
    return plan_of(config, ROWS[method], seed)


def plan_of(config: OvercookedConfig, row: Row, seed: int) -> TrialPlan:
    """A row with one seed."""
    shaping: dict[str, Any] = {"shaping": 1.0, "shaping_steps": config.shaping_steps} if row.is_shaped else {}
    return TrialPlan(
        make_world=functools.partial(row.make_world, config, **shaping, **row.world),
        build_policy=functools.partial(row.build_policy, config, seed),
        objective=row.objective(config),
        optimiser=_optimiser(config),
        workers=config.workers,
        seed=seed,
        budget_env_steps=config.budget_env_steps,
        validate_every_env_steps=math.ceil(config.budget_env_steps / config.validations),
        checkpoint_every_env_steps=math.ceil(config.budget_env_steps / config.checkpoints),
        validate=functools.partial(validate, config),
        kept_checkpoints=config.checkpoints + 1,  # partners of three levels are chosen among them
        make_algorithm=row.make_algorithm and functools.partial(row.make_algorithm, config),
    )


def _optimiser(config: OvercookedConfig) -> OptimiserSettings:
    learner, start = config.learner, config.learner.learning_rate
    rate = Schedule.linear(start, start * learner.final_learning_rate_share, config.budget_env_steps)
    return OptimiserSettings(learning_rate=rate, epsilon=1e-8, clip=learner.clip_gradient)
