"""The benchmarks: overhead is loop over bare. No time is asserted."""

import pytest

from benchmarks import endi
from benchmarks.harness import messenger_loop, training_loop
from benchmarks.harness.clock import median_ratio
from benchmarks.harness.training_loop import LoopTimes, bare_seconds, time_loop
from rl_envs.matrix_game.world import MatrixGame
from rl_models.algorithms.impala import Impala
from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.algorithms.ppo import Ppo
from rl_models.networks.entity_divider_emma import DividedEmmaConfig
from rl_models.networks.network_config import EmmaConfig
from rl_models.teams.constant_team import constant_team
from rl_models.training.loop import Learner
from tests.rl_models.training.small import begun


@pytest.fixture
def game():
    world = MatrixGame(4, adversary=0)
    policy = constant_team(3, world.num_agents, world.action_spec, seed=0)
    return world, policy


def test_overhead_is_loop_over_bare_within_each_turn():
    times = LoopTimes(100, collect=[1.0, 2.0, 9.0], update=[2.0, 4.0, 3.0])
    times.bare_acting, times.bare_learning = [0.5, 1.0, 4.0], [1.5, 4.0, 4.0]
    assert times.loop == [3.0, 6.0, 12.0]
    assert times.bare == [2.0, 5.0, 8.0]
    assert times.overhead == median_ratio(times.loop, times.bare) == 1.5
    assert times.per_second(times.loop) == pytest.approx(100 / 6)


def test_a_loop_and_its_bare_passes_take_turns(game):
    world, policy = game
    objective = Impala()
    collector = begun(world, policy, 5, objective.needs_values, seed=0)
    learner = Learner(policy, objective, OptimiserSettings())
    times = time_loop(collector.collect, lambda fragment: learner.update([fragment]), policy, objective, turns=2)
    assert times.agent_steps == 4 * 5 * world.num_agents
    assert [len(part) for part in (times.collect, times.update, times.bare_acting, times.bare_learning)] == [2] * 4
    assert learner.progress.updates == 3
    assert times.overhead > 0


@pytest.mark.parametrize(("objective", "forward_passes"), [(Impala(), 1), (Ppo(num_epochs=2, num_minibatches=2), 4)])
def test_bare_passes_are_the_objectives_own(game, objective, forward_passes):
    world, policy = game
    fragment = begun(world, policy, 5, objective.needs_values, seed=0).collect()
    before = {name: value.clone() for name, value in policy.state_dict().items()}
    shapes = []
    policy.register_forward_pre_hook(lambda _, arguments: shapes.append(tuple(arguments[2].shape)))
    bare_seconds(policy, objective, fragment)
    assert shapes[:5] == [(4, 1)] * 5
    assert len(shapes) == 5 + forward_passes
    assert all(bool((before[name] == value).all()) for name, value in policy.state_dict().items())


def test_bare_passes_include_the_heads_that_predict_others(monkeypatch):
    """Otherwise part of the network's arithmetic would count as overhead."""
    narrow = DividedEmmaConfig(EmmaConfig(features=4, channels=2, hidden_size=2), 3)
    small = {"WORLDS": 3, "LENGTH": 2, "TURNS": 1, "SENTENCES_PER_CELL": 1, "EMMA": narrow}
    for name, value in small.items():
        monkeypatch.setattr(endi, name, value)
    monkeypatch.setattr(messenger_loop, "TOKEN_FEATURES", 4)
    reached = []

    def learn(policy, parts, extras, original=training_loop.learn_bare):
        original(policy, parts, extras)
        reached.extend(name for name, weights in policy.named_parameters() if weights.grad is not None)

    monkeypatch.setattr(training_loop, "learn_bare", learn)
    endi.time_messenger(shares_network=True)
    assert any(name.startswith("network.others.") for name in reached)
