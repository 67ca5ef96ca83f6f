"""Script against script, beside the authors' engine: `python -m tests.rl_envs.minirts.script_matches [--games 60]`.

Win rates of each pair are compared by Fisher's exact test, all together by Holm's correction. The engine's numbers are
those of the reference sheet, section 1.11. Every game of a run has seeds of its own.
"""

import argparse
from dataclasses import dataclass

import numpy as np
from scipy.stats import fisher_exact

from rl_envs.minirts import kernels
from rl_envs.minirts.batch import Games, Player, set_map
from rl_envs.minirts.opponents import get_opponent
from rl_envs.minirts.tick import RUNNING

MAX_TICK = 20_000


@dataclass(frozen=True)
class Pair:
    """Two scripts with their decision intervals, and the engine's wins of sides 0 and 1, draws and median length."""

    first: str
    second: str
    wins: tuple[int, int, int]
    median: int | None = None
    intervals: tuple[int, int] = (50, 50)

    @property
    def name(self):
        sides = (f"{name}, {ticks}" for name, ticks in zip((self.first, self.second), self.intervals, strict=True))
        return " - ".join(sides)


PAIRS = (
    Pair("medium", "medium", (17, 13, 0), 4281, (1, 1)),
    Pair("medium", "medium", (30, 30, 0), 4924),
    Pair("medium", "medium", (29, 31, 0), 4765, (50, 1)),
    Pair("medium", "simple", (17, 12, 1), 5328),
    Pair("strong", "medium", (27, 3, 0), 5946),
    Pair("passive", "medium", (0, 20, 0), 3778),
)
FEET = ("spearman", "swordman", "cavalry")
LENGTHS = {"counter": 4572, "dragon": 7383, "archer": 4219, "catapult": 4965, "mirror": 5216}
"""Median lengths of foot types against these; counters are the middle of the sheet's 4515 to 4630."""


def matrix():
    """The cells of the type matrix that the sheet has."""
    cells = [(kind, kind, (6, 6, 0), "mirror") for kind in FEET]
    cells += [(FEET[0], FEET[1], (0, 12, 0), "counter"), (FEET[0], FEET[2], (12, 0, 0), "counter")]
    cells += [(FEET[1], FEET[2], (0, 12, 0), "counter")]
    for kind in FEET:
        cells += [(kind, "dragon", (0, 12, 0), "dragon"), (kind, "archer", (12, 0, 0), "archer")]
        cells += [(kind, "catapult", (11, 1, 0), "catapult")]
    pairs = [Pair(f"medium_{one}", f"medium_{other}", wins, LENGTHS[group]) for one, other, wins, group in cells]
    pairs.append(Pair("medium_dragon", "medium_dragon", (7, 5, 0), 7493))
    return [*pairs, Pair("medium_dragon", "medium_archer", (0, 12, 0), 5374)]


def play(pair, count, first_seed):
    """Winners and lengths in ticks of `count` games."""
    player, random = Player(1), np.random.default_rng(first_seed)
    seeds = random.choice(65_537, count, replace=False)
    threads = random.choice(1 << 20, (2, count), replace=False)
    found = []
    for seed, first, second in zip(seeds, *threads, strict=True):
        games = Games(1)
        set_map(games, 0, int(seed), fair=False, extras=0)
        games["max_tick"][...], games["interval"][...] = MAX_TICK, pair.intervals
        for side, name in enumerate((pair.first, pair.second)):
            script = get_opponent(name)
            games["script_kind"][0, side], games["script_towers"][0, side] = script.kind, script.towers
            games["script_forced"][0, side] = script.types(random.random(6))
        kernels.start_scripts(games.records, 0, int(first), int(second) + (1 << 20))
        player.begin(games, 0)
        while games["result"][0] == RUNNING:
            player.play(games, 0, player.no_tables, player.no_continues)
        found.append((int(games["winner"][0]), int(games["tick"][0])))
    return np.array(found)


@dataclass(frozen=True)
class Row:
    """One pair's games beside the engine's."""

    pair: Pair
    wins: tuple[int, int, int]
    lengths: np.ndarray
    p: float

    @classmethod
    def of(cls, pair, count, seed):
        """Play and compare."""
        games = play(pair, count, seed)
        wins = tuple(int((games[:, 0] == winner).sum()) for winner in (0, 1, -1))
        tables = [[one[0], one[1] + one[2]] for one in (wins, pair.wins)]
        return cls(pair, wins, games[:, 1], float(fisher_exact(tables).pvalue))

    def line(self, corrected):
        """A row of the table in Markdown."""
        ours, theirs = ("/".join(map(str, wins)) for wins in (self.wins, self.pair.wins))
        median, low, high = (int(number(self.lengths)) for number in (np.median, np.min, np.max))
        known = f"{self.pair.median:,}" if self.pair.median else "-"
        lengths = f"{median:,} ({low:,}-{high:,})"
        return f"| {self.pair.name} | {ours} | {theirs} | {lengths} | {known} | {self.p:.3f} | {corrected:.3f} |"


def holm(values):
    """Holm's corrected p values, in the order of `values`."""
    order, corrected, largest = np.argsort(values), np.zeros(len(values)), 0.0
    for place, k in enumerate(order):
        largest = max(largest, min(1.0, (len(values) - place) * values[k]))
        corrected[k] = largest
    return corrected


def compare(games, cell_games, seed):
    """All rows with their corrected p values."""
    played = [(pair, games) for pair in PAIRS] + [(pair, cell_games) for pair in matrix()]
    rows = [Row.of(pair, count, (seed, number)) for number, (pair, count) in enumerate(played)]
    return list(zip(rows, holm([row.p for row in rows]), strict=True))


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description="Play scripts against each other and compare with the engine.")
    parser.add_argument("--games", type=int, default=60, help="Number of games of each pair of scripts.")
    parser.add_argument("--cell-games", type=int, default=12, help="Number of games of each pair of unit types.")
    parser.add_argument("--seed", type=int, default=0, help="Seed of all maps and scripts.")
    options = parser.parse_args()
    rows = compare(options.games, options.cell_games, options.seed)
    print("| side 0 - side 1, ticks between decisions | wins 0/1/none | engine | ticks | engine | p | Holm |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    print("\n".join(row.line(corrected) for row, corrected in rows))
    print(f"least corrected p: {min(corrected for _, corrected in rows):.3f}")


if __name__ == "__main__":
    main()
