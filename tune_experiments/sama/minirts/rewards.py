"""Tests of sub-goals: built-in functions, or what the planner's model writes (SAMA, section 3.3).

What a model writes is tried on rounds of play before it is used: games in which scripted agents get drawn phrases.
"""

from __future__ import annotations

import random
from contextlib import closing
from typing import Any

import numpy as np

from rl_envs.minirts.symbols import ARMY, FACTORY
from rl_models.planners.planner import Planner
from rl_models.planners.reward_book import RewardBook
from rl_models.planners.rewards import DesignedReward, RewardDesigner, RewardSource, Transitions, builtin_rewards
from tune_experiments.red.commanders import ASKING
from tune_experiments.sama.minirts.domain import get_domain
from tune_experiments.sama.minirts.play import FORMS, scripted
from tune_experiments.sama.minirts.subgoals import SUBGOALS, TESTS, WAIT
from tune_experiments.sama.minirts.world import PlannedRts, compute_features
from tune_experiments.sama.planning import game_code

_WORLDS, _ROUNDS, _DECISIONS = 12, 12, 8
_TRIAL_SEED = 17
_DRAWN_EVERY = 3
"""Every third round has drawn phrases; in the others a world's agents build a factory and train its unit."""


def open_book(source: RewardSource, planner: Planner) -> RewardBook:
    """Tests of all sub-goals; close it, for tests in Python run in processes."""
    domain = get_domain(len(planner.domain.agents))
    designed = [] if source == "builtin" else design_rewards(planner)
    return RewardBook(builtin_rewards(domain, designed), domain, TESTS, _texts)


def design_rewards(planner: Planner) -> list[DesignedReward]:
    """Tests by the planner's model, except for waiting, which is always reached."""
    domain = get_domain(len(planner.domain.agents))
    play, code = transitions(len(domain.agents)), game_code(domain.source)
    designer = RewardDesigner(planner.caller, domain, TESTS, play, planner.manual, code)
    return designer.design([text for text in domain.subgoals if text != WAIT])


def transitions(num_agents: int) -> Transitions:
    """Moments at the beginning and the end of short rounds of N agents, one pair for each world and round."""
    numbers, befores, afters, texts = random.Random(_TRIAL_SEED), list[Any](), list[Any](), list[tuple[str, str]]()
    with closing(PlannedRts(_WORLDS, agents_per_side=num_agents, actions=FORMS[False])) as world:
        world.reset(_TRIAL_SEED)
        for number in range(_ROUNDS):
            before, states = compute_features(world.seen), world.states(range(_WORLDS))
            for index, agent in np.ndindex(_WORLDS, num_agents):
                drawn = numbers.choice(SUBGOALS).phrase
                world.tell(index, agent, drawn if number % _DRAWN_EVERY == 0 else _chain(index, number))
            for _ in range(_DECISIONS):
                world.step(scripted(world))
            befores.append(before)
            afters.append(compute_features(world.seen))
            texts += zip(states, world.states(range(_WORLDS)), strict=True)
    return Transitions(_joined(befores), _joined(afters), tuple(texts))


def _chain(world: int, number: int) -> str:
    """The command of a world's agents in a round: the factory of one type, or the type itself."""
    kind = ARMY[world % len(ARMY)]
    return ASKING[FACTORY[kind] if number % 2 else kind]


def _joined(moments: list[Any]) -> dict[str, Any]:
    return {name: np.concatenate([moment[name] for moment in moments]) for name in moments[0]}


def _texts(moment: Any) -> Any:
    return moment["texts"]
