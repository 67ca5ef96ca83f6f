"""The compiled functions that Python calls; each takes the array of games and the number of one."""

from __future__ import annotations

from rl_envs.minirts.compiled import entry
from rl_envs.minirts.factored import command_all, greet, note_commands
from rl_envs.minirts.observation import average_enemies, observe
from rl_envs.minirts.orders import issue, sort_orders
from rl_envs.minirts.planner import remember, store
from rl_envs.minirts.script_view import look_around
from rl_envs.minirts.scripts import PASSIVE, decide, start_script
from rl_envs.minirts.sight import look
from rl_envs.minirts.tick import begin_tick, finish_tick
from rl_envs.minirts.twister import seed_twister
from rl_envs.minirts.units import find


@entry
def begin(games, index):
    """Start a tick, up to the decisions."""
    begin_tick(games[index])


@entry
def finish(games, index, scratch, learned):
    """Play the rest of a tick."""
    finish_tick(games[index], scratch[0], learned)


@entry
def hand_over(games, index, unit, kind, target, build_type, hall, x, y, scale):
    """Issue one order; returns its fate."""
    return issue(games[index], unit, kind, target, build_type, hall, x, y, scale)


@entry
def open_eyes(games, index):
    """Compute the sight of both sides."""
    look(games[index])


@entry
def put_in_cache(games, index, player, start, goal, clock, way):
    """Put a way point into a side's planner cache."""
    remember(games[index], player, start, goal, clock, way)


@entry
def put_in_learned(games, index, scratch, learned, player, cell, goal, value):
    """Put a distance into the table of learned distances."""
    store(games[index], scratch[0], learned, int(player), int(cell), int(goal), value)


@entry
def sort(games, index):
    """Bring the list of orders into the order in which they run."""
    sort_orders(games[index])


@entry
def start_scripts(games, index, first_seed, second_seed):
    """Seed the scripts of both sides and draw their thresholds."""
    for player, seed in ((0, first_seed), (1, second_seed)):
        seed_twister(games[index], player, seed)
        if games[index].script_kind[player] != PASSIVE:
            start_script(games[index], player)


@entry
def script_turn(games, index, scratch, player):
    """Let a script decide for a side."""
    decide(games[index], scratch[0], player)


@entry
def watch(games, index, scratch, player, agents, out, true_hp, is_new):
    """Write a side's observation into `out` [1]; `is_new`: it is the first one of this decision."""
    g, s = games[index], scratch[0]
    look_around(g, s, player)
    if is_new:
        greet(g, s, player, agents)
        average_enemies(g, s, player)
    observe(g, s, player, out[0], true_hp)


@entry
def act(games, index, scratch, player, tables, continues):
    """Let a side's agents act, without handing the orders over; they stand in the scratch record."""
    g, s = games[index], scratch[0]
    look_around(g, s, player)
    command_all(g, s, player, tables, continues)
    note_commands(g, s)


@entry
def told(games, index, scratch, player, units, kinds, types, is_noted):
    """For replays: note recorded orders in the past of a side's units."""
    if is_noted:
        return
    g, s = games[index], scratch[0]
    look_around(g, s, player)
    s.give_kind[:] = 0
    for k in range(len(units)):
        row = find(g, units[k])
        s.give_kind[row], s.give_type[row] = kinds[k], types[k]
    note_commands(g, s)
