"""The parts that RLlib drives, without a cluster: fragments, runner, learner, distribution."""

import functools
import importlib
import os
import pickle
import threading
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from ray.rllib.utils.metrics.metrics_logger import MetricsLogger
from ray.rllib.utils.minibatch_utils import ShardEpisodesIterator

from rl_envs import make
from rl_models.algorithms.impala import Impala
from rl_models.algorithms.ppo import Ppo
from rl_models.batch import Fragment
from rl_models.distributions.joint_categorical import JointCategorical
from rl_models.distributions.mixture import MixtureOfMarginals
from rl_models.networks.network_config import GridCnnConfig
from rl_models.rllib import env_runner, learner
from rl_models.rllib.config import fragments_to_batch, rllib_config
from rl_models.rllib.distribution import team_distribution
from rl_models.rllib.env_runner import FragmentEnvRunner, episode_means
from rl_models.rllib.team_algorithm import TeamAlgorithm
from rl_models.rllib.workers import Workers
from rl_models.teams.grid_cnn_team import grid_cnn_team
from rl_models.training.algorithm import ENDED_EPISODES, OTHERS_CPU_SECONDS
from tests.rl_models.rllib.small import build_team, plan, trial
from tests.rl_models.training.small import CENTRAL, ROUNDING, assert_equal_fragments, collector

KINDS = [pytest.param(Ppo, id="ppo"), pytest.param(Impala, id="impala")]


def runner_of(one, **arguments):
    return FragmentEnvRunner(config=rllib_config(one), **arguments)


def test_fragments_are_sharded_over_learners_without_losing_a_world():
    fragments = [collector(num_worlds=4, first_world=first, length=5).collect() for first in (0, 4, 8)]
    shards = list(ShardEpisodesIterator(fragments, num_shards=2))
    assert [sum(map(len, shard)) for shard in shards] == [6, 6]
    assert all(isinstance(part, Fragment) for shard in shards for part in shard)
    key = [tuple(view.sum((1, 2, 3, 4))) for shard in shards for part in shard for view in part.obs["view"]]
    wanted = [tuple(view.sum((1, 2, 3, 4))) for fragment in fragments for view in fragment.obs["view"]]
    assert sorted(key) == sorted(wanted)


def test_a_learner_whose_fragments_have_gone_with_their_runner_learns_from_none_and_does_not_fail():
    """The other learners wait for it."""
    learner, fragment = rllib_config(plan(Ppo)).build_learner(env=None, spaces=None), collector(num_worlds=6).collect()
    learner.build()
    with pytest.raises(RuntimeError, match="update"):
        learner.update(episodes=[])
    learner.update(episodes=[fragment])
    before, progress = learner.training_state()
    learner.update(episodes=[])
    assert learner.progress == progress
    torch.testing.assert_close(learner.training_state()[0]["weights"], before["weights"], rtol=0, atol=0)


def test_more_updates_may_wait_at_a_learner_than_a_step_of_training_asks_for():
    """At its limit a learner loses its shard of an update that the others make; RLlib's own is 3."""
    assert rllib_config(plan(Impala, runners=2, learners=2)).max_requests_in_flight_per_learner > 10_000


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_a_runner_returns_one_fragment_of_its_own_worlds(kind):
    runner = runner_of(plan(kind))
    fragments = [runner.sample(num_timesteps=1)[0] for _ in range(2)]
    wanted = collector(num_worlds=6, length=10, needs_values=kind.needs_values)
    for fragment in fragments:
        assert_equal_fragments(fragment, wanted.collect())
    assert ("last_values" in fragment.ends) == kind.needs_values


