"""From every state that play comes to, the rules go on: chefs idle only while something cooks, and soups are served.

Chefs who err can also end the game: see `is_dead`.
"""

import functools

import numpy as np
import pytest

from rl_envs.overcooked.kitchen import Kitchen
from rl_envs.overcooked.layouts import LAYOUTS
from rl_envs.overcooked.text import read_states
from tune_experiments.sama.overcooked.domain import get_domain
from tune_experiments.sama.overcooked.play import ScriptedExecutor
from tune_experiments.sama.overcooked.subgoals import FAR, Reachability, Scene, cost
from tune_experiments.sama.overcooked.world import CommandedKitchen

EPISODE, ROUND, WORLDS = 100, 40, 20
RANDOM_COMMANDS, RANDOM_CELLS = 0.2, 0.15


def planned(domain, state):
    found = domain.decompose(state, None, ())
    return [found.subgoals[which] for which in domain.allocate(state, found.subgoals, ()).order]


def reachable(layout, count):
    """States of play by chefs who err: some commands are random, and half of the teams now and then choose any cell."""
    domain, execute, numbers = get_domain(layout), ScriptedExecutor(layout), np.random.default_rng(0)
    world, found, step = CommandedKitchen(WORLDS, layout=layout), {}, 0
    ways, errs = ways_in(layout), np.arange(WORLDS)[:, None] % 2 == 0
    while len(found) < count:
        if step % EPISODE == 0:
            world.reset(step)
            world.state["reached"][:] = True
        for b, n in np.argwhere(world.state["reached"] | (numbers.random((WORLDS, 2)) < 0.05)).tolist():
            commands = planned(domain, world.describe_state(b))
            if numbers.random() < RANDOM_COMMANDS:
                scene = Scene(ways, world.describe_state(b))
                able = [one.text for one in domain.kinds.values() if cost(scene, n, one) < FAR]
                commands = [str(numbers.choice(able))] * 2
            world.command([b], [commands], [n])
        legal = world.observe()["legal"]
        anywhere = (numbers.random(legal.shape) * legal).argmax(-1)
        is_random = errs & (numbers.random((WORLDS, 2)) < RANDOM_CELLS)
        world.step(np.where(is_random, anywhere, execute(world)))
        step += 1
        if step % 20 == 0:
            found |= dict.fromkeys(map(world.describe_state, range(WORLDS)))
    return list(found)[:count]


@functools.cache
def ways_in(layout):
    return Reachability(Kitchen(LAYOUTS[layout]))


def is_dead(layout, state):
    """Whether no actions lead on: all chefs hold onions, all pots are full, and so is every counter in reach."""
    kitchen, scene = ways_in(layout).kitchen, Scene(ways_in(layout), state)
    counters = np.flatnonzero(kitchen.place_cells("counter") & kitchen.reach.any(0))
    is_full = set(counters) <= set(scene.lying) and not any(pot.has_room for pot in scene.pots)
    return is_full and scene.holds == ["onion", "onion"]


def check(layout, count):
    domain = get_domain(layout)
    states = [state for state in reachable(layout, count) if not is_dead(layout, state)]
    assert len(states) > 0.99 * count
    for state in states:
        commands = planned(domain, state)
        if all(domain.kinds[text].kind == "wait" for text in commands):
            assert "has cooked for" in state, (state, commands)
    assert not unserved(layout, states)


def unserved(layout, states):
    """States from which scripted chefs under the rules serve no soup in 300 env steps."""
    domain, execute, world = get_domain(layout), ScriptedExecutor(layout), CommandedKitchen(len(states), layout=layout)
    world.reset(0)
    starts = read_states(world.kitchen, states)
    world.restore(starts | {"episode_length": np.zeros(len(states), int)})
    in_round, served = np.full(len(states), ROUND), np.zeros(len(states), bool)
    for _ in range(300):
        over = np.flatnonzero((world.state["reached"].all(1) | (in_round >= ROUND)) & ~served)
        for b in over.tolist():
            world.command([b], [planned(domain, world.describe_state(b))])
            in_round[b] = 0
        world.step(execute(world))
        in_round += 1
        served |= world.state["soups"] > starts["soups"]
        if served.all():
            break
    return [state for state, is_served in zip(states, served, strict=True) if not is_served]


@pytest.mark.long
@pytest.mark.parametrize("layout", ["counter_circuit_o_1order", "forced_coordination"])
def test_chefs_idle_only_while_something_cooks_and_serve_from_every_state(layout):
    check(layout, 60)


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_same_from_three_thousand_states_of_every_kitchen(layout):
    check(layout, 3000)
