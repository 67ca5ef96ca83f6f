"""RTFM: its worlds, stepped with random moves, observations and resets included, and the IMPALA loop around them.

Worlds: B = 256. Authors' numbers (reference: their environment with features and wrapper, timed): 650 to 1,650 steps
per CPU-second, resets included.

Loop: txt2pi of the released size, fragments of 24 worlds and 80 steps, one gradient pass per sample. Its cost grows
with the number of documents in a fragment, and so with the number of episodes. For a trained team an episode takes
about 20 steps in the simplest game and 15 in the full game; for an untrained team it takes 3 in the full game. Authors'
numbers (reference, timed): 84 and 19 steps per CPU-second.

Matching: the mention-matching reader in its own PPO loop, fragments of 256 worlds and 16 steps, three epochs, with
episodes as long as a trained team's; and beside it a txt2pi of two layers of 16 channels in the same loop.
"""

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from benchmarks.harness.clock import median, timed
from benchmarks.harness.measurements import RATIO, Measurement
from benchmarks.harness.training_loop import make_loop, time_collect_and_update
from benchmarks.harness.world_steps import microseconds_by_part, uniform_actions
from rl_envs.core.spec import Array, Arrays
from rl_envs.core.world import World
from rl_envs.registry import make
from rl_envs.rtfm.grid import NUM_MOVES
from rl_envs.rtfm.stages import STAGES
from rl_envs.rtfm.world import Rtfm
from rl_models.algorithms.impala import Impala
from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.algorithms.ppo import Ppo
from rl_models.networks.matching import MatchingConfig
from rl_models.networks.reading import ReadingSizes
from rl_models.networks.txt2pi import Txt2PiConfig
from rl_models.policy import TeamPolicy
from rl_models.runtime.device import built_on, chosen_device
from rl_models.teams.reader_team import ReaderTeamConfig, reader_team
from rl_models.training.collector import Collector
from rl_models.training.loop import Learner
from tune_experiments.rtfm.config import LettersTask, RtfmTask, Task, make_world
from tune_experiments.rtfm.trials import matching_sizes, sizes

PER_SECOND, MICROSECONDS = "env steps per CPU-second", "us"
WORLDS, STEPS, REPEATS = 256, 80, 25
"""Number of worlds, env steps of a repeat (a fragment of the paper's length), and number of repeats."""
SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "world": ("rtfm-v0", {"dyna": True}),
    "world_static": ("rtfm-v0", {}),
    "world_full": ("rtfm-v0", {"group": True, "dyna": True, "nl": True}),
    "world_full_10x10": ("rtfm-v0", {"size": 10, "group": True, "dyna": True, "nl": True}),
    "world_full_text_every_step": ("rtfm-v0", {"group": True, "dyna": True, "nl": True, "resample_text": "step"}),
    "world_2_agents": ("rtfm-v0", {"num_agents": 2, **STAGES["S5"]}),
    "world_rock_paper_scissors": ("rock_paper_scissors-v0", {}),
}
LOOP_WORLDS, LOOP_LENGTH, LOOP_TURNS = 24, 80, 3
"""Worlds and env steps of a fragment, and number of fragments."""
FULL: dict[str, Any] = {"group": True, "dyna": True, "nl": True}
WORLD_PARTS = ("step", "_checked", "_plans", "_agents_act", "_monsters_act", "_judge", "_observe", "_start", "_begin")


class StandingStill(Rtfm):
    """RTFM whose agents stand still; where monsters do too, every episode lasts until its limit."""

    def _advance(self, actions: Any, recorded: Arrays) -> tuple[Array, Array, Array]:
        return super()._advance(np.zeros_like(actions), recorded)


LOOPS: dict[str, Callable[[], Rtfm]] = {
    "loop_simplest": lambda: StandingStill(LOOP_WORLDS, max_episode_steps=20),
    "loop_full": lambda: StandingStill(LOOP_WORLDS, **(FULL | {"dyna": False}), max_episode_steps=15),
    "loop_full_untrained": lambda: Rtfm(LOOP_WORLDS, **FULL),
}

ADAM, RMSPROP = OptimiserSettings(), OptimiserSettings(optimiser="rmsprop")
MATCHING_WORLDS, MATCHING_LENGTH = 256, 16
MATCHING_GAMES: dict[str, tuple[Task, int]] = {
    "matching_letters": (LettersTask(), 32),
    "matching_simplest": (RtfmTask(), 64),
    "matching_full": (RtfmTask(group=True, dyna=True, nl=True), 64),
    "txt2pi_small_simplest": (RtfmTask(), 0),
}
"""Loop -> game, and the reader's width of a word; 0 for txt2pi."""


