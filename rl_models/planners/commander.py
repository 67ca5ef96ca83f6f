"""A commander who replaces sub-goals by random ones (SAMA, appendix H, "Is the learned policy grounded?").

With share 0 all of the planner's commands stay, with share 1 none; in between each agent's command is replaced with
that probability. A policy that follows its commands does worse with a larger share.
"""

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

from rl_models.planners.domain import Domain
from rl_models.planners.plans import Plan

RandomFrom: TypeAlias = Literal["all", "possible"]


class RandomCommander:
    """Replaces commands; the result depends on seed, world and round only."""

    def __init__(self, domain: Domain, share: float, seed: int = 0, drawn_from: RandomFrom = "all") -> None:
        """Replace this share of commands by uniformly drawn sub-goals: all, or those that the agent can begin now.

        Raises ValueError where the share is no probability.
        """
        if not 0.0 <= share <= 1.0:
            raise ValueError(f"the share of random commands must lie between 0 and 1, not be {share}")
        self._domain, self._drawn_from = domain, drawn_from
        self._share, self._seed = share, seed

    def command(self, worlds: Sequence[int], rounds: Sequence[int], plans: Sequence[Plan]) -> list[Plan]:
        """The plans with some commands replaced."""
        return [self._replaced(world, number, plan) for world, number, plan in zip(worlds, rounds, plans, strict=True)]

    def _replaced(self, world: int, number: int, plan: Plan) -> Plan:
        numbers = random.Random(f"{self._seed} {world} {number}")
        # Both draws are made for every agent, so that a larger share keeps the replacements of a smaller one.
        draws: list[tuple[float, str]] = []
        for agent in range(len(plan.commands)):
            given = [text for _, text in draws]
            texts = self._domain.subgoals
            if self._drawn_from == "possible":
                texts = self._domain.possible_subgoals(plan.state, agent, given)
            draws.append((numbers.random(), numbers.choice(texts)))
        pairs = zip(draws, plan.commands, strict=True)
        commands = tuple(draw if luck < self._share else text for (luck, draw), text in pairs)
        return replace(plan, commands=commands)
