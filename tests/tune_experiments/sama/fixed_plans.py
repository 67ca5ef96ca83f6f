"""A planning loop without a planner."""

import itertools

from rl_models.planners.plans import Plan
from rl_models.planners.rounds import NextRound


class FixedPlans:
    """Commands one world: first `undone`, each in a round that is taken back, then the same in every round."""

    def __init__(self, commands, undone=()):
        self.commands, self.left, self.ends = itertools.chain(undone, itertools.repeat(commands)), len(undone), []

    def _plan(self):
        commands = next(self.commands)
        return Plan("", "a goal", commands, (0, 1), commands)

    def begin(self, states):
        return {0: self._plan()}

    def end_rounds(self, ends):
        self.ends.append(ends[0])
        recovers = not all(ends[0].reached) and self.left > 0
        self.left -= recovers
        return {0: NextRound(self._plan(), recovers)}
