"""MiniRTS for the planner: texts, and rules instead of a language model; `scene.py` has the text of states."""

import functools
import random
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import rl_envs.minirts
from rl_envs.minirts.symbols import (
    ARMY,
    BARRACK,
    BLACKSMITH,
    FACTORY,
    FIRST_BUILDING,
    HALL,
    MAX_HP,
    NUM_CELLS,
    NUM_TYPES,
    PEASANT,
    SIDE,
    STABLE,
    UNITS,
    WORKSHOP,
)
from rl_models.planners.domain import Skill, SubgoalTest, SubgoalTexts
from tune_experiments.sama.minirts.scene import NOBODY, Scene, last_line
from tune_experiments.sama.minirts.subgoals import (
    EARN,
    ENOUGH_TO_ATTACK,
    EQUIP,
    FAR,
    FIGHT,
    GOALS,
    OF_TEXT,
    REST,
    SCOUT,
    TESTS,
    TRAIN,
    Subgoal,
    choices,
    cost,
    reward_code,
    type_word,
    wanted,
)
from tune_experiments.sama.rule_domain import RuleDomain

MONEY, KNOWN, EQUIPPED, ARMED, ATTACKED = (
    "there is money",
    "the enemy is known",
    "a factory stands",
    "an army stands",
    "the enemy is attacked",
)
_PRICE_OF_A_FACTORY = 150
_SCENES_KEPT = 1024
_FACTORIES = (BARRACK, BLACKSMITH, STABLE, WORKSHOP)
_OBJECTS = (
    *("peasant", "spearman", "swordman", "cavalry", "dragon", "archer", "catapult", "town hall", "barrack"),
    *("blacksmith", "stable", "workshop", "guard tower", "resource", "money"),
)


class RtsDomain(RuleDomain[Subgoal]):
    """`GameDomain` for a team of one to three agents."""

    title, source = "MiniRTS", Path(rl_envs.minirts.__file__).parent
    agent, everybody, far = "agent", "all agents", FAR
    goal_order = (FIGHT, TRAIN, EQUIP, SCOUT, EARN, REST)
    kinds = OF_TEXT
    goals: tuple[str, ...] = GOALS
    objects: tuple[str, ...] = _OBJECTS
    goal_verbs: tuple[str, ...] = ("win", "lose", "destroy")
    action_verbs: tuple[str, ...] = ("mine", "build", "train", "attack", "scout")
    subgoals: SubgoalTexts = tuple(OF_TEXT)
    tests: Mapping[str, SubgoalTest] = TESTS
    skills: tuple[Skill, ...] = (
        Skill(EARN, frozenset(), frozenset({MONEY})),
        Skill(SCOUT, frozenset(), frozenset({KNOWN})),
        Skill(EQUIP, frozenset({MONEY, KNOWN}), frozenset({EQUIPPED})),
        Skill(TRAIN, frozenset({MONEY, KNOWN, EQUIPPED}), frozenset({ARMED})),
        Skill(FIGHT, frozenset({ARMED}), frozenset({ATTACKED})),
    )
    final_facts = frozenset({ATTACKED})
    earlier = "when the sub-goal was given"

    def __init__(self, num_agents: int) -> None:
        self.name = f"minirts_{num_agents}"
        self.agents = tuple(f"Agent {number + 1}" for number in range(num_agents))
        rules = files("tune_experiments.sama.minirts").joinpath("manual.txt").read_text(encoding="utf-8").strip()
        *others, last = self.agents
        self.map = f"Team: {', '.join(others)} and {last}." if others else f"Team: {last} alone."
        self.manual = f"{rules}\n{self.map}"
        self._scene = functools.lru_cache(_SCENES_KEPT)(functools.partial(Scene, num_agents))

    def situation(self, state: str) -> str:
        """See `Domain.situation`."""
        return _situation(self._scene(state))

    def statuses(self, state: str) -> tuple[str, ...]:
        """See `Domain.statuses`."""
        return tuple(
            f"{name} commands {_counted(hand.own)} ({hand.idle_peasants} peasants idle, {hand.fighters} fighters, "
            f"{hand.idle_factories.total()} buildings free)"
            for name, hand in zip(self.agents, self._scene(state).hands, strict=True)
        )

    def as_json(self, state: str, agent: int) -> Any:
        """See `Domain.as_json`; `me` is the agent that a reward is for."""
        scene = self._scene(state)
        hand = scene.hands[agent]
        numbers = {"idle": hand.idle_peasants, "gathering": hand.gathering, "attacking": hand.attacking}
        return {
            "decision": scene.decision,
            "money": scene.money,
            "seen": scene.seen,
            "team": _by_name(scene.own),
            "enemies": _by_name(scene.enemies),
            "me": {"own": _by_name(hand.own), **numbers},
        }

    def code(self, subgoal: str) -> str:
        """See `Domain.code`."""
        return reward_code(OF_TEXT[subgoal])

    def facts(self, state: str) -> frozenset[str]:
        """See `Domain.facts`."""
        scene = self._scene(state)
        own, kinds = scene.own, wanted(scene)
        tests = {
            MONEY: scene.money >= _PRICE_OF_A_FACTORY,
            KNOWN: bool(scene.threats),
            EQUIPPED: any(own[FACTORY[kind]] for kind in kinds),
            ARMED: sum(own[kind] for kind in ARMY) >= ENOUGH_TO_ATTACK,
        }
        return frozenset(fact for fact, holds in tests.items() if holds)

    def goal_list(self, state: str, length: int) -> tuple[str, ...]:
        """See `Domain.goal_list`: one army after another, beginning with the nearest goal."""
        facts = self.facts(state)
        first = [EARN] * (MONEY not in facts) + [SCOUT] * (KNOWN not in facts) + [EQUIP] * (EQUIPPED not in facts)
        whole = [*[TRAIN] * ENOUGH_TO_ATTACK, FIGHT, FIGHT]
        start = whole[ENOUGH_TO_ATTACK:] if ARMED in facts else []
        return tuple((start + first + whole * length)[:length])

    def _draw(self, numbers: random.Random) -> str:
        """A legal state: a hall, peasants, some factories and units of each side; enemies may be out of sight."""
        own = [HALL, *[PEASANT] * numbers.randint(1, 6), *numbers.sample(_FACTORIES, numbers.randint(0, 2))]
        own += [numbers.choice(ARMY) for _ in range(numbers.randint(0, 8))]
        enemies = [*([HALL] if numbers.random() < 0.5 else []), *numbers.sample(_FACTORIES, numbers.randint(0, 1))]
        enemies += [numbers.choice(ARMY) for _ in range(numbers.randint(0, 5))]
        visible = numbers.randint(100, 400)
        lines = [
            f"You have {10 * numbers.randint(0, 60)} money, you see {visible} of {NUM_CELLS} cells, and you have seen "
            f"{numbers.randint(0, NUM_CELLS - visible)} others before."
        ]
        for k, kind in enumerate(sorted(own)):
            activity = numbers.choice(("idle", "gathers resource 0")) if kind == PEASANT else "idle"
            agent = numbers.randrange(len(self.agents))
            lines.append(f"own {k} of agent {agent}: {UNITS[kind]} {_place(kind, numbers)}; {activity}.")
        for k, kind in enumerate(sorted(enemies)):
            sight = numbers.choice(("in sight", "out of sight")) if kind >= FIRST_BUILDING else "in sight"
            lines.append(f"enemy {k}: {UNITS[kind]} {_place(kind, numbers)}; {sight}.")
        lines.append(f"resource 0: {_place(0, numbers)}; out of sight.")
        seen = sorted({kind for kind in enemies if kind in ARMY})
        lately = ", ".join(f"{numbers.randint(1, 200)} % {UNITS[kind]}" for kind in seen) or NOBODY
        return "\n".join([*lines, f"Decision {numbers.randrange(256)}. Seen lately: {lately}."])

    def _choices(self, scene: Scene, goal: str | None) -> Iterator[tuple[Subgoal, ...]]:
        return choices(scene, goal)

    def _costs(self, state: str, subgoals: Sequence[str]) -> list[list[int]]:
        scene, kinds = self._scene(state), [self.kinds[text] for text in subgoals]
        return [[cost(scene, agent, one) for one in kinds] for agent in range(len(self.agents))]

    def _thoughts(self, scene: Scene, goal: str, texts: SubgoalTexts) -> str:
        threats = ", ".join(UNITS[kind] for kind in scene.threats) or NOBODY
        beats = ", ".join(UNITS[kind] for kind in wanted(scene)) or "not known yet"
        return (
            f"{_situation(scene)} The enemy seems to train {threats}; what beats that is {beats}. "
            f"So the goal is to {goal}. What can begin now and leads there: {'; '.join(texts)}."
        )


