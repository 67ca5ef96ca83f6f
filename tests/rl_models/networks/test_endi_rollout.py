"""Divided teams compute the same while acting and while learning: every epoch uses the noise of acting."""

import numpy as np
import pytest
import torch

from rl_models.algorithms.impala import Impala
from rl_models.algorithms.ppo import Ppo
from rl_models.batch import Fragment, forward, to_batch
from rl_models.networks.entity_divider import ENTITIES, MASK
from tests.rl_models.networks.small_endi import BACKBONES, team_for, world
from tests.rl_models.training.small import begun, ratio_error, second_fragment

both = pytest.mark.parametrize("backbone", BACKBONES)
often = pytest.mark.parametrize(
    "backbone", [one if one == "reading" else pytest.param(one, marks=pytest.mark.slow) for one in BACKBONES]
)
TEAMS = [("reading", 3), ("matching", 3), ("emma", 2)]
LENGTH = 11


def collector(backbone, place, policy=None):
    return begun(place, policy or team_for(backbone, place), LENGTH)


@pytest.mark.long
@pytest.mark.parametrize(
    ("shares_network", "objective"),
    [(True, Ppo(joint_ratio=False)), (False, Impala()), pytest.param(True, Ppo(), marks=pytest.mark.slow)],
)
@pytest.mark.parametrize(("backbone", "agents"), TEAMS)
def test_rollout_equals_train(backbone, agents, shares_network, objective):
    place = world(backbone, agents=agents)
    one = collector(backbone, place, team_for(backbone, place, shares_network))
    assert ratio_error(objective, one.policy, second_fragment(one)) < 1e-5


@both
def test_the_first_update_sees_the_masks_that_acted_to_the_last_entity(backbone):
    one, acted = collector(backbone, world(backbone)), []
    hook = one.policy.register_forward_hook(lambda _, __, output: acted.append(output.extras[MASK]))
    fragment = one.collect()
    hook.remove()
    learned = forward(one.policy, to_batch(fragment)).extras
    masks = torch.cat(acted[:LENGTH], 1)
    assert torch.equal(learned[MASK][:, :LENGTH], masks)
    assert 0.2 < masks[learned[ENTITIES][:, :LENGTH]].mean() < 0.8


@both
def test_noise_is_the_worlds_and_each_agents_own(backbone):
    """It is uniform, differs between agents, worlds and steps, and disturbs no action's draw."""
    one = collector(backbone, world(backbone))
    noise = one.collect().obs["noise"]
    assert noise.dtype == np.float32
    assert noise.mean() == pytest.approx(0.5, abs=0.03)
    assert noise.std() == pytest.approx(12**-0.5, abs=0.03)
    assert len(np.unique(noise)) > 0.99 * noise.size
    uniforms = one.world.chance.policy_uniforms(3)
    assert not np.isin(uniforms.astype(np.float32), noise[:, -1]).any()


@pytest.mark.long
@often
def test_how_worlds_are_spread_changes_no_mask_and_no_action(backbone):
    whole = collector(backbone, world(backbone, 6))
    halves = [collector(backbone, world(backbone, 3, first_world=first)) for first in (0, 3)]
    for _ in range(2):
        parts = [half.collect() for half in halves]
        ours, theirs = whole.collect(), Fragment.join(parts)
        np.testing.assert_array_equal(ours.obs["noise"], theirs.obs["noise"])
        np.testing.assert_array_equal(ours.steps["actions"], theirs.steps["actions"])
        np.testing.assert_array_equal(ours.steps["reward"], theirs.steps["reward"])
        np.testing.assert_allclose(ours.steps["log_prob"], theirs.steps["log_prob"], atol=1e-5)


@both
def test_values_of_stopped_episodes_are_those_of_their_last_observation(backbone):
    """A world that stops where it would end: there noise is that of the next episode's first moment."""
    place, final = world(backbone), []
    one, step = collector(backbone, place), place.step

    def stop(actions):
        seen, reward, terminated, truncated, info = step(actions)
        final.append(info)
        return seen, reward, np.zeros_like(terminated), terminated | truncated, info

    place.step = stop
    fragment = one.collect()
    world_row, moment = (axis[0] for axis in fragment.steps["truncated"].nonzero())
    info = final[moment]
    row = int(np.flatnonzero(info["done_worlds"] == world_row)[0])
    obs = {name: torch.from_numpy(value[row : row + 1])[:, None] for name, value in info["final_obs"].items()}
    obs["noise"] = torch.from_numpy(fragment.obs["noise"][world_row : world_row + 1, moment + 1])[:, None]
    obs |= {f"texts/{key}": torch.from_numpy(texts.table) for key, texts in place.texts.items()}
    with torch.no_grad():
        values = one.policy(obs, {}, torch.zeros(1, 1, dtype=torch.bool)).values[0, 0]
    np.testing.assert_allclose(fragment.steps["final_values"][world_row, moment], values, atol=1e-5)
