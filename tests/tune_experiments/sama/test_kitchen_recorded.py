"""The kitchen's rules say what they said when they were recorded: words, choices and features over many states."""

import hashlib
import itertools
import json
import random

import pytest

from rl_envs.overcooked.layouts import LAYOUTS
from tests.tune_experiments.sama.kitchens import roll
from tune_experiments.sama.overcooked.domain import KitchenDomain

RECORDED = {
    "choices": {
        "asymmetric_advantages": "0d7bf1fc77ca3154",
        "coordination_ring": "f6daaab6a6007ca3",
        "counter_circuit_o_1order": "9b4aec4293a4946d",
        "cramped_room": "e7605ec6f8de227e",
        "forced_coordination": "8b61a5864da707f3",
    },
    "words": {
        "asymmetric_advantages": "692ad3bfec6417ed",
        "coordination_ring": "e805029268e4880f",
        "counter_circuit_o_1order": "b81678e0f0cd8ee0",
        "cramped_room": "c726cde8e2694e20",
        "forced_coordination": "9549c50d46d4909c",
    },
}


def digest(value):
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def states_of(domain):
    _, _, play = roll(domain.name, worlds=16, steps=40, seed=5)
    return domain.diverse_states(150, seed=11) + [text for text, _ in play.texts[::9]]


def in_words(deed):
    """A deed as the recording has it."""
    parts = [part.replace(" ", "_") for part in (deed.thing, deed.place) if part not in ("", "nothing")]
    return f"{deed.deed}({', '.join(parts)})"


def words(domain):
    texts = list(domain.subgoals)
    yield [domain.manual, domain.map, domain.objects, domain.goals, domain.agents]
    yield [
        [kind.text, in_words(kind.event), kind.goal, kind.kind, kind.thing, kind.origin, kind.target]
        for kind in domain.kinds.values()
    ]
    yield [domain.code(text) for text in texts]
    for state in states_of(domain):
        yield domain.check(state), domain.situation(state), domain.statuses(state), sorted(domain.facts(state))
        yield domain.as_json(state, 0), domain.as_json(state, 1), domain.goal_list(state, 6)


def choices(domain):
    numbers, texts = random.Random(3), list(domain.subgoals)
    for state in states_of(domain):
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
@pytest.mark.parametrize("part", [words, choices], ids=lambda part: part.__name__)
def test_what_the_kitchen_says_is_as_recorded(layout, part):
    assert digest(list(part(KitchenDomain(layout)))) == RECORDED[part.__name__][layout]
