"""The compiled functions that Python calls; each takes the array of games and the number of one."""

from rl_envs.core.compiled import entry, kernel
from rl_envs.minirts.factored import assign_new_objects, command_all, note_commands
from rl_envs.minirts.observation import average_enemies, observe
from rl_envs.minirts.orders import issue, sort_orders
from rl_envs.minirts.planner import first_slot, remember, store
from rl_envs.minirts.script_view import look_around
from rl_envs.minirts.scripts import decide, issue_decided, start_script
from rl_envs.minirts.sight import look
from rl_envs.minirts.symbols import LEARNER, PLAYERS, SIMPLE, STRONG
from rl_envs.minirts.tick import RUNNING, begin_tick, finish_tick
from rl_envs.minirts.twister import seed_twister
from rl_envs.minirts.units import find


@entry
def begin(games, index):
    """Start a tick, up to the decisions."""
    begin_tick(games[index])


@entry
def issue_order(games, index, unit, kind, target, build_type, hall, x, y, scale):
    """Issue one order; returns its result."""
    return issue(games[index], unit, kind, target, build_type, hall, x, y, scale)


@entry
def put_in_cache(games, index, player, start, goal, clock, way):
    """Put a way point into a side's planner cache."""
    remember(games[index], player, 0, start, goal, clock, way)


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
        if SIMPLE <= games[index].script_kind[player] <= STRONG:
            start_script(games[index], player)


@entry
def watch(games, index, scratch, player, out, true_hp, is_new):
    """Write a side's observation into `out` [1], which holds zeros; `is_new` for replays: a decision begins."""
    g, s = games[index], scratch[0]
    look_around(g, s, player)
    if is_new:
        assign_new_objects(g, s, player, 1)
        average_enemies(g, s, player)
    observe(g, s, player, out[0], true_hp)


@kernel
def prepare(g, s, agents):
    """Prepare a decision: assign new units to agents and update the average of enemies."""
    for player in range(PLAYERS):
        if g.script_kind[player] == LEARNER:
            look_around(g, s, player)
            assign_new_objects(g, s, player, agents)
            average_enemies(g, s, player)


@entry
def settle(games, index, scratch, agents, is_new):
    """Complete a restored game: sight of both sides if it `is_new`, and agents of units without one."""
    g, s = games[index], scratch[0]
    if is_new:
        look(g)
    for player in range(PLAYERS):
        if g.script_kind[player] == LEARNER:
            look_around(g, s, player)
            assign_new_objects(g, s, player, agents)


@kernel
def decides_now(g, player):
    """Whether a side decides in this tick."""
    return (g.tick + 1) % g.interval[player] == 0


PLAY, START, TICK, FINISH, SCRIPT, COMMAND = range(6)
"""Modes of `play`: from one decision to the next; from a fresh game to the first decision; one tick; for replays: the
rest of one tick, a script's decision, a learner's commands without issuing them."""


@entry
def play(games, index, scratch, learned, tables, continues, what, player):
    """Continue a game; a single function, because each entry is compiled with everything that it calls.

    `learned`: [C] slots of learned distances; `tables` [N, 50, 7] and `continues` [N]: the learner's; `what`: PLAY and
    so on; `player`: side of SCRIPT and COMMAND.
    """
    g, s = games[index], scratch[0]
    s.overflow = 0
    decides = what in (PLAY, TICK)
    commands = what == PLAY or (what == TICK and decides_now(g, 0))
    if what == START:
        look(g)
        begin_tick(g)
        decides = not decides_now(g, 0)
    for side in range(PLAYERS):
        if (commands and g.script_kind[side] == LEARNER) or (what == COMMAND and side == player):
            look_around(g, s, side)
            command_all(g, s, side, tables, continues)
            note_commands(g, s)
            if commands:
                issue_decided(g, s)
    while decides or what >= FINISH:
        for side in range(PLAYERS):
            if (decides and decides_now(g, side)) or (what == SCRIPT and side == player):
                decide(g, s, side)
        if what > FINISH:
            return
        finish_tick(g, s, learned)
        if what == FINISH or g.result != RUNNING or s.overflow:
            break
        begin_tick(g)
        decides = what != TICK and not decides_now(g, 0)
    if what < FINISH and (what != TICK or decides_now(g, 0) or g.result != RUNNING):
        prepare(g, s, len(continues))


@entry
def copy_learned(source, target):
    """Copy a table of learned distances into a larger one of zeros."""
    mask = len(target) - 1
    for k in range(len(source)):
        if source[k].key != 0:
            slot = first_slot(source[k].key, mask)
            while target[slot].key != 0:
                slot = (slot + 1) & mask
            target[slot].key, target[slot].value = source[k].key, source[k].value


@entry
def note_orders(games, index, scratch, player, units, kinds, types):
    """Append recorded orders to the command histories of a side's units, for replays."""
    g, s = games[index], scratch[0]
    look_around(g, s, player)
    s.give_kind[:] = 0
    for k in range(len(units)):
        row = find(g, units[k])
        s.give_kind[row], s.give_type[row] = kinds[k], types[k]
    note_commands(g, s)
