"""MiniRTS in sentences for people and models: the situation, the agents, and reasons for a plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from rl_envs.minirts.symbols import NUM_CELLS, PEASANT, UNITS
from tune_experiments.sama.minirts.scene import NOBODY, Scene, last_line

OBJECTS = (
    *("peasant", "spearman", "swordman", "cavalry", "dragon", "archer", "catapult", "town hall", "barrack"),
    *("blacksmith", "stable", "workshop", "guard tower", "resource", "money"),
)


def agent_name(number: int) -> str:
    """Name of an agent for the planner; `number` counts from 0."""
    return f"Agent {number + 1}"


def describe_team(num_agents: int) -> str:
    """Sentence that names the agents of the team."""
    names = [agent_name(number) for number in range(num_agents)]
    return f"Team: {', '.join(names[:-1])} and {names[-1]}." if num_agents > 1 else f"Team: {names[0]} alone."


def situation(scene: Scene) -> str:
    """The decision, money, own objects, what is seen of the map and of the enemy."""
    idle = sum(hand.idle_peasants for hand in scene.hands)
    parts = [
        f"Decision {scene.decision}. Money {scene.money}",
        f"own: {counted(scene.own)} ({idle} of {scene.own[PEASANT]} peasants idle)",
        f"being made: {counted(scene.coming)}",
        f"{scene.seen} of {NUM_CELLS} cells were seen",
        f"enemies known: {counted(scene.enemies)}",
    ]
    return f"{'; '.join(parts)}. {last_line(0, _averages(scene)).partition('. ')[2]}"


def statuses(scene: Scene) -> tuple[str, ...]:
    """Sentence on each agent: the units and buildings that it commands."""
    return tuple(
        f"{agent_name(number)} commands {counted(hand.own)} ({hand.idle_peasants} peasants idle, {hand.fighters} "
        f"fighters, {hand.idle_factories.total()} buildings free)"
        for number, hand in enumerate(scene.hands)
    )


def thoughts(scene: Scene, goal: str, subgoals: Sequence[str], wanted: Sequence[int]) -> str:
    """Why this goal and these sub-goals."""
    threats = ", ".join(UNITS[kind] for kind in scene.threats) or NOBODY
    beats = ", ".join(UNITS[kind] for kind in wanted) or "not known yet"
    return (
        f"{situation(scene)} The enemy seems to train {threats}; what beats that is {beats}. So the goal is to {goal}. "
        f"What can begin now and leads there: {'; '.join(subgoals)}."
    )


def counted(numbers: Mapping[int, int]) -> str:
    """Objects by type, as `3 peasants, 1 stable`."""
    parts = [f"{n} {_plural(UNITS[kind], n)}" for kind, n in sorted(numbers.items()) if n]
    return ", ".join(parts) or "nothing"


def _plural(name: str, number: int) -> str:
    if number == 1 or name == "cavalry":
        return name
    return f"{name[:-3]}men" if name.endswith("man") else f"{name}s"


def _averages(scene: Scene) -> list[float]:
    shares = Counter(scene.lately)
    return [shares[kind] / 100 for kind in range(len(UNITS))]
