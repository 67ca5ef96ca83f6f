"""MiniRTS: where the time of a tick goes, in microseconds of one thread, medium script against medium script.

The loop is that of `rl_envs.minirts.kernels.play` with a clock between its parts; `whole` is the sum. An observation is
written once in 50 ticks; `observation` is its share of a tick. `rest` is what an env step costs beside these: Python,
copies, masks, new episodes; a share of a tick, too. What reading the clock costs is measured and taken off each part.
"""

import ctypes
from collections.abc import Iterator
from typing import Any

import numba
import numpy as np

from benchmarks.harness.clock import median, timed
from benchmarks.harness.measurements import Measurement
from rl_envs.minirts.batch import Player
from rl_envs.minirts.combat import fly
from rl_envs.minirts.effects import apply_all
from rl_envs.minirts.kernels import decides_now
from rl_envs.minirts.orders import drop_ended
from rl_envs.minirts.scripts import decide
from rl_envs.minirts.sight import look
from rl_envs.minirts.symbols import PLAYERS
from rl_envs.minirts.tick import begin_tick, find_winner, run_orders
from rl_envs.minirts.world import DECISION_TICKS, MiniRts
from rl_envs.registry import make

PARTS = ("ghosts", "scripts", "bullets", "orders", "effects", "sight", "end")
"""Parts of a tick in their order; `orders` walks, plans paths, shoots, gathers and builds, `end` tests for a winner."""
WORLDS, WARM_UP, STEPS, REPEATS = 64, 40, 10, 5
"""Number of worlds, decisions before the first measurement, decisions of a repeat, number of repeats."""
_MICROSECONDS = "us/tick"

_clock = ctypes.CDLL(None).clock_gettime
_clock.argtypes, _clock.restype = [ctypes.c_int, ctypes.c_void_p], ctypes.c_int
_THREAD_TIME = 3
"""Number of the clock of a thread's CPU time on Linux."""


_compiled: Any = numba.njit(error_model="numpy", nogil=True)


@_compiled  # without a cache, because the clock is an address in this process
def _timed_ticks(games, index, scratch, learned, ticks, seconds, now):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Play some ticks of a game that runs on, and add the nanoseconds of each part; `now` [2] is for the clock."""
    g, s = games[index], scratch[0]
    s.overflow = 0
    address = now.ctypes.data
    for _ in range(ticks):
        _clock(_THREAD_TIME, address)
        before = now[0] * 1_000_000_000 + now[1]
        for part in range(8):
            if part == 0:
                begin_tick(g)
            elif part == 1:
                for side in range(PLAYERS):
                    if decides_now(g, side):
                        decide(g, s, side)
            elif part == 2:
                s.num_effects = 0
                fly(g, s)
            elif part == 3:
                run_orders(g, s, learned)
            elif part == 4:
                apply_all(g, s)
            elif part == 5:
                drop_ended(g)
                look(g)
            elif part == 6:
                g.winner = find_winner(g)
                g.tick += 1
            _clock(_THREAD_TIME, address)
            after = now[0] * 1_000_000_000 + now[1]
            seconds[part] += after - before
            before = after


def measure() -> Iterator[Measurement]:
    """All measurements of this part."""
    world = make("minirts-v0", WORLDS, own_script="medium")
    assert isinstance(world, MiniRts)
    world.reset(0)
    idle = _idle(world)
    for _ in range(WARM_UP):
        world.step(idle)
    costs = [_one_repeat(world, idle) for _ in range(REPEATS + 1)][1:]
    found = {part: median([one[part] for one in costs]) for part in (*PARTS, "observation", "rest")}
    for part, cost in found.items():
        yield Measurement(f"minirts_profile.{part}.us_per_tick", cost, _MICROSECONDS)
    whole = median([sum(one[part] for part in PARTS) for one in costs])
    yield Measurement("minirts_profile.whole.us_per_tick", whole, _MICROSECONDS)


def _idle(world: MiniRts) -> dict[str, Any]:
    assert isinstance(world.action_spec, dict)
    return {name: np.zeros((WORLDS, 1), np.int64) for name in world.action_spec}


def _one_repeat(world: MiniRts, idle: dict[str, Any]) -> dict[str, float]:
    """Microseconds a tick of each part; the timed ticks run on copies, the world itself plays on by steps."""
    games, player, nanoseconds = world.games, Player(1), np.zeros(len(PARTS) + 1, np.int64)
    ticks, now = WORLDS * STEPS * DECISION_TICKS, np.zeros(2, np.int64)
    records, learned = games.records.copy(), games.learned.copy()
    for row in range(WORLDS):
        _timed_ticks(records, row, player.scratch, learned[row], STEPS * DECISION_TICKS, nanoseconds, now)
    stepping = sum(timed(world.step, idle)[1] for _ in range(STEPS))
    rows = np.arange(WORLDS)
    observing = sum(timed(player.observe, games, rows, 0, True)[1] for _ in range(STEPS))
    costs = nanoseconds / 1000 / ticks
    found = dict(zip(PARTS, (costs[:-1] - costs[-1]).tolist(), strict=True))  # the last part is the clock alone
    rest = 1e6 * (stepping - observing) / ticks - sum(found.values())
    return found | {"observation": 1e6 * observing / ticks, "rest": rest}
