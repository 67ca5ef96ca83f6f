"""MiniRTS for SAMA's planner: words, sub-goals, their tests, and rules that answer without a model."""

import itertools

import numpy as np
import pytest

from rl_envs.minirts.phrases import PHRASES
from rl_envs.minirts.symbols import (
    ARCHER,
    BLACKSMITH,
    CAVALRY,
    DRAGON,
    HALL,
    MAX_HP,
    PEASANT,
    SPEARMAN,
    STABLE,
    SWORDMAN,
    UNITS,
    WORKSHOP,
)
from rl_models.planners.goal_generators import first_skill
from rl_models.planners.sandbox.rules import check_source
from tune_experiments.sama.minirts.domain import RtsDomain
from tune_experiments.sama.minirts.scene import Scene
from tune_experiments.sama.minirts.subgoals import (
    ATTACK,
    EQUIP,
    FAR,
    FIGHT,
    MINE,
    OF_TEXT,
    SCOUT,
    SUBGOALS,
    TESTS,
    TRAIN,
    WAIT,
    choices,
    cost,
    wanted,
)

DOMAIN = RtsDomain(2)


def state(own, enemies=(), money=500, lately="nobody", decision=5, seen=(200, 100)):
    """A moment as text; own and enemies are (agent or sight, type, command)."""
    lines = [f"You have {money} money, you see {seen[0]} of 1024 cells, and you have seen {seen[1]} others before."]
    for k, (agent, kind, activity) in enumerate(own):
        hp = MAX_HP[kind]
        lines.append(f"own {k} of agent {agent}: {UNITS[kind]} at x 5, y 5, hp {hp} of {hp}; {activity}.")
    for k, kind in enumerate(enemies):
        hp = MAX_HP[kind]
        lines.append(f"enemy {k}: {UNITS[kind]} at x 28, y 28, hp {hp} of {hp}; in sight.")
    lines.append("resource 0: at x 9, y 5, hp 1000 of 1000; in sight.")
    return "\n".join([*lines, f"Decision {decision}. Seen lately: {lately}."])


def idle(*units):
    return [(agent, kind, "idle") for agent, kind in units]


START = state(idle((0, PEASANT), (1, PEASANT), (0, PEASANT), (0, HALL)))
KNOWN = state(idle(*[(k % 2, PEASANT) for k in range(6)], (1, STABLE), (0, HALL)), [SWORDMAN], lately="40 % swordman")


def test_the_subgoals_are_the_17_phrases_and_to_wait():
    assert [one.text for one in SUBGOALS] == [*PHRASES, WAIT]
    assert [one.phrase for one in SUBGOALS] == [*PHRASES, ""]
    assert {one.goal for one in SUBGOALS} == set(DOMAIN.goals)


def moment(**values):
    """A moment of one world with two agents."""
    own = np.zeros((1, 2, 16), int)
    found = {"own": own, "team": own.sum(1), "seen": np.array([100]), "money": np.array([0])}
    found |= {name: np.zeros((1, 2), int) for name in ("idle", "gathering", "attacking")}
    for name, value in values.items():
        found[name] = np.asarray(value)[None]
    return found


def team(kind, number):
    counts = np.zeros(16, int)
    counts[kind] = number
    return counts


@pytest.mark.parametrize(
    ("text", "before", "after", "expected"),
    [
        ("build stable", {}, {"team": team(STABLE, 1)}, [1, 1]),
        ("build stable", {"team": team(STABLE, 1)}, {"team": team(STABLE, 1)}, [0, 0]),
        (ATTACK, {}, {"attacking": [2, 0]}, [1, 0]),
        (MINE, {}, {"idle": [0, 1], "gathering": [2, 2]}, [1, 0]),
        (MINE, {}, {"gathering": [1, 0]}, [1, 0]),
        ("keep scouting", {}, {"seen": 159}, [0, 0]),
        ("keep scouting", {}, {"seen": 160}, [1, 1]),
        (WAIT, {}, {}, [1, 1]),
    ],
)
def test_a_subgoal_is_reached_when_its_deed_is_done_since_the_round_began(text, before, after, expected):
    assert TESTS[text](moment(**before), moment(**after))[0].tolist() == expected


def test_code_says_what_the_built_in_test_says_of_the_same_states():
    texts = RtsDomain(2).diverse_states(12, 8)
    scenes = [Scene(2, text) for text in texts]
    moments = []
    for scene in scenes:
        own = np.array([[hand.own[kind] for kind in range(16)] for hand in scene.hands])
        parts = {"own": own, "team": own.sum(0), "seen": scene.seen, "money": scene.money}
        hands = {"idle": "idle_peasants", "gathering": "gathering", "attacking": "attacking"}
        parts |= {name: [getattr(hand, key) for hand in scene.hands] for name, key in hands.items()}
        moments.append(moment(**parts))
    for one in SUBGOALS:
        check_source(DOMAIN.code(one.text))
        space = {}
        exec(DOMAIN.code(one.text), space)  # our own text
        for (i, a), (j, b) in itertools.pairwise(enumerate(moments)):
            rewards = [space["reward"](DOMAIN.as_json(texts[i], n), DOMAIN.as_json(texts[j], n)) for n in range(2)]
            assert rewards == TESTS[one.text](a, b)[0].astype(int).tolist(), one.text


