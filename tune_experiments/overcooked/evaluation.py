"""Tests in Overcooked: whole episodes, sampled actions, rewards for served soups only, beside random play.

`reward` is that of papers: 20 a soup, in an episode of 400 env steps.
"""

from rl_envs.core.world import World
from rl_envs.overcooked.words import ACTIONS
from rl_models.policy import TeamPolicy
from rl_models.teams.constant_team import uniform_team
from rl_models.training.evaluation import Evaluation
from tune_experiments.experiment.plan import RANDOM, Episodes, Tested, Tests
from tune_experiments.overcooked.config import OvercookedConfig, make_world

EVALUATION_SEED, VALIDATION_SEED = 400, 401
"""Seeds of test and validation, of the draws of actions for all teams alike. A kitchen has one start and is
deterministic, so validation differs from the test in these draws only."""


def evaluate(config: OvercookedConfig, policy: TeamPolicy) -> Tests:
    """Results for the table: of the team, and of uniform actions."""
    uniform = uniform_team(policy.num_agents, len(ACTIONS))
    played = {Tested(config.task): policy, Tested(config.task, method=RANDOM): uniform}
    return {test: play_team(make_world(config, config.test_episodes), team) for test, team in played.items()}


def validate(config: OvercookedConfig, policy: TeamPolicy) -> Episodes:
    """Validation metrics for the curve of rewards."""
    return play_team(make_world(config, config.valid_episodes), policy, seed=VALIDATION_SEED)


def play_team(
    world: World,
    policy: TeamPolicy,
    is_greedy: bool | None = None,
    draws_noise: bool = True,
    seed: int = EVALUATION_SEED,
) -> Episodes:
    """One episode of each of B kitchens: `soups`, `reward`, `shaped_return` and `length`, [B] each.

    `draws_noise` is as for `Evaluation`; the seed is that of the draws of actions.
    """
    played = Evaluation(world, policy, is_greedy=is_greedy, draws_noise=draws_noise).run(seed)
    reward = played.pop("return")[:, 0]  # the same for both
    return played | {"reward": reward}
