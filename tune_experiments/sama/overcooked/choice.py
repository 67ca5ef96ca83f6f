"""Choice of the chefs' sub-goals: all pairs that can begin now, ranked by their value per env step.

The value of a pair is its work on the next soups, by env step of the round, which lasts as long as the longer of its
two sub-goals (SAMA, section 3.2: goals that lead to the reward). Work on a soup is three onions, a dish, to fill it and
to serve it; a handed-over thing counts half.
"""

import functools
import itertools
from collections import Counter
from collections.abc import Sequence

from rl_envs.overcooked.words import POT_ONIONS
from tune_experiments.sama.overcooked.subgoals import COUNTER, FAR, MIDDLE_COUNTER, Scene, Subgoal, cost, emptied_pots

_ONION, _DISH, _FILL, _SERVE = 1.0, 0.8, 1.5, 1.5
_OF_A_FULLER_POT, _LAST_ONION = 0.1, 0.5
"""Bonus for each onion already in the pot, and for the one that starts the cooking."""
_HANDED_OVER = 0.5
"""Share of the work done for a thing on the middle counter."""
_TIDY, _TRUSTED = 0.02, 0.0001
"""Values of empty hands or a free counter if nothing else can be done, and of waiting at the middle counter."""
_TURNS = 2
"""Env steps from a pot to the hatch in addition to the distance."""


def choices(scene: Scene, subgoals: Sequence[Subgoal]) -> list[tuple[Subgoal, ...]]:
    """All compatible combinations of sub-goals, one for each chef, the best first; ties by the order of sub-goals."""
    price = functools.cache(lambda chef, number, emptied: cost(scene, chef, subgoals[number], emptied))
    all_pots, numbers = frozenset(scene.ways.pots), range(len(subgoals))
    options = [[number for number in numbers if price(chef, number, all_pots) < FAR] for chef in range(len(scene.at))]
    found = []
    for each in itertools.product(*options):
        chosen = tuple(subgoals[number] for number in each)
        emptied = emptied_pots(chosen)
        steps = [price(chef, number, emptied) for chef, number in enumerate(each)]
        if max(steps) < FAR and _compatible(scene, chosen):
            found.append(((value_per_step(scene, chosen, steps), -sum(steps)), chosen))
    found.sort(key=lambda one: one[0], reverse=True)
    return [chosen for _, chosen in found]


def value_per_step(scene: Scene, chosen: Sequence[Subgoal], steps: Sequence[int]) -> float:
    """Work of a pair of sub-goals on the next soups, by env step of its round; `steps` are those of each chef."""
    return _Work(scene, chosen).worth() / (1 + max(steps))


