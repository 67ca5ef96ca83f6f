"""The kitchen's rules say what they said when they were recorded: words, choices and features over many states."""

import hashlib
import itertools
import json
import random

import pytest

from rl_envs.overcooked.layouts import LAYOUTS
from rl_models.planners.predicates.table import describe_table
from tests.tune_experiments.sama.kitchens import roll
from tune_experiments.sama.kitchen.domain import KitchenDomain
from tune_experiments.sama.kitchen.features import features_of

RECORDED = {
    "choices": {
        "asymmetric_advantages": "c650afabf643d7ab",
        "coordination_ring": "3da58bc054398051",
        "counter_circuit_o_1order": "3fcb84d528afc506",
        "cramped_room": "0973998e2212eb09",
        "forced_coordination": "5ae7f8401739b275",
    },
    "values": {
        "asymmetric_advantages": "1efba1b7e5592cbe",
        "coordination_ring": "585c18b6b037c0ab",
        "counter_circuit_o_1order": "4495d59a8e4b427b",
        "cramped_room": "927c7da5d69758ab",
        "forced_coordination": "af4ca23abf509928",
    },
    "words": {
        "asymmetric_advantages": "27f6ade4b8006bb7",
        "coordination_ring": "4b87c8e791f4422c",
        "counter_circuit_o_1order": "b40bb5780a12ea88",
        "cramped_room": "46ef68affbd13790",
        "forced_coordination": "5392d8d30e7228af",
    },
}


def digest(value):
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def states_of(domain):
    _, _, play = roll(domain.name, worlds=16, steps=40, seed=5)
    return domain.diverse_states(150, seed=11) + [text for text, _ in play.texts[::9]]


def words(domain):
    texts = [valid.text for valid in domain.subgoals]
    yield [domain.manual, domain.map, domain.objects, domain.goals, domain.agents]
    yield [
        [kind.text, kind.predicate, kind.goal, kind.kind, kind.thing, kind.origin, kind.target] for kind in domain.kinds
    ]
    yield [domain.code(text) for text in texts]
    for state in states_of(domain):
        yield domain.check(state), domain.situation(state), domain.statuses(state), sorted(domain.facts(state))
        yield domain.as_json(state, 0), domain.as_json(state, 1), domain.goal_list(state, 6)


def choices(domain):
    numbers, texts = random.Random(3), [valid.text for valid in domain.subgoals]
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


def values(domain):
    kitchen, _, play = roll(domain.name, worlds=16, steps=40, seed=5)
    table = features_of(kitchen)
    yield describe_table(table)
    for name, feature in table.items():
        for arguments in itertools.product(*feature.parameters):
            found = feature.values(arguments, play.previous, play.current)
            yield name, arguments, found.astype(int).tolist()


@pytest.mark.long
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("part", [words, choices, values], ids=lambda part: part.__name__)
def test_what_the_kitchen_says_is_as_recorded(layout, part):
    assert digest(list(part(KitchenDomain(layout)))) == RECORDED[part.__name__][layout]
