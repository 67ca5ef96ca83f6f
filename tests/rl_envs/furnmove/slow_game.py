"""Gridworld-FurnMove a second time: one game, plain Python loops, written from the rules and not from the world.

It shares no table and no function with `rl_envs.furnmove`; it reads a room's masks and nothing else. Slow on purpose:
each loop is one sentence of the rules, so that a difference between the two implementations can be settled by reading.
"""

AHEAD, TURN_LEFT, TURN_RIGHT, PASS = range(4)
CARRY = range(4, 8)
TURN_OBJECT = range(8, 9)
PUSH = range(9, 13)
NORTH, EAST, SOUTH, WEST = (-1, 0), (0, 1), (1, 0), (0, -1)
STEP = (NORTH, EAST, SOUTH, WEST)

# The television of rotation 0 with the north above: '#' where it is, 'o' from where it can be held.
HOLDING = (
    "..ooooooo..",
    ".ooooooooo.",
    "oooo###oooo",
    "ooo#####ooo",
    "ooo#####ooo",
    ".ooooooooo.",
    "..ooooooo..",
)


def turned(offset, quarter_turns):
    """An offset after clockwise quarter turns: what lay north lies east after one."""
    row, column = offset
    for _ in range(quarter_turns):
        row, column = column, -row
    return row, column


def around(cell, offsets, rotation):
    return {(cell[0] + row, cell[1] + column) for row, column in (turned(offset, rotation) for offset in offsets)}


HOLD_OFFSETS = [(row - 3, column - 5) for row in range(7) for column in range(11) if HOLDING[row][column] == "o"]
TV_OFFSETS = [(-1, c) for c in (-1, 0, 1)] + [(0, c) for c in range(-2, 3)] + [(1, c) for c in range(-2, 3)]
STAND_OFFSETS = [(row, column) for row in (-1, 0, 1) for column in (-2, -1, 0, 1, 2)]


def hold_cells(tv):
    """Cells from which a television at (row, column, rotation) can be held."""
    return around(tv[:2], HOLD_OFFSETS, tv[2])


def chebyshev(one, other):
    return max(abs(one[0] - other[0]), abs(one[1] - other[1]))


def coordinated(actions, headings):
    """Whether a joint action is one of the ones of S_t."""
    if all(action <= PASS for action in actions):
        return PASS in actions or len(actions) == 1
    if all(action in TURN_OBJECT for action in actions):
        return True
    for modality in (CARRY, PUSH):
        if all(action in modality for action in actions):
            pairs = zip(actions, headings, strict=True)
            return len({(action - modality.start + heading) % 4 for action, heading in pairs}) == 1
    return False


class SlowGame:
    """One episode; the attributes are the state, cells are tuples (row, column)."""

    def __init__(self, room, agents, headings, tv, stand):
        cells = [(row, column) for row in range(room.height) for column in range(room.width)]
        self.tv_cells = [{cell for cell in cells if mask[cell]} for mask in room.tv_cells]
        floor = {cell for cell in cells if room.agent_cells[cell]}
        self.known = floor.union(*self.tv_cells)
        self.stand_cells = around(stand[:2], STAND_OFFSETS, stand[2])
        self.floor = floor - self.stand_cells
        self.agents = [tuple(map(int, cell)) for cell in agents]
        self.headings = [int(heading) for heading in headings]
        self.tv, self.stand = tuple(map(int, tv)), tuple(map(int, stand))
        self.visited = set()
        self.shortest = self.distance()
        self.num_agents = len(self.agents)

    def distance(self):
        return abs(self.tv[0] - self.stand[0]) + abs(self.tv[1] - self.stand[1])

    def step(self, actions):
        """The reward of every agent and whether the episode is solved."""
        fails = [True] * self.num_agents
        closer = False
        if coordinated(actions, self.headings) and actions[0] > PASS:
            if self._together(actions[0]):
                fails = [False] * self.num_agents
            self.visited.add(self.tv[:2])
            closer = self.distance() < self.shortest
            self.shortest = min(self.shortest, self.distance())
        elif PASS in actions or self.num_agents == 1:
            fails = [not self._alone(agent, action) for agent, action in enumerate(actions)]
        bonus = (2.0 if self.num_agents > 2 else 1.0) * closer
        return [-0.01 - 0.02 * failed + bonus for failed in fails], self.distance() <= 1

    def _together(self, action):
        row, column, rotation = self.tv
        agents = self.agents
        if action in TURN_OBJECT:
            rotation = (rotation + 1) % 4
        else:
            start = CARRY.start if action in CARRY else PUSH.start
            down, right = STEP[(action - start + self.headings[0]) % 4]
            row, column = row + down, column + right
            if action in CARRY:
                agents = [(agent[0] + down, agent[1] + right) for agent in agents]
        if (row, column) not in self.tv_cells[rotation]:
            return False
        holders = hold_cells((row, column, rotation))
        for agent in agents:
            if agent not in holders or (action in CARRY and agent not in self.floor):
                return False
        self.tv, self.agents = (row, column, rotation), agents
        return True

    def _alone(self, agent, action):
        if action == PASS:
            return True
        if action in (TURN_LEFT, TURN_RIGHT):
            self.headings[agent] = (self.headings[agent] + (1 if action == TURN_RIGHT else -1)) % 4
            return True
        if action != AHEAD:
            return False
        down, right = STEP[self.headings[agent]]
        target = (self.agents[agent][0] + down, self.agents[agent][1] + right)
        if target not in self.floor or target not in hold_cells(self.tv):
            return False
        for other in range(self.num_agents):
            if other != agent and chebyshev(self.agents[other], target) < 2:
                return False
        self.agents[agent] = target
        return True

    def view(self, agent):
        """What one agent sees: channels of 15 rows of 15 zeros and ones; it stands in the middle of the bottom row."""
        tv_here = around(self.tv[:2], TV_OFFSETS, self.tv[2]) & self.known
        channels = [set().union(*self.tv_cells), self.floor, self.visited]
        for offset in range(1, self.num_agents):
            other = (agent + offset) % self.num_agents
            for turn in range(4):
                faces_so = (self.headings[other] - self.headings[agent]) % 4 == turn
                channels.append({self.agents[other]} if faces_so else set())
        channels += [tv_here, self.stand_cells & self.known]
        heading = self.headings[agent]
        crop = [[self._seen_cell(agent, heading, 14 - row, column - 7) for column in range(15)] for row in range(15)]
        return [[[int(cell in channel) for cell in row] for row in crop] for channel in channels]

    def _seen_cell(self, agent, heading, ahead, right):
        down_ahead, right_ahead = STEP[heading]
        down_right, right_right = STEP[(heading + 1) % 4]
        row, column = self.agents[agent]
        return row + ahead * down_ahead + right * down_right, column + ahead * right_ahead + right * right_right
