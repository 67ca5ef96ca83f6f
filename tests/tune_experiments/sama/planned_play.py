"""Episodes of the real kitchen under a planner, played by walking cooks: what an experiment does, without a network."""

import numpy as np

from rl_envs.overcooked.text import describe
from rl_models.planners.reward_book import RewardBook
from rl_models.planners.rounds import RoundEnd
from tests.tune_experiments.sama.kitchens import WalkingCooks, open_kitchen, texts

ROUND_STEPS = 40


class Episode:
    """One world, its cooks and its clock."""

    def __init__(self, layout, domain, designed, seed, steps):
        self.world = open_kitchen(layout)
        self.domain, self.seed, self.steps, self.t = domain, seed, steps, 0
        self.book = RewardBook(designed, domain, domain.tests, self.describe)
        self.start = self.world.snapshot()

    def describe(self, state):
        return [describe(self.world.kitchen, state, b) for b in range(self.world.num_worlds)]

    def round(self, commands):
        """Play until all sub-goals are reached or time is up; cooks who get the same round again do the same."""
        cooks = WalkingCooks(self.world, self.domain.kinds, [self.seed, self.t])
        reached, begun = np.zeros((1, 2), bool), self.t
        places = np.array([[self.book.texts.index(text) for text in commands]])
        while self.t < self.steps and self.t - begun < ROUND_STEPS and not reached.all():
            before = {name: value.copy() for name, value in self.world.state.items()}
            self.world.step(cooks.actions([commands], reached))
            reached |= self.book.reached(places, before, self.world.state)
            self.t += 1
        return tuple(map(bool, reached[0]))

    def back(self, snapshot, t):
        self.world.restore(snapshot)
        self.t = t


def play(layout, loop, domain, designed, steps=399, seed=0, replays=False):
    """One episode; returns soups and the number of env steps that were played in vain (recovered).

    A recovery is by snapshot; with `replays` it is by playing all rounds that stand once more from the start.
    """
    one, wasted = Episode(layout, domain, designed, seed, steps), 0
    with one.book:
        plan = loop.begin({0: texts(one.world)[0]})[0]
        while one.t < steps:
            snapshot, begun = one.world.snapshot(), one.t
            reached = one.round(plan.commands)
            if one.t == steps:
                break  # a round that the episode's end cuts off is not judged
            following = loop.end_rounds({0: RoundEnd(texts(one.world)[0], reached)})[0]
            if following.recovers:
                wasted += one.t - begun
                if replays:
                    one.back(one.start, 0)
                    for earlier in loop.history(0):
                        one.round(earlier.commands)
                    assert one.t == begun
                    now = one.world.snapshot()
                    assert all((now[name] == value).all() for name, value in snapshot.items())
                else:
                    one.back(snapshot, begun)
            plan = following.plan
        return int(one.world.state["soups"][0]), wasted
