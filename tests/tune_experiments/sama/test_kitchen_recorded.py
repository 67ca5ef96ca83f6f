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
        "asymmetric_advantages": "77d353e12a6a0ef2",
        "coordination_ring": "68a07fb09b4b2e16",
        "counter_circuit_o_1order": "29faeb2aebc5e8d8",
        "cramped_room": "5ebf2d0688e1bec3",
        "forced_coordination": "6b4a7365e03c5025",
    },
    "words": {
        "asymmetric_advantages": "b3f1f4e69af3f1c7",
        "coordination_ring": "58826d150dd57ab4",
        "counter_circuit_o_1order": "fb909752f36706a3",
        "cramped_room": "239653a3d4f47fad",
        "forced_coordination": "a0cf730512a00182",
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
        [kind.text, in_words(kind.deed), kind.goal, kind.kind, kind.thing, kind.origin, kind.target]
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