def test_a_runner_reports_sums_over_the_episodes_that_ended():
    runner = runner_of(plan())
    fragment = runner.sample(num_timesteps=1)[0]
    (sums,) = runner.get_metrics()["episode"].peek()
    assert episode_means({"episode": sums}) == (means := episode_means({"episode": [sums, {"count": 0.0}]}))
    ended = (fragment.steps["terminated"] | fragment.steps["truncated"]).sum()
    assert means[ENDED_EPISODES] == ended > 0
    assert means["episode/success"] == pytest.approx(fragment.steps["terminated"].sum() / ended)
    assert episode_means({}) == {}
    without = sums | {"success": float("nan")}
    assert np.isnan(episode_means({"episode": [sums, without]})["episode/success"]), "they are no failures"


def test_a_call_without_news_of_runners_or_learners_logs_nothing_of_them():
    """IMPALA's may only queue a batch. RLlib then gives NaN, which in a sum of CPU-seconds would stay for ever."""
    root, leaf = MetricsLogger(root=True), MetricsLogger(root=False)
    leaf.log_value("cpu_seconds", 2.0, reduce="sum")
    for name in ("policy_lag_updates", "busy_share"):
        leaf.log_value(name, 0.5, window=1)
    for name in ("env_steps", "seconds", "cpu_seconds"):
        leaf.log_value(("sampling", name), 4.0, reduce="sum")
    found = leaf.reduce()
    root.aggregate([found], key="learners"), root.aggregate([found], key="env_runners")
    algorithm = object.__new__(TeamAlgorithm)
    algorithm.algorithm, algorithm._restarted = SimpleNamespace(train=lambda: root.reduce(compile=True)), 0
    assert algorithm.train() == {
        OTHERS_CPU_SECONDS: 6.0,
        "learner/policy_lag_updates": 0.5,
        "speed/learner_busy_share": 0.5,
        "speed/env_steps_per_second_of_a_runner": 1.0,
    }
    assert algorithm.train() == {}


@pytest.mark.long
def test_a_runner_of_two_groups_returns_the_same_fragment_and_continues_from_its_snapshot():
    whole, parts, other = runner_of(plan()), runner_of(plan(groups=2)), runner_of(plan(groups=2))
    for _ in range(2):
        assert_equal_fragments(parts.sample(num_timesteps=1)[0], whole.sample(num_timesteps=1)[0], close=ROUNDING)
    other.restore_snapshot(parts.snapshot())
    assert_equal_fragments(other.sample(num_timesteps=1)[0], parts.sample(num_timesteps=1)[0])


def failing_runner(monkeypatch, was_restarted, fragments, is_final=False):
    """A remote runner that has played some fragments, and whose game is broken from now on."""
    monkeypatch.setattr(env_runner, "was_restarted", lambda: was_restarted)
    runner = runner_of(plan(), worker_index=1)
    for _ in range(fragments):
        runner.sample(num_timesteps=1)

    def fails(*arguments, **keywords):
        error = ValueError("the game is broken")
        error.is_final = is_final
        raise error

    runner.worlds[0].step = fails
    return runner


@pytest.mark.parametrize(
    ("was_restarted", "fragments", "is_final"), [(True, 0, False), (False, 1, True)], ids=["restarted", "final error"]
)
def test_an_error_that_a_restart_does_not_cure_ends_the_trial(monkeypatch, was_restarted, fragments, is_final):
    handed_over = failing_runner(monkeypatch, was_restarted, fragments, is_final).sample(num_timesteps=1)
    with pytest.raises(ValueError, match="the game is broken") as caught:
        fragments_to_batch(None, None)(episodes=handed_over)
    assert "in fails" in "".join(caught.value.__notes__), "it must say where"


@pytest.mark.parametrize("learners", [1, 2, 3])
def test_every_learner_gets_a_piece_of_a_failure_beside_whole_fragments(learners):
    fragment = runner_of(plan()).sample(num_timesteps=1)[0]
    failed = env_runner.FailedFragment(ValueError("the game is broken"))
    shares = list(ShardEpisodesIterator([fragment, failed, fragment], num_shards=learners))
    assert len(shares) == learners
    for share in shares:
        with pytest.raises(ValueError, match="the game is broken"):
            fragments_to_batch(None, None)(episodes=share)