def measure() -> Iterator[Measurement]:
    """All measurements of this part."""
    torch.set_num_threads(1)
    yield from _worlds()
    for name, new_world in LOOPS.items():
        times = time_collect_and_update(*impala_loop(new_world()), LOOP_TURNS)
        yield Measurement(f"rtfm.{name}.overhead", times.overhead, RATIO)
        yield Measurement(f"rtfm.{name}.steps_per_cpu_second", times.per_second(times.loop), PER_SECOND)
        yield Measurement(f"rtfm.{name}.sampling_steps_per_cpu_second", times.per_second(times.collect), PER_SECOND)
    for name, (task, word_features) in MATCHING_GAMES.items():
        times = time_collect_and_update(*ppo_loop(task, word_features), LOOP_TURNS)
        yield Measurement(f"rtfm.{name}.overhead", times.overhead, RATIO)
        yield Measurement(f"rtfm.{name}.steps_per_cpu_second", times.per_second(times.loop), PER_SECOND)


def ppo_loop(
    task: Task, word_features: int, worlds: int = MATCHING_WORLDS, settings: OptimiserSettings = ADAM
) -> tuple[Collector, Learner]:
    """PPO with an untrained reader where networks run, in episodes as long as a trained team's in RTFM."""
    world: Any = make_world(task, worlds)
    if isinstance(task, RtfmTask):
        length = 15 if task.group else 20
        world = StandingStill(worlds, **(vars(task) | {"dyna": False, "max_episode_steps": length}))
    policy = built_on(chosen_device(), functools.partial(_reader, task, word_features))
    objective = Ppo(num_epochs=3, num_minibatches=8, value_coef=0.5)
    return make_loop(world, policy, objective, settings, MATCHING_LENGTH, spreads=isinstance(world, StandingStill))


def _reader(task: Task, word_features: int) -> TeamPolicy:
    """The mention-matching reader, or a small txt2pi where it has no words."""
    if word_features:
        config = ReaderTeamConfig(MatchingConfig(word_features=word_features))
        return reader_team(config, matching_sizes(task), NUM_MOVES)
    small = Txt2PiConfig(word_features=16, channels=(16, 16), features=64)
    return reader_team(ReaderTeamConfig(small), sizes(task), NUM_MOVES)


def impala_loop(world: Rtfm, settings: OptimiserSettings = RMSPROP) -> tuple[Collector, Learner]:
    """IMPALA with the released network where networks run, from its initial weights."""
    names = torch.from_numpy(world.tables["name_words"].astype(np.int64))
    sizes = ReadingSizes(world.num_agents, world.text_spec["document"].vocabulary, names)
    policy = built_on(chosen_device(), functools.partial(reader_team, ReaderTeamConfig(), sizes, NUM_MOVES))
    objective, spreads = Impala(loss_reduction="sum_steps"), isinstance(world, StandingStill)
    return make_loop(world, policy, objective, settings, LOOP_LENGTH, spreads)


def _worlds() -> Iterator[Measurement]:
    for name, (world_id, arguments) in SETTINGS.items():
        world = make(world_id, num_worlds=WORLDS, **arguments)
        yield Measurement(f"rtfm.{name}.steps_per_cpu_second", steps_per_cpu_second(world), PER_SECOND)
    world_id, arguments = SETTINGS["world_full"]
    world = make(world_id, num_worlds=WORLDS, **arguments)
    costs = microseconds_by_part(world, uniform_actions(world, NUM_MOVES), STEPS * REPEATS, WORLD_PARTS)
    for part, cost in costs.items():
        yield Measurement(f"rtfm.world_full.part.{part.removeprefix('_')}", cost, MICROSECONDS)


def steps_per_cpu_second(world: World) -> float:
    """Median over repeats; each first drops the texts that no world shows any more, as a collector does."""
    choose = uniform_actions(world, NUM_MOVES)
    observations = world.reset(0)
    rates = []
    for repeat in range(REPEATS + 1):
        _, seconds = timed(world.compact_texts)
        observations = world.observe()
        for _ in range(STEPS):
            actions = choose(observations)
            result, spent = timed(world.step, actions)
            observations = result[0]
            seconds += spent
        if repeat:
            rates.append(world.num_worlds * STEPS / seconds)
    return median(rates)
