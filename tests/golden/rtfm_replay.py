"""Replay of RTFM recordings."""

import numpy as np

from rl_envs.rock_paper_scissors.world import RockPaperScissors
from rl_envs.rtfm.words import ELEMENTS, NAME_SETS, TEAMS
from rl_envs.rtfm.world import Rtfm
from tests.golden.side_by_side import SideBySide

OURS = NAME_SETS["paper"]


def places(words, ours):
    """Where the recording's words stand in our lists."""
    return np.array([ours.index(str(word)) for word in words])


class Replay(SideBySide):
    def __init__(self, path):
        super().__init__(path)
        self.size = int(self.data["grid"][0])
        self.is_reading_task = "ep_triple" in self.data
        self.moves = bool((self.data["mon_move"] >= 0).any())
        self.world = self.reading_task() if self.is_reading_task else self.rtfm()

    def cells(self, name):
        x, y = np.moveaxis(self.data[name].astype(int), -1, 0)
        return y * self.size + x

    def start(self):
        agents = self.cells("ep_agent0")[:, None]
        named = {"agent_cells": agents, "monster_cells": self.cells("ep_mon0"), "item_cells": self.cells("ep_item0")}
        return named | {"step_limit": self.data["ep_max_iter"]}

    def rtfm(self):
        data = self.data
        group = bool((data["ep_mon_team"] >= 0).all())
        world = Rtfm(len(self.first), size=self.size, group=group, dyna=self.moves)
        team_of = relabelled(data["ep_mon_team"], places(data["monsters"], OURS.monsters), places(data["teams"], TEAMS))
        element_of = relabelled(
            data["ep_mod_elem"], places(data["modifiers"], OURS.modifiers), places(data["elements"], ELEMENTS)
        )
        if not group:
            team_of, element_of = team_of[:, :3], element_of[:, :4]
        self.obs = world.restore(
            self.start()
            | {
                "monster_names": world.lexicon.name_ids(data["ep_mon_name"]),
                "item_names": world.lexicon.name_ids(data["ep_item_name"]),
                "assignment": world.assignment_number(team_of, element_of),
                "goal_team": places(data["teams"], TEAMS)[data["ep_goal_team"]],
            }
        )
        return world

    def reading_task(self):
        world = RockPaperScissors(len(self.first), size=self.size)
        self.obs = world.restore(
            self.start() | {"triple": self.data["ep_triple"], "dragon": self.data["ep_right"].astype(int) - 1}
        )
        return world

    def chance(self, rows, index):
        if not self.moves:
            return {}
        num_monsters = self.data["mon_move"].shape[1]
        moves, order = np.full((2, len(self.first), num_monsters), -1)
        moves[rows], order[rows] = self.data["mon_move"][index], self.data["mon_order"][index]
        return {"monster_moves": moves, "monster_order": order}


def relabelled(labels, things, groups):
    """The recording's labels of its things, in our order of things and with our numbers of groups; -1 stays."""
    ours = np.full(labels.shape, -1)
    ours[:, things] = np.where(labels < 0, -1, groups[labels])
    return ours