class WantsTwo(Exception):
    def __init__(self, what, where):
        super().__init__(f"{what} in {where}")


def test_an_error_that_does_not_pickle_is_sent_as_text():
    for error in (WantsTwo("a fault", "the cellar"), ValueError("a fault", threading.Lock())):
        sent = pickle.loads(pickle.dumps(env_runner.picklable_error(error)))
        assert type(error).__name__ in str(sent) and "a fault" in str(sent)


@pytest.mark.parametrize(("was_restarted", "fragments"), [(False, 0), (True, 1)])
def test_a_runner_that_is_new_or_has_played_dies_of_what_it_raises_and_is_restarted(
    monkeypatch, was_restarted, fragments
):
    runner = failing_runner(monkeypatch, was_restarted, fragments)
    with pytest.raises(ValueError, match="the game is broken"):
        runner.sample(num_timesteps=1)


# -------------------------------------------------------------------------------------- distribution


def random_mixture(generator):
    shapes = (5, 3), (5, 2, 3, 13)
    return MixtureOfMarginals.from_logits(*(torch.randn(*shape, generator=generator) for shape in shapes))


def random_table(generator):
    return JointCategorical.from_logits(torch.randn(5, 13, 13, generator=generator), 2)


@pytest.mark.parametrize(("components", "draw"), [(3, random_mixture), (CENTRAL, random_table)])
def test_the_flat_distribution_is_the_joint_policy(components, draw):
    sized, generator = team_distribution(build_team(components)), torch.Generator().manual_seed(0)
    policies = [draw(generator) for _ in range(2)]
    one, other = (sized.from_logits(sized.to_inputs(policy)) for policy in policies)
    actions = one.sample()
    assert actions.shape == (5, 2)
    assert torch.equal(one.to_deterministic().sample(), policies[0].mode()[0])
    torch.testing.assert_close(one.logp(actions), policies[0].log_prob(actions))
    torch.testing.assert_close(one.policy.joint(), policies[0].joint())
    p, q = (policy.joint().flatten(1) for policy in policies)
    torch.testing.assert_close(one.kl(other), (p * (p / q).log()).sum(1), atol=1e-5, rtol=1e-4)
    if draw is random_table:
        torch.testing.assert_close(one.entropy(), torch.special.entr(p).sum(1))


def test_gloo_and_nccl_keep_to_the_loopback_where_a_node_has_no_other_address(monkeypatch):
    rendezvous = importlib.import_module("torch.distributed.rendezvous")
    monkeypatch.setattr(rendezvous, "TCPStore", rendezvous.TCPStore)  # brought back after the test
    monkeypatch.setattr(learner.ray.util, "get_node_ip_address", lambda: "127.0.0.1")
    names = [f"{backend}_SOCKET_IFNAME" for backend in ("GLOO", "NCCL")]
    for name in names:
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    learner.bind_to_node_address()
    assert [os.environ[name] for name in names] == [learner.loopback()] * 2


def kitchens(arrays):
    return lambda num_worlds, first_world: make(
        "overcooked-v0", num_worlds, first_world=first_world, max_episode_steps=6, shaping=1.0, arrays=arrays
    )


def test_they_learn_from_tensors_as_from_arrays():
    team, weights = functools.partial(grid_cnn_team, GridCnnConfig((4, 4), 3, (8,)), 2, (26, 4, 5), 6), []
    for arrays in ("numpy", "torch"):
        workers = Workers(worlds_per_runner=4, fragment_length=10)
        config = rllib_config(trial(objective=Ppo(), workers=workers, make_world=kitchens(arrays), build_policy=team))
        learner = config.build_learner(env=None, spaces=None)
        learner.build()
        learner.update(episodes=FragmentEnvRunner(config=config).sample(num_timesteps=1))
        weights.append(learner.training_state()[0]["weights"])
    torch.testing.assert_close(*weights, atol=1e-5, rtol=1e-7)
