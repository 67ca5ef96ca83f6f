"""A scripted executor of commands, as a baseline without training.

`rl_envs/minirts/phrases.py` executes a phrase. Other units mine if they are idle peasants, and attack if they are
fighters of an agent that has at least five. This shows the value of a commander's commands without training.
"""

from __future__ import annotations

from contextlib import closing

import numpy as np

from rl_envs.core.spec import Array, Arrays
from rl_envs.minirts.factored import C_CONTINUE
from rl_envs.minirts.phrases import ATTACK, MINE, commands_for
from rl_envs.minirts.symbols import ARMY
from tune_experiments.experiment.plan import Episodes
from tune_experiments.red.config import RedConfig, make_world
from tune_experiments.red.decisions import per_unit_actions

METRICS = {"win_rate": "win", "ticks": "ticks", "length": "length"}
"""Metric -> its name in the world."""
FIGHTERS = 5
"""Number of fighters from which they attack without a command."""


def play_scripted(config: RedConfig, commander: str, episodes: int, seed: int) -> Episodes:
    """Whole games of scripted executors under a commander, one in each world; the metrics of `METRICS`, [K] each.

    Args:
        config: configuration of the run.
        commander: one of `COMMANDERS`.
        episodes: K.
        seed: as for a trained team, in the same games.
    """
    with closing(make_world(config, episodes, commander=commander, actions="per_unit")) as world:
        world.reset(seed)
        world.auto_resets = False
        found = {name: np.zeros(episodes) for name in METRICS}
        is_playing = np.ones(episodes, bool)
        while is_playing.any():
            words = [world.latest_commands(index) for index in range(episodes)]
            seen = world.see_all()
            tables = np.stack([team_commands(seen, index, phrases) for index, phrases in enumerate(words)])
            *_, info = world.step(per_unit_actions(tables))
            done = info["done_worlds"]
            if not len(done):
                continue
            fresh = is_playing[done]
            for name, key in METRICS.items():
                found[name][done[fresh]] = info["episode"][key][fresh]
            is_playing[done] = False
            if is_playing.any():
                world.next_episode(done)
    return found


def unit_commands(phrase: str, view: Arrays) -> Array:
    """Commands of an agent's units, [50, 7] int32 as `commands_for` gives them.

    Args:
        phrase: its command, one of `PHRASES`, or "".
        view: what it observes.
    """
    table = commands_for(phrase, view)
    fighters = int((view["owned"] & np.isin(view["own_type"], ARMY)).sum())
    for beside in (MINE, ATTACK) if fighters >= FIGHTERS else (MINE,):
        other = commands_for(beside, view)
        is_free = (table[:, 0] == C_CONTINUE) & (other[:, 0] != C_CONTINUE)
        table[is_free] = other[is_free]
    return table


def team_commands(seen: Arrays, index: int, words: list[str]) -> Array:
    """Commands of all agents of a world, [N, 50, 7].

    Args:
        seen: the game's own observations, name -> [B, N, ...].
        index: number of the world.
        words: each agent's command, as for `unit_commands`.
    """
    return np.stack(
        [
            unit_commands(phrase, {name: value[index, agent] for name, value in seen.items()})
            for agent, phrase in enumerate(words)
        ]
    )
