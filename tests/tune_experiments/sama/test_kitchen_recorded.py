"""The kitchen says of a state, and chooses there, what it did when that was recorded, over many states."""

import hashlib
import itertools
import json
import random

import pytest

from rl_envs.overcooked.layouts import LAYOUTS
from tests.tune_experiments.sama.kitchens import roll
from tune_experiments.sama.overcooked.domain import KitchenDomain

RECORDED = {
    "asymmetric_advantages": "02f240463f28539f",
    "coordination_ring": "c513727e9efff09c",
    "counter_circuit_o_1order": "80fd4041befd1d31",
    "cramped_room": "b8200fee1b817285",
    "forced_coordination": "391ba12e834cded0",
}


def digest(value):
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def states_of(domain):
    _, _, play = roll(domain.name, worlds=16, steps=40, seed=5)
    return domain.diverse_states(150, seed=11) + [text for text, _ in play.texts[::9]]


def answers(domain):
    numbers, texts = random.Random(3), list(domain.subgoals)
    for state in states_of(domain):
        yield domain.check(state), domain.situation(state), domain.statuses(state), sorted(domain.facts(state))
        yield domain.as_json(state, 0), domain.as_json(state, 1), domain.goal_list(state, 6)
        failed = set()
        for _ in range(3):
            found = domain.decompose(state, None, failed)
            yield found.thoughts, found.goal, found.subgoals
            failed.add(tuple(sorted(found.subgoals)))
        for goal in domain.goals:
            yield vars(domain.decompose(state, goal, ()))
        for pair in (found.subgoals, numbers.choices(texts, k=2)):
            first = domain.allocate(state, pair, ())
            yield vars(first), vars(domain.allocate(state, pair, {tuple(pair[which] for which in first.order)}))
            yield [vars(domain.find_fault(state, pair, order)) for order in itertools.permutations(range(2))]


@pytest.mark.long
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_kitchen_answers_as_was_recorded(layout):
    assert digest(list(answers(KitchenDomain(layout)))) == RECORDED[layout]