class _Work:
    """Work of a pair of sub-goals on the next soups."""

    def __init__(self, scene: Scene, chosen: Sequence[Subgoal]) -> None:
        self._scene, self._chosen, self._ways = scene, chosen, scene.ways
        self._on_middle = scene.on_middle
        self._onions = Counter(one.target for one in chosen if one.kind == "bring" and one.target in self._ways.pots)

    def worth(self) -> float:
        """Sum over the chefs; 0 if both are idle."""
        return sum(self._pot_values()) + sum(self._subgoal_value(chef, one) for chef, one in enumerate(self._chosen))

    def _pot_values(self) -> list[float]:
        emptied, found = emptied_pots(self._chosen), []
        for name, number in self._onions.items():
            before = 0 if name in emptied else self._scene.pot(name).onions
            is_last = before + number == POT_ONIONS
            found.append(number * (_ONION + _OF_A_FULLER_POT * before) + is_last * _LAST_ONION)
        return found

    def _subgoal_value(self, chef: int, one: Subgoal) -> float:
        if one.kind == "bring" and one.target in self._ways.pots:
            return -_HANDED_OVER * _ONION if one.origin == MIDDLE_COUNTER else 0.0
        if one.kind == "clear":
            return _TIDY if self._is_useless(chef, one.thing) else -_TIDY
        if one.thing == "dish" and one.kind in ("fetch", "bring"):
            return self._dish_value(chef, one)
        if one.thing == "onion":
            return self._onion_handover_value(chef) if one.kind == "bring" else self._freeing_value()
        if one.kind == "fetch":  # a soup on a counter
            return _FILL * _HANDED_OVER if self._ways.reaches(self._scene.at[chef], "hatch") else 0.0
        if one.kind == "fill":
            return _FILL * self._aptitude(chef)
        if one.kind == "serve":
            return _SERVE
        return _TRUSTED if one.target == MIDDLE_COUNTER else 0.0

    def _aptitude(self, chef: int) -> float:
        """Suitability of a chef for serving, from 0 to 1 for the shortest way from a pot to the hatch."""
        ways = [_TURNS + self._ways.trip(at, "pot", "hatch") for at in self._scene.at]
        return (min(ways) / ways[chef]) ** 2

    def _onion_handover_value(self, chef: int) -> float:
        """Value of an onion on the middle counter: up to as many as the pots take, with one cell left for a dish."""
        stock, room = self._on_middle["onion"], sum(POT_ONIONS - pot.onions for pot in self._scene.pots)
        is_free = self._on_middle.total() < len(self._ways.cells[MIDDLE_COUNTER]) - (stock > 0)
        if stock >= max(room, POT_ONIONS) or not is_free:
            return -_HANDED_OVER
        return _HANDED_OVER * _ONION * (1.0 if stock < room else 0.5)

    def _freeing_value(self) -> float:
        """Value of clearing a middle counter that is full of useless things, or that a chef needs."""
        is_full = self._ways.hands_over and self._on_middle.total() == len(self._ways.cells[MIDDLE_COUNTER])
        has_room = any(pot.has_room for pot in self._scene.pots)
        is_needed = self._on_middle["soup"] or (self._on_middle["onion"] and has_room)
        is_needed = is_needed or (self._on_middle["dish"] and self._soups())
        return _TIDY if is_full and (self._blocks_hands() or not is_needed) else -_TIDY

    def _blocks_hands(self) -> bool:
        """Whether a chef holds something useless and has no counter to put it on."""
        scene, ways = self._scene, self._ways
        free = tuple(cell for cell in ways.cells[COUNTER] if cell not in scene.lying)
        return any(
            holds != "nothing" and self._is_useless(chef, holds) and ways.to_nearest(at, free)[0] >= FAR
            for chef, (at, holds) in enumerate(zip(scene.at, scene.holds, strict=True))
        )

    def _dish_value(self, chef: int, one: Subgoal) -> float:
        held = sum(
            holds == "dish" and self._ways.reaches(at, "pot")
            for at, holds in zip(self._scene.at, self._scene.holds, strict=True)
        )
        lying = self._on_middle["dish"] if self._ways.hands_over else 0
        is_taken_up = one.origin == MIDDLE_COUNTER
        if not one.target and not self._ways.reaches(self._scene.at[chef], "pot"):
            return self._freeing_value() if is_taken_up else -_DISH
        if self._soups() - held - (0 if is_taken_up else lying) <= 0:
            return self._freeing_value() if is_taken_up else -_DISH
        if one.target == MIDDLE_COUNTER:
            needs_help = not any(
                self._ways.reaches(at, "dish store") and self._ways.reaches(at, "pot") for at in self._scene.at
            )
            return _HANDED_OVER * _DISH if needs_help else 0.0
        others_can = any(holds != "onion" for other, holds in enumerate(self._scene.holds) if other != chef)
        return _DISH * (2 * self._aptitude(chef) - 1 if others_can else 1)

    def _soups(self) -> int:
        """Pots that need a dish: full ones, and those that are full after the round."""
        pots = zip(self._ways.pots, self._scene.pots, strict=True)
        return sum(not pot.has_room or pot.onions + self._onions[name] == POT_ONIONS for name, pot in pots)

    def _is_useless(self, chef: int, thing: str) -> bool:
        """Whether a chef's held thing blocks the kitchen."""
        scene, ways = self._scene, self._ways
        if thing == "soup":
            return not ways.reaches(scene.at[chef], "hatch")
        others = [
            holds
            for other, (at, holds) in enumerate(zip(scene.at, scene.holds, strict=True))
            if other != chef and ways.reaches(at, "pot")
        ]
        full = sum(not pot.has_room for pot in scene.pots)
        if thing == "dish":
            return full <= others.count("dish")
        return full == len(scene.pots) and not {"nothing", "dish"}.intersection(others)


def _compatible(scene: Scene, chosen: Sequence[Subgoal]) -> bool:
    """Whether all can be done in the same round without conflicts over onions, pots or dishes."""
    into_pots = Counter(one.target for one in chosen if one.kind == "bring" and one.target in scene.ways.pots)
    emptied = emptied_pots(chosen)
    for pot, number in into_pots.items():
        if number > (POT_ONIONS if pot in emptied else POT_ONIONS - scene.pot(pot).onions):
            return False
    # A chef that waits at a pot blocks another chef in the same room.
    waits = [one.target in scene.ways.pots for one in chosen if one.kind == "wait"]
    if len(scene.ways.rooms) == 1 and len(waits) < len(chosen) and any(waits):
        return False
    # If both chefs hand over, none is left to receive.
    exclusive = [
        (one.kind, one.target)
        for one in chosen
        if one.kind in ("fill", "clear") or (one.kind == "bring" and one.target not in into_pots)
    ]
    if len(set(exclusive)) < len(exclusive):
        return False
    on_middle = scene.on_middle
    laid = {one.kind for one in chosen if one.target in (COUNTER, MIDDLE_COUNTER)}
    if laid >= {"clear", "bring"} and len(scene.ways.cells[MIDDLE_COUNTER]) - on_middle.total() < 2:
        return False
    takers = Counter(one.thing for one in chosen if one.origin == MIDDLE_COUNTER)
    if any(number > on_middle[thing] + scene.holds.count(thing) for thing, number in takers.items()):
        return False
    dishes = sum(one.thing == "dish" and one.kind in ("fetch", "bring") for one in chosen)
    return dishes <= max(1, sum(not pot.has_room for pot in scene.pots))
