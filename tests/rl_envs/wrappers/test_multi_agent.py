"""Environments of RLlib's `MultiAgentEnv` API: agents with an observation act next."""

import numpy as np
import pytest
from gymnasium import spaces
from ray.rllib.env.multi_agent_env import MultiAgentEnv

from rl_envs.core.errors import CustomEnvError
from rl_envs.wrappers import from_gymnasium, from_pettingzoo

AGENTS = ["left", "right"]


class Count(MultiAgentEnv):
    """Each agent sees its number of actions and is paid for its action; agents take turns, or act together."""

    def __init__(self, in_turn=False, ends="terminated", **left_out):
        super().__init__()
        self.agents = self.possible_agents = AGENTS
        self.observation_spaces = dict.fromkeys(AGENTS, spaces.Box(0, 9, (1,), np.float32))
        self.action_spaces = dict.fromkeys(AGENTS, spaces.Discrete(3))
        self.in_turn, self.ends, self.left_out = in_turn, ends, left_out

    def ready(self):
        return AGENTS[self.steps % 2 :][:1] if self.in_turn else AGENTS

    def seen(self):
        return {name: np.array([self.count[name]], np.float32) for name in self.ready()}

    def reset(self, *, seed=None, options=None):
        self.steps, self.count = 0, dict.fromkeys(AGENTS, 0)
        return self.seen(), {}

    def step(self, action_dict):
        assert list(action_dict) == self.ready()
        self.steps += 1
        for name in action_dict:
            self.count[name] += 1
        ended = self.steps == 4
        flags = [{"__all__": ended and self.ends == kind} for kind in ("terminated", "truncated")]
        flags[0].pop(self.left_out.get("flag"), None)
        return self.seen(), {name: float(one) for name, one in action_dict.items()}, *flags, {"__common__": {"a": 1}}


@pytest.mark.parametrize("ends", ["terminated", "truncated"])
def test_agents_that_are_all_observed_at_reset_act_together(ends):
    world = from_pettingzoo(lambda: Count(ends=ends), 2)
    obs = world.reset(0)
    assert "decides" not in obs and obs["observation"].tolist() == [[[0], [0]]] * 2
    for _ in range(4):
        obs, reward, *ended, info = world.step(np.array([[1, 2], [0, 1]]))
        assert reward.tolist() == [[1, 2], [0, 1]]
    assert [one.all() for one in ended] == [ends == "terminated", ends == "truncated"]
    assert info["final_obs"]["observation"].tolist() == [[[4], [4]]] * 2


def test_agents_that_are_not_all_observed_at_reset_take_turns_and_see_their_last_observation():
    world = from_pettingzoo(lambda: Count(in_turn=True))
    obs = world.reset(0)
    shown = []
    for _ in range(3):
        shown.append((obs["decides"][0].tolist(), obs["observation"][0, :, 0].tolist()))
        obs, reward, *_ = world.step(np.array([[1, 2]]))
        assert reward[0].tolist() == [float(decided) * paid for decided, paid in zip(shown[-1][0], (1, 2), strict=True)]
    assert shown == [([True, False], [0, 0]), ([False, True], [0, 0]), ([True, False], [1, 0])]


@pytest.mark.parametrize(
    ("build", "named"),
    [
        (lambda: from_pettingzoo(lambda: Count(flag="__all__")), ["Count", "'__all__'"]),
        (lambda: from_gymnasium(Count), ["Count", "from_pettingzoo"]),
    ],
)
def test_multi_agent_environments_are_refused_without_the_end_of_the_episode_and_as_one_agent(build, named):
    with pytest.raises(CustomEnvError) as error:
        world = build()
        world.reset(0)
        world.step(np.zeros((1, 2), int))
    assert all(one in str(error.value) for one in named)
