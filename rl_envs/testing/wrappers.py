"""Checks of a world's wrappers for Gymnasium, PettingZoo and RLlib: `check_wrappers`.

The libraries' own checks run first. Then come the rules that they do not check: whole episodes, exact key sets, agents
in the world's order, spaces that contain the final observations, and refused steps after the end. RLlib is imported
only when it is checked.
"""

import warnings
from typing import Any

from gymnasium.utils.env_checker import check_env, data_equivalence
from pettingzoo.test import parallel_api_test
from pettingzoo.test.seed_test import parallel_seed_test

from rl_envs.registry import make
from rl_envs.testing.contract import require
from rl_envs.wrappers.gymnasium import TeamEnv, TeamVectorEnv
from rl_envs.wrappers.pettingzoo import TeamParallelEnv

_ENV_STEPS = 1000


def check_wrappers(world_id: str, **arguments: Any) -> None:
    """Run every library's own check and our stricter one on all wrappers of a registered world.

    Raises AssertionError with one sentence about the broken rule (or the library's own error).
    """
    check_team_env(TeamEnv(world_id, episode_statistics=False, **arguments))
    check_vector_env(TeamVectorEnv(world_id, num_envs=3, **arguments))
    check_parallel_env(TeamParallelEnv(world_id, **arguments), TeamParallelEnv(world_id, **arguments))
    check_rllib_envs(world_id, arguments)


def check_team_env(env: TeamEnv) -> None:
    """Gymnasium's check, then whole episodes of `TeamEnv`.

    Raises AssertionError with one sentence about the broken rule.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("error", module="gymnasium")
        for harmless in ("alternative render modes", "maximum and minimum values are equal"):
            warnings.filterwarnings("ignore", message=f".*{harmless}.*")
        check_env(env, skip_render_check=not env.single_world.can_render)
    env.action_space.seed(3)
    for seed in (3, None):
        observation, _ = env.reset(seed=seed)
        ended = False
        while not ended:
            require(env.observation_space.contains(observation), "the team's space does not contain its observation")
            observation, _, terminated, truncated, info = env.step(env.action_space.sample())
            ended = terminated or truncated
        require(env.observation_space.contains(observation), "the team's space does not contain a final observation")
        require("metrics" in info, "the last info of an episode lacks its metrics")
        _require_refused(lambda: env.step(env.action_space.sample()))


def check_vector_env(env: TeamVectorEnv) -> None:
    """Episodes of `TeamVectorEnv`: spaces, masks and final observations as Gymnasium documents them.

    Raises AssertionError with one sentence about the broken rule.
    """
    observation, _ = env.reset(seed=3)
    env.action_space.seed(3)
    for _ in range(min(env.world.max_episode_steps + 1, _ENV_STEPS)):
        require(env.observation_space.contains(observation), "the batch's space does not contain its observation")
        observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
        require(reward.shape == (env.num_envs,), "the batch's reward must be [B]")
        done = terminated | truncated
        require(("final_obs" in info) == done.any(), "final_obs must come exactly when a world ended")
        if done.any():
            require((info["_final_obs"] == done).all(), "the mask of final_obs does not name the ended worlds")
            for world in done.nonzero()[0]:
                final = info["final_obs"][world]
                require(env.single_observation_space.contains(final), "a final observation leaves its space")


def check_parallel_env(env: TeamParallelEnv, twin: TeamParallelEnv) -> None:
    """PettingZoo's checks, then whole episodes with exact key sets, equal to those of a second environment.

    Raises AssertionError with one sentence about the broken rule.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("error", module="pettingzoo")
        parallel_api_test(env, num_cycles=_ENV_STEPS)
        twins = iter([env, twin])
        parallel_seed_test(lambda: next(twins), num_cycles=_ENV_STEPS)
    for both in (3, None):
        begun = env.reset(seed=both)
        require(data_equivalence(begun, twin.reset(seed=both), exact=True), "the same seed begins another episode")
        while env.agents:
            live = list(env.agents)
            actions = {name: env.action_space(name).sample() for name in live}
            answers = env.step(actions)
            require(data_equivalence(answers, twin.step(actions), exact=True), "the same seed gives another episode")
            _check_answers(live, answers, env.observation_spaces, env.possible_agents)
            terminated, truncated = answers[2:4]
            left = [name for name in live if not (terminated[name] or truncated[name])]
            require(env.agents == left, f"live agents are {env.agents}, but {left} go on")
        _require_refused(lambda: env.step({}))


def check_rllib_envs(world_id: str, arguments: dict[str, Any]) -> None:
    """RLlib's check, then whole episodes with exact key sets and a correct `__all__`.

    Raises AssertionError with one sentence about the broken rule.
    """
    from rl_envs.wrappers.rllib import TeamGymEnv, TeamMultiAgentEnv, check_by_rllib

    config = {"world": world_id, "arguments": arguments}
    require(TeamGymEnv(config).reset(seed=1), "TeamGymEnv gives RLlib no observation")
    env = TeamMultiAgentEnv(config)
    check_by_rllib(env)
    names = list(make(world_id, **arguments).agents)
    for index, name in enumerate(names):
        env.get_action_space(name).seed(index)
    require(env.possible_agents == names, f"RLlib's agents are {env.possible_agents}, the world's {names}")
    for seed in (3, None):
        observations, _ = env.reset(seed=seed)
        live = list(observations)
        while live:
            answers = env.step({name: env.get_action_space(name).sample() for name in live})
            flags = [dict(answers[2]), dict(answers[3])]
            over = [flag.pop("__all__") for flag in flags]
            _check_answers(live, (*answers[:2], *flags, answers[4]), env.observation_spaces, names)
            live = [name for name in live if not (flags[0][name] or flags[1][name])]
            require(sum(over) == (not live), "`__all__` must be true in one dict exactly when no agent is left")
        _require_refused(lambda: env.step({}))


def _check_answers(live: list[str], answers: Any, observation_spaces: Any, order: list[str]) -> None:
    for kind, answer in zip(("observations", "rewards", "terminated", "truncated", "infos"), answers, strict=True):
        require(list(answer) == live, f"{kind} are for {list(answer)}, but the live agents are {live}")
    require(live == [name for name in order if name in live], f"agents {live} are not in the world's order")
    observations, rewards, terminated, truncated, _ = answers
    for name in live:
        require(observation_spaces[name].contains(observations[name]), f"{name}'s space lacks its observation")
        require(type(rewards[name]) is float, f"{name}'s reward is no float")
        require(not (terminated[name] and truncated[name]), f"{name} both terminated and truncated")


def _require_refused(step: Any) -> None:
    try:
        step()
    except RuntimeError:
        return
    raise AssertionError("an ended environment must refuse step by RuntimeError")
