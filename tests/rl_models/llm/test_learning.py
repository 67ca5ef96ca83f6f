"""Identity learning: guests who are told what their friends want take it, by PPO on the action adapter alone."""

import pytest
import torch

from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.algorithms.ppo import Ppo
from rl_models.llm.llm_config import MessageSettings
from rl_models.runtime.added_observations import MESSAGES
from rl_models.schedule import Schedule
from rl_models.training.loop import Learner
from tests.rl_models.llm.small import THINGS, Hints, collector, team


class Told(Hints):
    """The game with a teacher's messages: what the right neighbour wants."""

    writer = None

    def _observe(self, rows):
        seen = super()._observe(rows)
        table = self.writer.from_texts([f"take the {thing}" for thing in THINGS])
        wanted = self.state["wanted"][rows]
        return seen | {MESSAGES: table[torch.roll(torch.from_numpy(wanted), -1, 1).numpy()]}


def right_things(heard):
    """Right things an episode of two guests, mean over the last five of twenty updates."""
    policy = team(messages=MessageSettings(max_tokens=8, heard=heard), normalisation="sum")
    Told.writer = policy.network.writer
    one = collector(16, policy=policy, length=6)
    if heard == "messages":
        one.world = Told(16, max_episode_steps=6)
        one.world.observation_spec[MESSAGES] = None
        one.reset(0)
    learner = Learner(
        policy,
        Ppo(num_epochs=4, num_minibatches=2, gamma=0.0, joint_ratio=False),
        OptimiserSettings(learning_rate=Schedule.constant(1e-2)),
    )
    scores = []
    for _ in range(20):
        learner.update([one.collect()])
        scores.append(float(one.pop_episodes()["right"].mean()))
    return sum(scores[-5:]) / 5


@pytest.mark.slow
def test_who_is_told_learns_and_who_is_not_cannot():
    """One thing in four is wanted and one of three is known to be wrong, so guessing gets a third of them right."""
    assert right_things("messages") > 1.4 * right_things("silence")
