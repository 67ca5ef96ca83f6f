"""Training data: states with sub-goals planned for them, and tests of their completion.

SAMA, sections 3.1 to 3.3. It is made once, in the trial's own process; the environments get pairs and tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rl_envs.overcooked.text import read_states
from rl_models.chat.client import ChatClient
from rl_models.planners.calling import Caller
from rl_models.planners.offline import MODEL, OfflineBackend
from rl_models.planners.planner import Planner
from rl_models.planners.plans import Failure, Memory
from rl_models.planners.preparation import deduplicate_subgoals, generate_states
from rl_models.planners.rewards import DesignedReward, RewardDesigner, RewardSource, Transitions, builtin_rewards
from rl_models.planners.subgoal_data import Pair
from tune_experiments.sama.overcooked.domain import get_domain
from tune_experiments.sama.overcooked.world import CommandedKitchen
from tune_experiments.sama.planning import game_code

_TRIAL_WORLDS, _TRIAL_STEPS = 64, 60
"""Size of the random play on which a model's rewards are tried: worlds, and env steps in each."""


@dataclass(frozen=True)
class TrainingData:
    """Training data of policies.

    Attributes:
        pairs: states with the chefs' commands.
        rewards: tests of all sub-goals.
    """

    pairs: tuple[Pair, ...]
    rewards: tuple[DesignedReward, ...]


def prepare_training_data(planner: Planner, layout: str, states: int, source: RewardSource, seed: int) -> TrainingData:
    """States of one kitchen, their sub-goals by the planner, and rewards from `source`."""
    domain = get_domain(layout)
    kitchen = CommandedKitchen(layout=layout)
    kitchen.reset(seed)
    found = generate_states(planner.caller, domain, planner.manual, [kitchen.describe_state(0)], states, seed)
    pairs = _pairs(planner, found)
    designed = [] if source == "builtin" else _designed(planner, layout, seed, pairs)
    return TrainingData(tuple(pairs), tuple(builtin_rewards(domain, designed)))


def _pairs(planner: Planner, states: Sequence[str]) -> list[Pair]:
    """The best plan of every state, and for every other state also the next best."""
    first = planner.plan(states)
    failed = first[::2]
    memories = [Memory() for _ in failed]
    for plan, memory in zip(failed, memories, strict=True):
        memory.failures.append(Failure(plan, "decomposition"))
    second = planner.plan([plan.state for plan in failed], memories=memories)
    return [(plan.state, plan.commands) for plan in (*first, *second)]


def _designed(planner: Planner, layout: str, seed: int, pairs: Sequence[Pair]) -> list[DesignedReward]:
    """Model-written tests of the planned sub-goals, without duplicates."""
    domain, play = get_domain(layout), random_play(layout, seed)
    designer = RewardDesigner(planner.caller, domain, domain.tests, play, planner.manual, game_code(domain.source))
    planned = deduplicate_subgoals(planner.caller, planner.domain, [text for _, commands in pairs for text in commands])
    return designer.design(planned)


def random_play(layout: str, seed: int) -> Transitions:
    """Random transitions from diverse states."""
    world = CommandedKitchen(_TRIAL_WORLDS, layout=layout, actions="any")
    world.reset(seed)
    world.restore(read_states(world.kitchen, get_domain(layout).diverse_states(_TRIAL_WORLDS, seed)))
    numbers, before, after, texts = np.random.default_rng(seed), [], [], []
    for _ in range(_TRIAL_STEPS):
        words = [world.describe_state(index) for index in range(_TRIAL_WORLDS)]
        before.append({name: value.copy() for name, value in world.state.items()})
        world.step(numbers.integers(world.kitchen.size, size=(_TRIAL_WORLDS, 2)))
        after.append({name: value.copy() for name, value in world.state.items()})
        texts += [(old, world.describe_state(index)) for index, old in enumerate(words)]
    previous, current = (
        {name: np.concatenate([moment[name] for moment in moments]) for name in moments[0]}
        for moments in (before, after)
    )
    return Transitions(previous, current, tuple(texts))


def offline_planner(layout: str) -> Planner:
    """The offline planner."""
    domain = get_domain(layout)
    return Planner(Caller(ChatClient(OfflineBackend(), 1), MODEL), domain)
