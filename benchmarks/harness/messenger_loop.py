"""PPO around EMMA in MESSENGER: the released size, cached encodings, four epochs over each sample, as the authors do.

Random encodings of BERT's width replace cached ones: a vector for each word and for two marks, and as many sentences as
the published corpus has. A minibatch holds 256 samples; the authors' holds 64. Authors' numbers (reference: their loop
with random encodings, timed): 24, 35 and 21 agent steps per CPU-second in stages 1, 2 and 3.
"""

import functools
from collections.abc import Iterator

import torch

from benchmarks.harness.measurements import Measurement
from benchmarks.harness.training_loop import LoopTimes, loop_measurements, make_loop, time_collect_and_update
from rl_envs.messenger.symbols import ACTIONS, AVATARS, SIDE, SYMBOLS
from rl_envs.messenger.world import Messenger
from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.algorithms.ppo import Ppo
from rl_models.losses.grounding import GroundingLoss
from rl_models.networks.emma_body import EmmaSizes
from rl_models.networks.network_config import RELEASED
from rl_models.runtime.device import built_on, chosen_device
from rl_models.schedule import Schedule
from rl_models.teams.emma_team import EmmaTeamConfig, emma_team
from rl_models.text.frozen import FrozenEncoder
from rl_models.training.collector import Collector
from rl_models.training.loop import Learner

WORLDS, LENGTH, TURNS = 64, 16, 5
"""Worlds and env steps of a fragment, and number of fragments."""
EPOCHS, MINIBATCHES = 4, 4
ADAM = OptimiserSettings()
SENTENCES_PER_CELL, TOKEN_FEATURES, MARKS = 16, 768, 2


def measure_loops() -> Iterator[Measurement]:
    """The loops of the three stages, and of stage 1 with the grounding loss."""
    torch.set_num_threads(1)
    for stage in (1, 2, 3):
        yield from loop_measurements(f"messenger.loop_stage{stage}", time_training(stage))
    yield from loop_measurements("messenger.loop_stage1_grounded", time_training(1, grounding=1.0))


def time_training(stage: int, grounding: float = 0.0) -> LoopTimes:
    """Time PPO from the initial weights."""
    collector, learner = training_loop(stage, grounding)
    return time_collect_and_update(collector, learner, TURNS)


def training_loop(
    stage: int, grounding: float = 0.0, worlds: int = WORLDS, settings: OptimiserSettings = ADAM
) -> tuple[Collector, Learner]:
    """PPO where networks run, from the initial weights."""
    world = Messenger(worlds, stage=stage, max_sentences_per_cell=SENTENCES_PER_CELL)
    sizes = EmmaSizes(world.num_agents, len(SYMBOLS), len(AVATARS), SIDE)
    encoder = random_encodings(world)
    build = functools.partial(emma_team, EmmaTeamConfig(RELEASED), sizes, len(ACTIONS), lambda: encoder)
    policy = built_on(chosen_device(), build)
    extra = (GroundingLoss(Schedule.constant(grounding)),) if grounding else ()
    objective = Ppo(num_epochs=EPOCHS, num_minibatches=MINIBATCHES, extra_losses=extra)
    return make_loop(world, policy, objective, settings, LENGTH, spreads=False)


def random_encodings(world: Messenger) -> FrozenEncoder:
    """Random encodings of all sentences, as a frozen BERT's table."""
    lengths = (world.tables["sentence_words"] != 0).sum(-1) + MARKS
    generator = torch.Generator().manual_seed(0)
    return FrozenEncoder([torch.randn(int(length), TOKEN_FEATURES, generator=generator) for length in lengths])
