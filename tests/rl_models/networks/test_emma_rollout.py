"""EMMA computes the same while acting and while learning, and encodes each sentence once."""

import numpy as np
import pytest

from rl_models.algorithms.impala import Impala
from rl_models.algorithms.ppo import Ppo
from tests.rl_models.networks.emma_games import collector, team, world
from tests.rl_models.training.small import ratio_error, second_fragment

KINDS = {
    "stage 1": {},
    "stage 2": {"stage": 2},
    "stage 3": {"stage": 3},
    "two agents": {"stage": 3, "num_agents": 2},
    "one frame": {"frames": 1},
}


@pytest.mark.parametrize(("kind", "objective"), [*((kind, Ppo()) for kind in sorted(KINDS)), ("stage 3", Impala())])
def test_rollout_equals_train(kind, objective):
    arguments = {"max_episode_steps": 6} | KINDS[kind]
    place = world(**arguments)
    one = collector(place, team(place, frames=arguments.get("frames", 3)))
    assert ratio_error(objective, one.policy, second_fragment(one)) < 1e-5


@pytest.mark.parametrize(
    "arguments", [{"reads": "roles"}, {"shares_network": False}, {"reads": "roles", "shares_network": False}]
)
def test_rollout_equals_train_for_game_id_and_private_networks(arguments):
    place = world(stage=2, num_agents=2, shows_roles=True)
    one = collector(place, team(place, **arguments))
    assert ratio_error(Ppo(), one.policy, one.collect()) < 1e-5


def test_a_sentence_is_read_once_an_episode_while_acting_and_anew_after_an_update():
    one, read = collector(world(stage=3), length=30, needs_values=False), []
    one.policy.network.encoder.register_forward_hook(lambda _, inputs, __: read.extend(inputs[0].tolist()))
    for _ in range(2):
        read.clear()
        fragment = one.collect()
        shown = fragment.obs["manual"][:, :-1]
        assert set(read) == set(np.unique(shown).tolist())
        begun = fragment.is_first[:, 1:-1].sum() + len(shown)
        assert len(read) <= begun * shown.shape[-1] < shown.size / 2