def test_only_who_owns_what_a_subgoal_needs_can_begin_with_it():
    scene = Scene(2, KNOWN)
    able = {one.text: [cost(scene, agent, one) < FAR for agent in range(2)] for one in SUBGOALS}
    assert able["build cavalry"] == [False, True] and able["build peasant"] == [False, False]  # six are enough
    assert able["build stable"] == [False, False] and able["build barrack"] == [True, True]
    assert able["build archer"] == able[ATTACK] == [False, False] and able[WAIT] == [True, True]
    poor = Scene(2, state(idle((0, PEASANT), (1, STABLE), (0, HALL)), money=40))
    assert all(cost(poor, n, OF_TEXT[text]) == FAR for n in range(2) for text in ("build cavalry", "build barrack"))


@pytest.mark.parametrize(
    ("enemy", "counter"), [(SPEARMAN, SWORDMAN), (SWORDMAN, CAVALRY), (CAVALRY, SPEARMAN), (DRAGON, ARCHER)]
)
def test_rules_want_what_beats_the_enemy(enemy, counter):
    assert wanted(Scene(2, state(idle((0, HALL)), [enemy]))) == [counter]
    assert wanted(Scene(2, state(idle((0, HALL)), lately=f"9 % {UNITS[enemy]}"))) == [counter]  # out of sight now


def test_who_knows_nothing_of_the_enemy_scouts():
    found = DOMAIN.decompose(START, None, ())
    assert any(OF_TEXT[text].goal == SCOUT for text in found.subgoals)
    assert not any(OF_TEXT[text].goal == SCOUT for text in DOMAIN.decompose(KNOWN, None, ()).subgoals)


def test_no_plan_spends_more_money_than_there_is_or_begins_a_building_twice():
    for agents in (2, 3):
        own = RtsDomain(agents)
        for text in own.diverse_states(15, 5):
            scene = Scene(agents, text)
            for chosen in itertools.islice(choices(scene), 20):
                made = [one.made for one in chosen if one.made >= 0]
                buildings = [kind for kind in made if kind >= 8]
                assert (
                    sum({PEASANT: 50, DRAGON: 200, WORKSHOP: 200}.get(k, 150 if k >= 8 else 100) for k in made)
                    <= scene.money
                )
                assert len(buildings) == len(set(buildings)) and not any(scene.own[k] for k in buildings)
                assert all(cost(scene, agent, one) < FAR for agent, one in enumerate(chosen))


def test_a_given_goal_is_followed_and_a_failed_plan_never_comes_again():
    assert any(OF_TEXT[text].goal == EQUIP for text in DOMAIN.decompose(START, EQUIP, ()).subgoals)
    failed, seen = set(), []
    for _ in range(6):
        found = DOMAIN.decompose(KNOWN, None, failed)
        seen.append(tuple(sorted(found.subgoals)))
        failed.add(seen[-1])
    assert len(set(seen)) == 6


def test_the_allocation_gives_the_unit_to_the_owner_of_its_factory():
    texts = ("build cavalry", MINE)
    order = DOMAIN.allocate(KNOWN, texts, ()).order
    assert [texts[place] for place in order] == [MINE, "build cavalry"]
    other = DOMAIN.allocate(KNOWN, texts, {(MINE, "build cavalry")}).order
    assert [texts[place] for place in other] == ["build cavalry", MINE]
    assert DOMAIN.find_fault(KNOWN, texts, other).phase == "allocation"
    assert DOMAIN.find_fault(KNOWN, ("build archer", MINE), (0, 1)).phase == "decomposition"


def test_skills_lead_from_nothing_to_an_attack():
    facts, goals = DOMAIN.facts(START) - {"there is money"}, []
    while not DOMAIN.final_facts <= facts:
        goal = first_skill(DOMAIN.skills, facts, DOMAIN.final_facts)
        goals.append(goal)
        facts |= next(skill.gives for skill in DOMAIN.skills if skill.goal == goal)
    assert goals[-3:] == [EQUIP, TRAIN, FIGHT] and SCOUT in goals
    assert set(DOMAIN.goal_list(START, 12)) <= set(DOMAIN.goals)
    armed = state(idle(*[(0, CAVALRY)] * 6, (0, HALL)), [SWORDMAN])
    assert DOMAIN.goal_list(armed, 3)[0] == FIGHT and "an army stands" in DOMAIN.facts(armed)


def test_a_factory_at_work_is_told_nothing_else():
    busy = [(0, PEASANT, "idle"), (0, BLACKSMITH, "trains a swordman"), (0, HALL, "idle")]
    scene = Scene(2, state(busy, [SPEARMAN]))
    assert cost(scene, 0, OF_TEXT["build another swordman"]) == FAR and scene.coming[SWORDMAN] == 1
