"""EnDi: training loops around EMMA with an entity divider (private or shared networks), and around txt2pi with one.

MESSENGER: stage 1, two agents, the released width, random encodings of BERT's width instead of cached ones, PPO with
four epochs over each sample. Authors' number (reference: their loop with random encodings, timed): 5 agent steps per
CPU-second. RTFM: S1 in the paper's room of 8 x 8 with the paper's widths and IMPALA; that code was never published.
The bare passes include the heads that predict the other agents' actions, as the learner's passes do.
"""

from collections.abc import Iterator

import numpy as np
import torch

from benchmarks.harness.measurements import Measurement
from benchmarks.harness.messenger_loop import SENTENCES_PER_CELL, random_encodings
from benchmarks.harness.training_loop import LoopTimes, loop_measurements, make_loop, time_collect_and_update
from rl_envs.core.world import World
from rl_envs.messenger.symbols import ACTIONS, AVATARS, SIDE, SYMBOLS
from rl_envs.messenger.world import Messenger
from rl_envs.rtfm.grid import NUM_MOVES
from rl_envs.rtfm.lexicon import KIND_MONSTER
from rl_envs.rtfm.stages import STAGES
from rl_envs.rtfm.world import Rtfm
from rl_models.algorithms.impala import Impala
from rl_models.algorithms.objective import Objective
from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.algorithms.ppo import Ppo
from rl_models.networks.emma_body import EmmaSizes
from rl_models.networks.entity_divider import OTHERS, DividedReadingConfig
from rl_models.networks.entity_divider_emma import DividedEmmaConfig
from rl_models.networks.network_config import RELEASED
from rl_models.networks.reading import ReadingSizes
from rl_models.policy import TeamPolicy
from rl_models.teams.emma_team import EmmaTeamConfig, emma_team
from rl_models.teams.endi_team import VARIANTS
from rl_models.teams.reader_team import ReaderTeamConfig, reader_team

AGENTS = 2
WORLDS, LENGTH, TURNS = 64, 16, 3
"""Worlds and env steps of a fragment in MESSENGER, and number of fragments."""
EPOCHS, MINIBATCHES = 4, 4
READING_WORLDS, READING_LENGTH, READING_TURNS = 8, 20, 2
"""The same in RTFM."""
LOSSES = VARIANTS["endi_dis"].extra_losses()
EMMA, READING = DividedEmmaConfig(RELEASED), DividedReadingConfig()


def measure() -> Iterator[Measurement]:
    """All measurements of this part."""
    torch.set_num_threads(1)
    yield from loop_measurements("endi.messenger_loop", time_messenger(shares_network=False))
    yield from loop_measurements("endi.messenger_loop_shared", time_messenger(shares_network=True))
    yield from loop_measurements("endi.rtfm_loop", time_rtfm())


def time_messenger(shares_network: bool) -> LoopTimes:
    """Time PPO around EMMA with an entity divider, from the initial weights."""
    world = Messenger(WORLDS, stage=1, num_agents=AGENTS, max_sentences_per_cell=SENTENCES_PER_CELL)
    encoder = random_encodings(world)
    config = EmmaTeamConfig(EMMA, shares_network=shares_network)
    sizes = EmmaSizes(AGENTS, len(SYMBOLS), len(AVATARS), SIDE)
    policy = emma_team(config, sizes, len(ACTIONS), lambda: encoder)
    objective = Ppo(num_epochs=EPOCHS, num_minibatches=MINIBATCHES, joint_ratio=False, extra_losses=LOSSES)
    return _time(world, policy, objective, LENGTH, TURNS)


def time_rtfm() -> LoopTimes:
    """Time IMPALA around txt2pi with an entity divider, from the initial weights."""
    world = Rtfm(READING_WORLDS, num_agents=AGENTS, **STAGES["S1"])
    names = torch.from_numpy(world.tables["name_words"].astype(np.int64))
    sizes = ReadingSizes(AGENTS, world.text_spec["document"].vocabulary, names)
    is_entity = torch.from_numpy(world.tables["name_kinds"] >= KIND_MONSTER)
    policy = reader_team(ReaderTeamConfig(READING, shares_network=False), sizes, NUM_MOVES, is_entity=is_entity)
    objective = Impala(joint_ratio=False, extra_losses=LOSSES)
    return _time(world, policy, objective, READING_LENGTH, READING_TURNS)


def _time(world: World, policy: TeamPolicy, objective: Objective, length: int, turns: int) -> LoopTimes:
    loop = make_loop(world, policy, objective, OptimiserSettings(), length, spreads=False)
    return time_collect_and_update(*loop, turns, extras=(OTHERS,))
