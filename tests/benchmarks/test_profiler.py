"""The profiler: times add up, and backward time belongs to the part that created the graph. The clock is simulated."""

from types import SimpleNamespace

import pytest
import torch

from benchmarks import furnmove_profile
from benchmarks.harness import profiler as profiler_module
from benchmarks.harness.profiler import BACKWARD, Profiler, Watch
from benchmarks.harness.training_loop import bare_seconds
from rl_envs.furnmove.observation import VIEW, num_channels
from rl_envs.furnmove.splits import RoomStream
from rl_envs.furnmove.world import FurnMove
from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.algorithms.ppo import Ppo
from rl_models.networks.network_config import TboneConfig
from rl_models.teams.tbone_team import CentralTeamConfig, TboneTeamConfig, central_team, tbone_team
from rl_models.training.collector import Collector

SMALL = TboneConfig(cell_features=2, channels=(2, 2, 2, 4), hidden_size=8, message_features=2)
SIZES = {"num_agents": 2, "view": (num_channels(2), VIEW, VIEW), "num_actions": 13}


@pytest.fixture
def clock(monkeypatch):
    """A clock that moves only when the test moves it."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(profiler_module, "process_time", lambda: clock.now)
    return clock


def slow(clock, forward, backward):
    """An identity that takes this long forwards and backwards."""

    class Slow(torch.autograd.Function):
        @staticmethod
        def forward(_, x):
            clock.now += forward
            return x.clone()

        @staticmethod
        def backward(_, gradient):
            clock.now += backward
            return gradient

    return Slow.apply


def spent(profiler):
    return {part: seconds for part, seconds in profiler.seconds.items() if seconds}


def test_time_belongs_to_the_innermost_part_and_its_phase_to_the_outermost(clock):
    def wait(seconds):
        clock.now += seconds

    def outer():
        wait(2)
        work.inner()
        wait(1)

    work = SimpleNamespace(outer=outer, inner=lambda: wait(5))
    profiler = Profiler()
    with profiler.watching([Watch(work, "outer", "out"), Watch(work, "inner", "in")]):
        work.outer()
        wait(100)
        work.inner()
    assert spent(profiler) == {("out", "out"): 3, ("out", "in"): 5, ("in", "in"): 5}


def test_backward_time_belongs_to_the_part_that_made_the_graph(clock):
    layer = SimpleNamespace(first=slow(clock, 1, 10), second=slow(clock, 2, 20), third=slow(clock, 4, 40))
    layer.both = lambda x: layer.second(layer.first(x))
    watches = [Watch(layer, "both", "both"), Watch(layer, "first", "first")]
    profiler = Profiler()
    x = torch.ones(3, requires_grad=True)
    with profiler.watching(watches):
        for _ in range(2):
            layer.third(layer.both(x)).sum().backward()
    assert spent(profiler) == {
        ("both", "both"): 4,
        ("both", "first"): 2,
        (BACKWARD, "rest"): 80,
        (BACKWARD, "both"): 40,
        (BACKWARD, "first"): 20,
    }


def test_nothing_is_watched_afterwards_and_gradients_are_right():
    module = torch.nn.Linear(2, 1)
    before, x = torch.Tensor.backward, torch.ones(1, 2)
    with Profiler().watching([Watch(module, "forward", "layer")]):
        module(x).sum().backward()
    assert torch.equal(module.weight.grad, x)
    assert "forward" not in vars(module)
    assert torch.Tensor.backward is before


def test_the_parts_of_a_training_loop_add_up_to_all_that_was_watched(monkeypatch):
    monkeypatch.setattr(furnmove_profile, "TURNS", 1)
    world, policy = FurnMove(2, rooms=RoomStream(count=2)), tbone_team(TboneTeamConfig(SMALL, 2), **SIZES)
    setting = furnmove_profile.Setting(world, policy, Ppo(num_epochs=1, num_minibatches=1), OptimiserSettings())
    measurements = {measurement.name: measurement.value for measurement in setting.measurements("x")}
    costs = {name: value for name, value in measurements.items() if f"{name}.share" in measurements}
    shares = [value for name, value in measurements.items() if name.endswith(".share")]
    assert sum(costs.values()) == pytest.approx(measurements["x.watched"])
    assert sum(shares) == pytest.approx(100)
    assert {"x.acting.world_step", "x.learning.heads", "x.backward.convolution_1", "x.backward.lstm_steps"} <= set(
        costs
    )
    assert measurements["x.whole"] > 0


@pytest.mark.parametrize("build", [tbone_team, central_team])
def test_bare_learning_reaches_every_parameter_of_any_joint_policy(build):
    config = TboneTeamConfig(SMALL, 2) if build is tbone_team else CentralTeamConfig(SMALL)
    policy, objective = build(config, **SIZES), Ppo(num_epochs=1, num_minibatches=1)
    collector = Collector(FurnMove(2, rooms=RoomStream(count=2)), policy, 3)
    collector.reset(0)
    reached = set()
    for name, parameter in policy.named_parameters():
        parameter.register_post_accumulate_grad_hook(lambda _, name=name: reached.add(name))
    bare_seconds(policy, objective, collector.collect())
    assert reached == {name for name, _ in policy.named_parameters()}
