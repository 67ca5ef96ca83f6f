"""The planner once more, plainly written: lists and dictionaries, one float32 operation after the other.

It follows the fact sheet and the recordings of the engine, not our kernels, and is compared with these.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from rl_envs.minirts.symbols import DRAGON, ROCK, SIDE, WATER

F = np.float32
TOUCH = F(0.36) + F(0.36)
MAX_POPS, CACHED_TICKS = 1000, 10
STRAIGHT, NONE = -1, -2


def cell_of(x, y):
    """Index of a position's cell; halves and what is left of the map go toward zero."""
    return int(float(y) + 0.5) * SIDE + int(float(x) + 0.5)


def square(ax, ay, bx, by):
    dx, dy = F(ax) - F(bx), F(ay) - F(by)
    return dx * dx + dy * dy


def euclid(cell, goal):
    dx, dy = F(cell % SIDE - goal % SIDE), F(cell // SIDE - goal // SIDE)
    return F(math.sqrt(dx * dx + dy * dy))


@dataclass
class SlowPlanner:
    """A side's paths in one game.

    Attributes:
        player: the side.
        learned: (cell, goal) -> distance that earlier searches found.
        kept: (start, goal) -> tick and way point of a path that was found.
    """

    player: int
    learned: dict = field(default_factory=dict)
    kept: dict = field(default_factory=dict)

    def plan(self, game, row, x, y, clock):
        """What the log of paths says of an object on its way to a position; None if an earlier answer holds."""
        self.game, self.row = game, row
        self.x, self.y = F(game["unit_x"][row]), F(game["unit_y"][row])
        start, goal = cell_of(self.x, self.y), cell_of(x, y)
        when, _ = self.kept.get((start, goal), (-CACHED_TICKS, NONE))
        if clock - when < CACHED_TICKS:
            return None
        way, pops, kind = STRAIGHT, 0, 1
        if not self.is_straight(x, y):
            way, pops = self.search(start, goal)
            kind = 4 if way == NONE else 2
        if way != NONE:
            self.kept[start, goal] = clock, way
        return [clock, self.player, int(game["unit_id"][row]), start, goal, kind, way, pops]

    def is_free(self, x, y):
        """Whether no other object is too near; those beyond the edge of the map only meet each other."""
        game, away = self.game, min(x, y) < -0.5 or max(x, y) > 32.5
        for other in range(game["num_units"]):
            at_x, at_y = game["unit_x"][other], game["unit_y"][other]
            other_away = min(at_x, at_y) < -0.5 or max(at_x, at_y) > 32.5
            if other != self.row and away == other_away and square(x, y, at_x, at_y) < TOUCH * TOUCH:
                return False
        return True

    def is_dry(self, cell):
        """Whether an object may walk here, as far as its side has seen the map."""
        game, seen = self.game, int(self.game["seen_rows"][self.player][cell // SIDE]) >> cell % SIDE & 1
        return game["unit_type"][self.row] == DRAGON or game["terrain"][cell] not in (WATER, ROCK) or not seen

    def is_straight(self, x, y):
        """Whether the straight line is free, tested every tenth of a cell outside the cells of both ends."""
        dx, dy = F(x) - self.x, F(y) - self.y
        distance = F(math.sqrt(dx * dx + dy * dy))
        samples = int(float(distance * F(10)) + 0.5)
        passed = {cell_of(self.x, self.y), cell_of(x, y)}
        before = cell_of(self.x, self.y)
        for k in range(1, samples):
            length = distance / F(samples)
            at_x, at_y = self.x + dx / distance * length * F(k), self.y + dy / distance * length * F(k)
            cell = cell_of(at_x, at_y)
            is_new, before = cell != before, cell
            if is_new and cell not in passed:
                on_map = max(at_x, at_y) < SIDE - 0.5 and min(at_x, at_y) > -1.5
                if not on_map or not self.is_dry(cell) or not self.is_free(at_x, at_y):
                    return False
        return True

    def search(self, start, goal):
        """A* to the goal: the way point or NONE, and the number of pops, one more where nothing was left."""
        cost, before, waiting, popped = {start: F(0)}, {start: None}, {start: self.ahead(start, goal)}, []
        while waiting:
            cell = min(waiting, key=lambda one: (waiting[one], cost[one], -one))
            total = waiting.pop(cell)
            popped.append(cell)
            if cell == goal or len(popped) == MAX_POPS:
                path = [cell]
                while before[path[-1]] is not None:
                    path.append(before[path[-1]])
                self.learn(goal, total, cost, popped, path)
                return next(one for one in path if self.is_straight(one % SIDE, one // SIDE)), len(popped)
            for to_x, to_y in ((1, 0), (0, 1), (-1, 0), (0, -1)):
                column, line = cell % SIDE + to_x, cell // SIDE + to_y
                other = line * SIDE + column  # column 32 is the next row's column 0, for the goal alone
                if 0 <= other < SIDE * SIDE and other not in cost and (other == goal or self.is_open(column, line)):
                    cost[other], before[other] = cost[cell] + F(1), cell
                    waiting[other] = cost[other] + self.ahead(other, goal)
        return NONE, len(popped) + 1

    def is_open(self, column, line):
        """Whether a path may enter a cell; objects count only within two cells of the walking one."""
        if not 0 <= column < SIDE or not 0 <= line < SIDE or not self.is_dry(line * SIDE + column):
            return False
        return square(self.x, self.y, column, line) >= 4 or self.is_free(F(column), F(line))

    def ahead(self, cell, goal):
        return self.learned.get((cell, goal), euclid(cell, goal))

    def learn(self, goal, total, cost, popped, path):
        """The whole way is as long as the last pop's cost and estimate say; also if that is not the goal."""
        for cell in popped:
            self.learned[cell, goal] = max(euclid(cell, goal), total + F(1e-5) - cost[cell])
        for cell in path:
            self.learned[cell, goal] = max(euclid(cell, goal), total - cost[cell])
