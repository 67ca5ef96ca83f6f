"""Episodes of the real kitchen under a planner, played by walking cooks: what an experiment does, without a network."""

import numpy as np

from rl_envs.overcooked.text import describe
from rl_models.planners.reward_book import RewardBook
from rl_models.planners.rounds import RoundEnd
from tests.planners.kitchens import WalkingCooks, features, open_kitchen, texts

ROUND_STEPS = 40


def play(layout, loop, domain, designed, steps=399, seed=0):
    """One episode; returns soups and the number of env steps that were played in vain (recovered)."""
    world = open_kitchen(layout)
    cooks = WalkingCooks(world, domain.kinds, seed)
    wasted = 0
    with RewardBook(designed, domain, features(world.kitchen), lambda state: describe_all(world, state)) as book:
        plan, t = loop.begin({0: texts(world)[0]})[0], 0
        while t < steps:
            start, begun = world.snapshot(), t
            reached = np.zeros((1, 2), bool)
            told = np.array([[book.texts.index(text) for text in plan.told]])
            while t < steps and t - begun < ROUND_STEPS and not reached.all():
                before = {name: value.copy() for name, value in world.state.items()}
                world.step(cooks.actions([plan.told], reached))
                reached |= book.reached(told, before, world.state)
                t += 1
            following = loop.end_rounds({0: RoundEnd(texts(world)[0], tuple(map(bool, reached[0])))})[0]
            if following.recovers:
                world.restore(start)
                wasted += t - begun
                t = begun
            plan = following.plan
        return int(world.state["soups"][0]), wasted


def describe_all(world, state):
    return [describe(world.kitchen, state, b) for b in range(world.num_worlds)]
