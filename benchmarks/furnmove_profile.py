"""Gridworld-FurnMove: a profile of the training loop's CPU time.

There are two settings. `paper` is the loop of the part `furnmove` (full-size rooms, the paper's widths, SYNC with 13
components, CORDIAL, IMPALA). `laptop` trains the same method as the laptop preset does (small widths, PPO). Each number
is CPU time per agent step; they add up to `watched`. `whole` is the loop without the profiler, in turns with it, so the
difference is the profiler's cost. The cost of recording autograd's graph is reported separately.
"""

from collections.abc import Iterator
from typing import cast

import torch

from benchmarks import furnmove
from benchmarks.harness.clock import median, timed
from benchmarks.harness.measurements import Measurement
from benchmarks.harness.profiler import PROFILER_COST, Part, Profiler, Watch
from benchmarks.harness.training_loop import make_loop
from rl_envs.core.world import World
from rl_envs.furnmove import world as furnmove_world
from rl_envs.furnmove.world import FurnMove
from rl_models.algorithms import actor_critic
from rl_models.algorithms.objective import Objective
from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.distributions.mixture import MixtureOfMarginals
from rl_models.layers import grid_convolutions
from rl_models.layers.communication import CommunicationRound
from rl_models.layers.recurrence import SteppedLstm
from rl_models.losses import cordial as coordination
from rl_models.losses import policy_gradient
from rl_models.losses.cordial import CoordinationLoss
from rl_models.networks.tbone import Tbone
from rl_models.policy import TeamPolicy
from rl_models.training import loop
from rl_models.training.collector import Collector
from rl_models.training.loop import Learner
from tune_experiments.cordial_sync import trials
from tune_experiments.cordial_sync.config import Config, MethodName

TURNS = 7
"""Fragments with the profiler and without it, in turns, after one that warms up and is not counted."""
METHOD: MethodName = "sync_13_cordial"


def measure() -> Iterator[Measurement]:
    """All measurements of this part."""
    torch.set_num_threads(1)
    paper = Setting(FurnMove(furnmove.LOOP_WORLDS), furnmove.team(), furnmove.cordial_impala(), OptimiserSettings())
    yield from paper.measurements("furnmove_profile.paper")
    plan = trials.plan(Config(methods=(METHOD,)), METHOD, seed=0)
    world = cast(World, plan.make_world(num_worlds=furnmove.LOOP_WORLDS))
    laptop = Setting(world, plan.build_policy(), plan.objective, plan.optimiser)
    yield from laptop.measurements("furnmove_profile.laptop")


class Setting:
    """One profiled training loop."""

    def __init__(self, world: World, policy: TeamPolicy, loss: Objective, settings: OptimiserSettings) -> None:
        self.world, self.policy, self.objective = world, policy, loss
        self.collector, self.learner = make_loop(world, policy, loss, settings, furnmove.LOOP_LENGTH, spreads=True)

    def measurements(self, name: str) -> Iterator[Measurement]:
        """Time of each part, their sum, and time of the loop without the profiler."""
        turns, whole = self._turns()
        parts = {part: median([turn.get(part, 0.0) for turn in turns]) for part in turns[-1]}
        graph = parts.pop(PROFILER_COST)
        watched = sum(parts.values())
        for (phase, part), cost in parts.items():
            yield Measurement(f"{name}.{phase}.{part}", cost, furnmove.MICROSECONDS)
            yield Measurement(f"{name}.{phase}.{part}.share", 100 * cost / watched, "%")
        yield Measurement(f"{name}.watched", watched, furnmove.MICROSECONDS)
        yield Measurement(f"{name}.watching_the_graph", graph, furnmove.MICROSECONDS)
        yield Measurement(f"{name}.whole", median(whole), furnmove.MICROSECONDS)

    def _turns(self) -> tuple[list[dict[Part, float]], list[float]]:
        """Microseconds per agent step of each turn: by part, and of the loop without the profiler."""
        agent_steps = self.collector.world.num_worlds * furnmove.LOOP_LENGTH * self.policy.num_agents
        watched, whole = [], []
        self._turn()
        for _ in range(TURNS):
            profiler = Profiler()
            with profiler.watching(self._watches()):
                self._turn()
            watched.append({part: spent / agent_steps * 1e6 for part, spent in profiler.seconds.items()})
            whole.append(timed(self._turn)[1] / agent_steps * 1e6)
        return watched, whole

    def _turn(self) -> None:
        self.learner.update([self.collector.collect()])

    def _watches(self) -> list[Watch]:
        return [*_phases(), *_network(self.policy), *_acting(self.world), *_learning(self.learner)]


def _phases() -> list[Watch]:
    """The phases; the time of a phase itself is what none of its parts takes."""
    return [Watch(Collector, "collect", "acting"), Watch(Learner, "update", "learning")]


def _network(policy: TeamPolicy) -> list[Watch]:
    network = policy.network
    assert isinstance(network, Tbone)
    return [
        Watch(network.embedding, "shares", "embedding"),
        Watch(grid_convolutions, "embedded_convolution", "convolution_1"),
        *[Watch(layer, "forward", f"convolution_{1 + row // 2}") for row, layer in enumerate(network.convolutions)],
        Watch(Tbone, "forward", "recurrence"),
        Watch(SteppedLstm, "input_gates", "lstm_inputs"),
        Watch(SteppedLstm, "step", "lstm_steps"),
        Watch(CommunicationRound, "forward", "talk_and_reply"),
        Watch(policy.policy_head, "forward", "heads"),
        Watch(policy.value_head, "forward", "heads"),
    ]


def _acting(world: World) -> list[Watch]:
    probabilities = ("sample", "log_prob", "component_log_prob")
    return [
        Watch(world, "step", "world_step"),
        Watch(world, "_observe", "observation"),
        Watch(furnmove_world, "compile_room", "new_rooms"),
        Watch(world.chance, "policy_uniforms", "sampling"),
        *[Watch(MixtureOfMarginals, name, "joint_policy") for name in probabilities],
    ]


def _learning(learner: Learner) -> list[Watch]:
    kind = type(learner.objective)
    return [
        Watch(loop, "to_batch", "batch"),
        Watch(actor_critic, "select_worlds", "batch"),
        Watch(kind, "prepare", "returns"),
        Watch(policy_gradient, "vtrace", "returns"),
        Watch(kind, "loss", "loss"),
        Watch(kind, "_entropy", "entropy"),
        Watch(CoordinationLoss, "__call__", "cordial"),
        Watch(coordination, "_tvd", "tvd"),
        Watch(loop, "clip_gradients", "clipping"),
        Watch(learner.optimiser, "step", "optimiser"),
    ]
