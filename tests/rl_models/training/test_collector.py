"""Acting and training see the same thing, and a restored collector plays what it would have played."""

import numpy as np
import pytest
import torch

from rl_models.algorithms.impala import Impala
from rl_models.algorithms.ppo import Ppo
from rl_models.batch import Fragment, forward, to_batch
from rl_models.distributions.factored_mixture import ActionParts
from rl_models.heads.factored_heads import FactoredHead
from rl_models.heads.mixture_heads import ValueHead
from rl_models.policy import TeamPolicy
from rl_models.schedule import Progress
from rl_models.teams.constant_team import ConstantNetwork, constant_team
from rl_models.training.collector import Collector
from tests.rl_models.training.small import (
    CENTRAL,
    HORIZON,
    Walks,
    assert_equal_fragments,
    begun,
    collector,
    ratio_error,
    rooms,
    team,
)
from tests.toy_worlds import Errands

OBJECTIVES = [Ppo(), Ppo(joint_ratio=False), Impala(), Impala(joint_ratio=False)]


@pytest.mark.parametrize("components", [1, 3, CENTRAL])
@pytest.mark.parametrize("agents", [1, 2, 3])
def test_rollout_equals_train(agents, components):
    """Log-probabilities at sampling are those of the first update, with episodes that end inside the fragment."""
    one = collector(agents=agents, components=components)
    one.collect()
    fragment = one.collect()  # the second one begins in the middle of episodes
    assert fragment.is_first[:, 1:-1].any(1).all()
    assert not fragment.is_first[:, 0].all()
    assert max(ratio_error(objective, one.policy, fragment) for objective in OBJECTIVES) < 1e-5


@pytest.mark.parametrize("components", [3, CENTRAL])
def test_recorded_values_are_those_that_training_computes(components):
    one = collector(components=components)
    one.collect()
    fragment = one.collect()
    values = forward(one.policy, to_batch(fragment)).values.detach().numpy()
    np.testing.assert_allclose(fragment.steps["values"], values[:, :-1], atol=1e-5)
    np.testing.assert_allclose(fragment.ends["last_values"], values[:, -1], atol=1e-5)


def test_a_truncated_episode_keeps_the_value_of_its_final_observation():
    """Played again alone, without the limit, the value one step later is the recorded one."""
    one = collector(num_worlds=4, length=HORIZON)
    fragment = one.collect()
    stopped = fragment.steps["truncated"][:, -1]
    assert stopped.any()
    assert not fragment.steps["final_values"][:, :-1].any()
    free = begun(rooms(4, max_episode_steps=HORIZON + 5), team(), HORIZON)
    longer = free.collect()
    np.testing.assert_array_equal(longer.steps["actions"][stopped], fragment.steps["actions"][stopped])
    np.testing.assert_allclose(
        fragment.steps["final_values"][stopped, -1], longer.ends["last_values"][stopped], atol=1e-5
    )


def test_an_agent_that_has_left_is_worth_nothing_where_the_episode_is_stopped():
    one = Collector(Walks(20, num_agents=3, max_episode_steps=3), constant_team(3, 3, 3), 3)
    torch.nn.init.ones_(next(one.policy.value_head.parameters()))
    one.reset(0)
    ended = []
    step = one.world.step
    one.world.step = lambda actions: ended.append(step(actions)) or ended[-1]
    fragment = one.collect()
    *_, truncated, info = ended[-1]
    final = info["final_obs"]["alive"][truncated[info["done_worlds"]]]
    found = fragment.steps["final_values"][truncated, -1]
    assert not final.all()
    np.testing.assert_array_equal(found != 0, final)


def test_actions_of_agents_that_do_not_decide_change_no_loss():
    one = begun(Walks(5, num_agents=3), constant_team(3, 3, 3), 20, seed=0)
    fragment = one.collect()
    other = Fragment(**{name: getattr(fragment, name) for name in Fragment.__slots__})
    other.steps = {name: value.copy() for name, value in fragment.steps.items()}
    idle = ~fragment.obs["decides"][:, :-1]
    for name, replacement in (("actions", 2 - other.steps["actions"][idle]), ("agent_log_prob", -9.0)):
        other.steps[name][idle] = replacement
    for objective in OBJECTIVES:
        losses = []
        for part in (fragment, other):
            batch = objective.prepare(to_batch(part))
            losses.append(objective.loss(forward(one.policy, batch), batch, Progress())[0].item())
        assert losses[0] == losses[1]


# ----------------------------------------------------------------------------------------- snapshots


@pytest.mark.parametrize("components", [3, CENTRAL])
def test_a_restored_collector_plays_the_identical_next_fragment(components):
    unbroken = collector(components=components)
    for _ in range(2):
        unbroken.collect()
    unbroken.version = 5
    snapshot = unbroken.snapshot()
    wanted = unbroken.collect()  # leaves the snapshot as it is
    fresh = collector(components=components, seed=99)
    fresh.restore(snapshot)
    for value in snapshot.values():
        value[...] = 0  # and the collector that was restored from it
    assert_equal_fragments(fresh.collect(), wanted)
    assert (wanted.versions == 5).all()
    assert_equal_fragments(fresh.collect(), unbroken.collect())


