"""Which sub-goals the chefs of a kitchen should have now: every pair that can begin, weighed.

The order of scores follows the soup: what is nearest to being served comes first (SAMA, section 3.2: goals that lead to
the reward).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rl_envs.overcooked.words import POT_ONIONS
from tune_experiments.sama.overcooked.scene import FAR, MIDDLE_COUNTER, Scene
from tune_experiments.sama.overcooked.subgoals import Subgoal, cost
from tune_experiments.sama.rule_domain import ranked

_STEP_PRICE = 1.0
_OF_THE_GOAL = 200.0
"""Score of belonging to a goal that is given: above every other."""


def choices(scene: Scene, subgoals: Sequence[Subgoal], goal: str | None = None) -> list[tuple[Subgoal, ...]]:
    """All compatible ways to occupy the chefs, in their order, the best first; ties by the order of sub-goals."""
    options = [
        [
            (one, _score(scene, chef, one) - _STEP_PRICE * steps + _OF_THE_GOAL * (one.goal == goal))
            for one in subgoals
            if (steps := cost(scene, chef, one)) < FAR
        ]
        for chef in range(len(scene.at))
    ]
    return [chosen for chosen in ranked(options) if _compatible(scene, chosen)]


def _score(scene: Scene, chef: int, one: Subgoal) -> float:
    if one.kind == "serve":
        return 100.0
    if one.kind == "fill":
        return 90.0 - scene.pot(one.target).steps_left
    if one.kind == "wait":
        return 3.0 if one.target == MIDDLE_COUNTER else 1.0
    if one.kind == "clear":
        return _score_of_clearing(scene, chef, one)
    return _score_of_a_dish(scene, one) if one.thing == "dish" else _score_of_an_onion(scene, chef, one)


def _score_of_an_onion(scene: Scene, chef: int, one: Subgoal) -> float:
    ways = scene.ways
    if one.target in ways.pots:
        # Fuller pots first, and what lies ready before what must be fetched.
        lies_ready = 8.0 if one.origin == MIDDLE_COUNTER else 0.0
        return 50.0 + 6.0 * scene.pot(one.target).onions + lies_ready
    on_middle = _on_middle(scene)
    stock, room = on_middle["onion"], sum(POT_ONIONS - pot.onions for pot in scene.pots)
    # One cell stays free: with onions everywhere no dish could be handed over, and nothing would move again.
    is_needed = stock < max(room, POT_ONIONS) and on_middle.total() < len(ways.cells[MIDDLE_COUNTER]) - 1
    must = not ways.reaches(scene.at[chef], "pot")
    return (60.0 if must else 52.0) - 8.0 * stock if is_needed else -5.0


def _score_of_a_dish(scene: Scene, one: Subgoal) -> float:
    ways, full = scene.ways, [pot for pot in scene.pots if not pot.has_room]
    is_passed_on = one.origin == MIDDLE_COUNTER
    lying = Counter(scene.lying.values())["dish"] if ways.hands_over and not is_passed_on else 0
    if len(full) - scene.holds.count("dish") - lying <= 0:
        return -10.0
    urgency = 80.0 - min(pot.steps_left for pot in full)
    one_can_do_both = any(ways.reaches(at, "dish store") and ways.reaches(at, "pot 0") for at in scene.at)
    if one.target == MIDDLE_COUNTER and one_can_do_both:
        return urgency - 60.0
    return urgency + (5.0 if is_passed_on else 0.0)


def _score_of_clearing(scene: Scene, chef: int, one: Subgoal) -> float:
    """Empty hands are wanted when a soup waits for a dish that no chef can fetch, or dishes keep pots from filling."""
    others_free = any(held in ("nothing", "dish") for other, held in enumerate(scene.holds) if other != chef)
    waiting = any(not pot.has_room for pot in scene.pots)
    if one.thing == "onion":
        return 40.0 if waiting and not others_free else 0.5
    return 20.0 if not waiting else 0.5


def _compatible(scene: Scene, chosen: Sequence[Subgoal]) -> bool:
    """Whether all can be done in the same round without one taking the other's onion, pot or dish."""
    into_pots = Counter(one.target for one in chosen if one.kind == "bring" and one.target in scene.ways.pots)
    if any(POT_ONIONS - scene.pot(pot).onions < number for pot, number in into_pots.items()):
        return False
    # If both chefs hand over, none is left to receive.
    exclusive = [
        (one.kind, one.target)
        for one in chosen
        if one.kind in ("fill", "clear") or (one.kind == "bring" and one.target not in into_pots)
    ]
    if len(set(exclusive)) < len(exclusive):
        return False
    on_middle = _on_middle(scene)
    takers = Counter(one.thing for one in chosen if one.origin == MIDDLE_COUNTER)
    if any(number > on_middle[thing] + scene.holds.count(thing) for thing, number in takers.items()):
        return False
    dishes = sum(one.thing == "dish" and one.kind in ("fetch", "bring") for one in chosen)
    return dishes <= max(1, sum(not pot.has_room for pot in scene.pots))


def _on_middle(scene: Scene) -> Counter[str]:
    """How many of each thing lie on the middle counter."""
    return Counter(thing for cell, thing in scene.lying.items() if cell in scene.ways.cells[MIDDLE_COUNTER])