def _situation(scene: Scene) -> str:
    """The decision, money, own objects, and visible parts of the map and of the enemy."""
    idle = sum(hand.idle_peasants for hand in scene.hands)
    parts = [
        f"Decision {scene.decision}. Money {scene.money}",
        f"own: {_counted(scene.own)} ({idle} of {scene.own[PEASANT]} peasants idle)",
        f"being made: {_counted(scene.coming)}",
        f"{scene.seen} of {NUM_CELLS} cells were seen",
        f"enemies known: {_counted(scene.enemies)}",
    ]
    averages = [scene.lately.get(kind, 0) / 100 for kind in range(len(UNITS))]
    return f"{'; '.join(parts)}. {last_line(0, averages).partition('. ')[2]}"


def _counted(numbers: Mapping[int, int]) -> str:
    """Objects by type, as `3 peasants, 1 stable`."""
    parts = [f"{n} {_plural(UNITS[kind], n)}" for kind, n in sorted(numbers.items()) if n]
    return ", ".join(parts) or "nothing"


def _plural(name: str, number: int) -> str:
    if number == 1 or name == "cavalry":
        return name
    return f"{name[:-3]}men" if name.endswith("man") else f"{name}s"


def _by_name(numbers: Any) -> dict[str, int]:
    """Numbers of all types, by their names in states as JSON."""
    return {type_word(kind): int(numbers[kind]) for kind in range(PEASANT, NUM_TYPES)}


def _place(kind: int, numbers: random.Random) -> str:
    x, y = numbers.randrange(SIDE), numbers.randrange(SIDE)
    return f"at x {x}, y {y}, hp {MAX_HP[kind]} of {MAX_HP[kind]}"


get_domain = functools.cache(RtsDomain)
"""The domain of a team with a number of agents."""