# ------------------------------------------------------------------------------------------ fragments


def test_a_fragment_counts_steps_and_is_sliced_by_worlds():
    fragment = collector(6, length=5).collect()
    assert (len(fragment), fragment.env_steps(), fragment.agent_steps()) == (6, 30, 60)
    part = fragment[2:5]
    assert (len(part), part.env_steps()) == (3, 15)
    np.testing.assert_array_equal(part.obs["view"], fragment.obs["view"][2:5])
    assert_equal_fragments(Fragment.join([fragment[:2], fragment.slice(slice(2, 6))]), fragment)
    assert Fragment.join([fragment]) is fragment


def sentences(fragment):
    """The texts behind the row numbers."""
    return fragment.texts["sentences"][fragment.obs["sentences"]]


def test_joined_fragments_still_point_at_their_own_texts():
    parts = []
    for first in (0, 4):
        one = begun(Walks(4, first_world=first, num_agents=2), constant_team(1, 2, 3), 6, seed=0)
        one.collect()
        parts.append(one.collect())
    assert not np.array_equal(parts[0].texts["sentences"], parts[1].texts["sentences"])
    joined = Fragment.join(parts)
    np.testing.assert_array_equal(sentences(joined), np.concatenate([sentences(part) for part in parts]))
    assert joined.obs["sentences"].dtype == parts[0].obs["sentences"].dtype
    texts = np.concatenate([part.texts["sentences"] for part in parts])
    np.testing.assert_array_equal(joined.texts["sentences"], np.unique(texts, axis=0))
    mixed = Fragment.join([joined[3:6], parts[0][1:2]])
    wanted = np.concatenate([sentences(joined)[3:6], sentences(parts[0])[1:2]])
    np.testing.assert_array_equal(sentences(mixed), wanted)


def test_texts_are_what_the_world_showed_and_old_ones_are_forgotten():
    """Ten fragments of a world with composed text against the same world stepped by hand with the same actions."""
    one = begun(Walks(3, num_agents=2), constant_team(1, 2, 3), 8, seed=0)
    world = Walks(3, num_agents=2)
    obs, sizes = world.reset(0), []
    for _ in range(10):
        fragment = one.collect()
        shown = [world.texts["sentences"].look_up(obs["sentences"])]
        for step in range(8):
            obs = world.step(fragment.steps["actions"][:, step])[0]
            shown.append(world.texts["sentences"].look_up(obs["sentences"]))
        np.testing.assert_array_equal(sentences(fragment), np.stack(shown, axis=1))
        used = np.unique(fragment.obs["sentences"])
        # Besides what was shown there may be final observations and starts of the next episodes, but nothing older.
        ends = int((fragment.steps["terminated"] | fragment.steps["truncated"]).sum())
        assert len(fragment.texts["sentences"]) <= len(used) + 4 * ends
        sizes.append(len(fragment.texts["sentences"]))
    assert sizes[-1] < len(world.texts["sentences"].table)


def test_episodes_are_reported_once():
    one = collector(length=4 * HORIZON)
    fragment = one.collect()
    episodes = one.pop_episodes()
    ended = fragment.steps["terminated"] | fragment.steps["truncated"]
    assert len(episodes["length"]) == ended.sum() == len(episodes["return"])
    assert episodes["return"].shape[1] == 2
    np.testing.assert_allclose(episodes["success"].sum(), fragment.steps["terminated"].sum())
    assert one.pop_episodes() == {}


@pytest.mark.parametrize("components", [1, 3])
def test_only_the_observation_after_the_last_step_is_beyond_the_loss(components):
    """PPO does not look at it; V-trace bootstraps from it."""
    one = collector(components=components)
    fragment = one.collect()
    changed = to_batch(fragment) | {"obs/view": torch.from_numpy(fragment.obs["view"]).clone()}
    changed["obs/view"][:, -1] = 1 - changed["obs/view"][:, -1]
    for objective, differs in ((Ppo(), False), (Impala(), True)):
        losses = []
        for batch in (to_batch(fragment), changed):
            prepared = objective.prepare(batch)
            losses.append(objective.loss(forward(one.policy, prepared), prepared, Progress())[0].item())
        assert (losses[0] != losses[1]) == differs


def factored_team():
    """The team's network tells everybody the same, and SYNC's weights are computed from it."""
    torch.manual_seed(0)
    head = FactoredHead(8, ActionParts({"go": 3, "say": 5}), 4, 2, 8)
    return TeamPolicy(ConstantNetwork(2, 8, 8), head, ValueHead(8))


def test_acting_equals_training_with_factored_actions_macros_texts_and_deaths():
    collector = begun(Errands(6, num_agents=2), factored_team(), 12, seed=0)
    fragment = Fragment.join([collector.collect(), collector.collect()])
    assert fragment.steps["actions/go"].shape == (12, 12, 2)
    assert (fragment.steps["terminated"] | fragment.steps["truncated"]).any()
    for objective in (Ppo(), Ppo(joint_ratio=False), Impala(), Impala(joint_ratio=False)):
        assert ratio_error(objective, collector.policy, fragment) < 1e-5
