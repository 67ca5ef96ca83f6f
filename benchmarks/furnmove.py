"""Gridworld-FurnMove: its world, the IMPALA loop with the paper's network, and the same through RLlib.

Full-size rooms, horizon 250, TBONE with the paper's widths and SYNC with 13 components, CORDIAL, Adam, one gradient
pass per sample. Authors' numbers (reference: their own loop, timed): 8,000 us a joint step, 48 agent steps per
CPU-second.
"""

import functools
from collections.abc import Iterator

import numpy as np
import torch

from benchmarks.harness.clock import median, timed
from benchmarks.harness.measurements import RATIO, Measurement
from benchmarks.harness.training_loop import LoopTimes, loop_measurements, make_loop, time_collect_and_update
from benchmarks.harness.world_steps import Chooser, microseconds_by_part, microseconds_per_joint_step
from rl_envs.furnmove.actions import NUM_ACTIONS
from rl_envs.furnmove.maps import compile_room
from rl_envs.furnmove.observation import VIEW, num_channels
from rl_envs.furnmove.splits import RoomStream, bounds
from rl_envs.furnmove.world import FurnMove
from rl_models.algorithms.impala import Impala
from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.losses.cordial import CoordinationLoss, CoordinationSet
from rl_models.networks.network_config import TboneConfig
from rl_models.policy import TeamPolicy
from rl_models.schedule import Schedule
from rl_models.teams.tbone_team import tbone_team

MICROSECONDS, PER_SECOND, MILLISECONDS = "us", "agent steps per CPU-second", "ms"
ROOMS = 256
WORLD_BATCH, WORLD_STEPS, WORLD_REPEATS = 256, 60, 9
"""Number of worlds, env steps of a repeat and repeats, for the measurements of the world alone."""
LOOP_WORLDS, LOOP_LENGTH, LOOP_TURNS = 64, 20, 7
"""Worlds and env steps of a fragment, and number of fragments."""
STOCK_STEPS, STOCK_TURNS = 10 * LOOP_WORLDS, 5
"""Env steps of a turn of stock env runners, and number of turns; they play as many worlds as the loop."""
COORDINATED_SHARE = 0.8
"""Share of coordinated joint actions; the others are uniform, as in the measurement of the authors' engine."""
WORLD_PARTS = ("step", "_checked", "_advance", "_observe", "_start")


def measure() -> Iterator[Measurement]:
    """All measurements of this part."""
    torch.set_num_threads(1)
    yield from _rooms()
    for agents in (2, 3):
        yield from _world(agents)
    yield from _world_parts()
    ours = _loop()
    yield from loop_measurements("furnmove.loop", ours)
    yield from _rllib(ours)


def _rooms() -> Iterator[Measurement]:
    """Time to generate and compile a new room."""
    rooms = RoomStream(seed=1, count=ROOMS)
    seconds = [timed(lambda number=number: compile_room(rooms[number], *rooms.bounds))[1] for number in range(ROOMS)]
    yield Measurement("furnmove.room.ms_per_new_room", sum(seconds) / ROOMS * 1e3, MILLISECONDS)


def _world(agents: int) -> Iterator[Measurement]:
    world = ready_world(agents)
    cost = microseconds_per_joint_step(world, chooser(world), WORLD_STEPS, WORLD_REPEATS)
    suffix = "" if agents == 2 else f"_{agents}_agents"
    yield Measurement(f"furnmove.world.us_per_joint_step{suffix}", cost, MICROSECONDS)


def _world_parts() -> Iterator[Measurement]:
    world = ready_world(2)
    costs = microseconds_by_part(world, chooser(world), WORLD_STEPS * WORLD_REPEATS, WORLD_PARTS)
    for name, cost in costs.items():
        yield Measurement(f"furnmove.world.part.{name.removeprefix('_')}", cost, MICROSECONDS)


def _loop() -> LoopTimes:
    world = FurnMove(LOOP_WORLDS)
    loop = make_loop(world, team(), cordial_impala(), OptimiserSettings(), LOOP_LENGTH, spreads=True)
    return time_collect_and_update(*loop, LOOP_TURNS)


def _rllib(ours: LoopTimes) -> Iterator[Measurement]:
    """RLlib around the same policy and objective, and RLlib's stock env runners, which only sample here."""
    from benchmarks.harness import rllib_loops
    from rl_models.rllib.config import rllib_config
    from rl_models.rllib.workers import TrainingPlan, Workers

    plan = TrainingPlan(
        make_world=FurnMove,
        build_policy=team,
        objective=cordial_impala(),
        optimiser=OptimiserSettings(),
        workers=Workers(worlds_per_runner=LOOP_WORLDS, fragment_length=LOOP_LENGTH),
        seed=0,
    )
    yield from loop_measurements("furnmove.rllib_loop", rllib_loops.time_rllib_loop(rllib_config(plan), LOOP_TURNS))
    env = {"world": "furnmove-v0", "arguments": {"num_agents": 2}}
    samplers = {
        "furnmove.stock_multi_agent_env": rllib_loops.stock_multi_agent_sampler(
            env, functools.partial(team, agents=1, seen_agents=2), LOOP_WORLDS
        ),
        "furnmove.stock_team_env": rllib_loops.stock_team_sampler(env, team, LOOP_WORLDS),
    }
    for name, sample in samplers.items():
        sample(STOCK_STEPS)
        seconds = median([timed(sample, STOCK_STEPS)[1] for _ in range(STOCK_TURNS)])
        rate = 2 * STOCK_STEPS / seconds
        yield Measurement(f"{name}.times_slower_sampling", ours.per_second(ours.collect) / rate, RATIO)
        yield Measurement(f"{name}.agent_steps_per_cpu_second", rate, PER_SECOND)


def ready_world(agents: int) -> FurnMove:
    """Worlds whose rooms are all compiled, so that no room is made while they are timed."""
    world = FurnMove(WORLD_BATCH, num_agents=agents, rooms=RoomStream(count=ROOMS))
    for room in world.rooms:
        compile_room(room, *bounds(world.rooms))
    return world


def chooser(world: FurnMove) -> Chooser:
    """Random joint actions, most of them coordinated."""
    generator = np.random.default_rng(0)
    coordinated = world.tables["coordinated_actions"]

    def choose(observations: dict[str, np.ndarray]) -> np.ndarray:
        which = observations["coordination"][:, 0]
        together = coordinated[which, generator.integers(coordinated.shape[1], size=len(which))]
        alone = generator.integers(NUM_ACTIONS, size=together.shape)
        return np.where(generator.random((len(which), 1)) < COORDINATED_SHARE, together, alone)

    return choose


def team(agents: int = 2, seen_agents: int | None = None) -> TeamPolicy:
    """The paper's team; `seen_agents` is the number of agents in its observations, by default `agents`."""
    view = (num_channels(seen_agents or agents), VIEW, VIEW)
    return tbone_team(TboneConfig(), agents, view, NUM_ACTIONS)


def cordial_impala() -> Impala:
    """IMPALA with CORDIAL in the form of the authors' code."""
    tables = FurnMove(1).tables
    actions = torch.tensor(tables["coordinated_actions"])
    moves_object = torch.from_numpy((tables["coordinated_modality"] > 0).astype(np.int64))
    coordination = CoordinationSet(actions, moves_object.expand(actions.shape[:2]))
    return Impala(extra_losses=(CoordinationLoss(coordination, Schedule.constant(1.0)),))
