"""Kitchens for tests of the planner: callers, episodes of scripted chefs, and play in which sub-goals are reached."""

import functools
import itertools
from contextlib import closing

import numpy as np

from rl_envs.overcooked.text import describe, read_states
from rl_envs.overcooked.world import Overcooked
from rl_models.chat.client import ChatClient
from rl_models.chat.record import Recorded
from rl_models.planners.calling import Caller
from rl_models.planners.noisy import NOISES, NoisyBackend
from rl_models.planners.offline import MODEL, OfflineBackend
from rl_models.planners.rewards import Transitions
from rl_models.planners.transcript import Transcript
from tune_experiments.sama.overcooked.domain import get_domain
from tune_experiments.sama.overcooked.play import KitchenPlay, ScriptedExecutor
from tune_experiments.sama.overcooked.subgoals import FAR, Reachability, Scene, cost
from tune_experiments.sama.overcooked.world import CommandedKitchen
from tune_experiments.sama.play import PlannedPlay


def caller_of(layout, noise=None, seed=0, folder=None):
    """Rules, wrong on purpose with a noise; record and transcript are in the folder, if there is one."""
    domain = get_domain(layout)
    backend = NoisyBackend(domain, NOISES[noise], seed) if noise else OfflineBackend()
    model = backend.model if noise else MODEL
    if folder is None:
        return Caller(ChatClient(backend, 1), model, seed=seed)
    transport = Recorded(folder / "planner.jsonl", backend)
    return Caller(ChatClient(transport, 1), model, Transcript(folder / "planner.md"), seed)


def play(layout, loop, steps=400):
    """One episode of scripted chefs under a planner, name -> its number."""
    with closing(CommandedKitchen(1, layout=layout, max_episode_steps=steps)) as world:
        found = PlannedPlay(KitchenPlay(world), ScriptedExecutor(layout), loop, 40).run(0)
    return {name: float(value[0]) for name, value in found.items()}


def open_kitchen(layout, worlds=1):
    world = Overcooked(worlds, layout=layout, actions="any")
    world.reset(0)
    return world


def texts(world):
    return [describe(world.kitchen, world.state, b) for b in range(world.num_worlds)]


@functools.cache
def roll(layout, worlds=64, steps=60, seed=0):
    """Steps of scripted chefs with random sub-goals that they can begin: states before and after, and their texts."""
    domain, world, execute = get_domain(layout), CommandedKitchen(worlds, layout=layout), ScriptedExecutor(layout)
    world.reset(seed)
    world.restore(read_states(world.kitchen, domain.diverse_states(worlds, seed)))
    numbers, ways = np.random.default_rng(seed), Reachability(world.kitchen)
    moments = []
    world.state["reached"][:] = True
    for _ in range(steps):
        for b, n in np.argwhere((numbers.random((worlds, 2)) < 0.05) | world.state["reached"]).tolist():
            scene = Scene(ways, world.describe_state(b))
            able = [one.text for one in domain.kinds.values() if cost(scene, n, one) < FAR]
            world.command([b], [[str(numbers.choice(able))] * 2], [n])
        before, words = {name: value.copy() for name, value in world.state.items()}, texts(world)
        world.step(execute(world))
        after = {name: value.copy() for name, value in world.state.items()}
        moments.append((before, after, list(zip(words, texts(world), strict=True))))
    before, after, pairs = zip(*moments, strict=True)
    return world.kitchen, domain, Transitions.join(before, after, tuple(itertools.chain(*pairs)))


PAPER = r"""
\begin{document}
Deep networks have been applied to a great many hard problems in the course of the last ten years.

Two chefs cook \emph{soup}. Each chef must put three onions into the pot, which then cooks for 20 steps \cite{x}.
When the soup is ready a chef needs a dish for it, and delivers it to the hatch.
\end{document}
"""
