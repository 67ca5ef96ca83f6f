"""Checks that a world keeps the contract of `rl_envs.core.world.World`: `check_world` and `check_registered`.

They are stricter than the checks of other libraries, which look at one step or only warn: they play whole episodes with
their final observations, in other processes and runners, and check snapshots, ownership of arrays, and refusals. They
need NumPy only. `rl_envs.testing.wrappers` checks the wrappers.
"""

import functools
from typing import Any

from rl_envs.core.world import World
from rl_envs.registry import make
from rl_envs.testing import contract, determinism, refusals
from rl_envs.testing.determinism import Recipe
from rl_envs.testing.recorder import WorldFactory, digest, play

__all__ = ["check_registered", "check_world"]

MAX_GAME_STEPS = 600
"""Default length of a check's game in env steps, if the time limit is longer."""

CHANCE_WORLDS, CHANCE_ENV_STEPS = 16, 20
"""So many worlds show within so many env steps whether they share their chance."""


def check_world(
    make_world: WorldFactory,
    *,
    recipe: Recipe | None = None,
    num_worlds: int = 4,
    seed: int = 7,
    env_steps: int | None = None,
) -> None:
    """Play worlds in many ways and check them against the contract.

    Args:
        make_world: builds worlds from `num_worlds` and `first_world`: a world's class, or a `functools.partial`.
        recipe: `("package.module:callable", keyword arguments)` with which a second process builds the same worlds;
            without it that comparison is left out.
        num_worlds: B, at least 2.
        seed: seed of the games.
        env_steps: length of each game; by default beyond the time limit, so that episodes end and new ones begin.

    Raises:
        AssertionError: one sentence about the first broken rule.
    """
    world = make_world(num_worlds)
    contract.check_declaration(world)
    refusals.check_not_begun(world)
    env_steps = env_steps or min(world.max_episode_steps + 3, MAX_GAME_STEPS)
    _check_contract(world, seed, env_steps)
    refusals.check_refusals(make_world(num_worlds), seed)
    refusals.check_render(make_world(num_worlds), seed)
    determinism.check_no_global_chance(make_world(num_worlds), seed, env_steps)
    world = make_world(num_worlds)
    record = determinism.whole_game(world, seed, env_steps)
    determinism.check_tables(world, make_world(num_worlds))
    determinism.check_seed(make_world, record, seed)
    determinism.check_chance(make_world(CHANCE_WORLDS), seed, min(env_steps, CHANCE_ENV_STEPS))
    determinism.check_neighbours(make_world, record, seed)
    determinism.check_ownership(make_world(num_worlds), record, seed)
    determinism.check_endings(make_world(num_worlds), make_world(num_worlds), seed, env_steps)
    determinism.check_undecided_actions(make_world(num_worlds), record, seed)
    determinism.check_snapshot(make_world, make_world(num_worlds), seed, env_steps // 2, env_steps - env_steps // 2)
    refusals.check_states(make_world(num_worlds), seed)
    if recipe is not None:
        determinism.check_other_process(recipe, digest(world, record), num_worlds, seed, env_steps)


def check_registered(world_id: str, *, env_steps: int | None = None, **arguments: Any) -> None:
    """`check_world` for a registered world, the second process included.

    Raises AssertionError with one sentence about the first broken rule.
    """
    recipe = ("rl_envs.registry:make", {"world_id": world_id, **arguments})
    check_world(functools.partial(make, world_id, **arguments), recipe=recipe, env_steps=env_steps)


def _check_contract(world: World, seed: int, env_steps: int) -> None:
    observations = world.reset(seed)
    contract.check_observations(world, observations, world.num_worlds, "after reset")
    play(world, env_steps, listeners=[contract.EpisodeCheck(world, observations)])
