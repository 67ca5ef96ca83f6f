"""Replay of recordings of the authors' FurnLift: poses, rewards, counters, metrics, and the expert with its gap.

The recordings say which cells the television closes and who sees it; FurnLift takes both instead of its own rules.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from rl_envs.furnlift.actions import ACTION_NAMES, PASS, PICKUP, coordination_matrix
from rl_envs.furnlift.expert import Expert
from rl_envs.furnlift.sight import BOX_CELLS
from rl_envs.furnlift.world import FurnLift
from rl_envs.furnmove import ithor
from rl_envs.furnmove.room import room_from_drawing
from tests.golden.cases import own_or_golden

EPISODES = own_or_golden("episodes*.jsonl", "furnlift")
ROOMS = own_or_golden("rooms*.json", "furnlift")
COORDINATION = own_or_golden("coordination*.json", "furnlift")
FLOORS = own_or_golden("*_floors.json", "furnlift")


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def rooms_beside(path):
    """The rooms of a recording: scene -> room."""
    drawings = {}
    for file in sorted(path.parent.glob("rooms*.json")):
        drawings |= json.loads(file.read_text())
    return {scene: room_from_drawing(scene, rows) for scene, rows in drawings.items()}


class Replay:
    """All episodes of one file side by side, one world each."""

    def __init__(self, path):
        self.episodes, rooms = lines(path), rooms_beside(path)
        scenes = sorted({episode["scene"] for episode in self.episodes})
        first = self.episodes[0]
        self.world = FurnLift(
            len(self.episodes),
            rooms=[rooms[scene] for scene in scenes],
            max_episode_steps=first["max_joint_steps"],
            min_separation_cells=first["min_separation_cells"],
        )
        self.world.auto_resets = False
        height, width = np.max([rooms[scene].agent_cells.shape for scene in scenes], axis=0)
        closed = np.zeros((len(self.episodes), height, width), bool)
        for number, episode in enumerate(self.episodes):
            closed[(number, *np.array(episode["blocked_by_tv"], int).reshape(-1, 2).T)] = True
        agents = np.array([episode["agents"] for episode in self.episodes])
        state = {
            "room": [scenes.index(episode["scene"]) for episode in self.episodes],
            "agent_cells": agents[..., :2],
            "agent_headings": agents[..., 2],
            "tv": [episode["tv"] for episode in self.episodes],
            "closed_cells": closed,
        }
        self.world.restore({name: np.asarray(value) for name, value in state.items()})

    def steps(self):
        """Yield for each time the rows that still play, their recorded steps, and what our step returned."""
        lengths = np.array([len(episode["steps"]) for episode in self.episodes])
        for time in range(lengths.max()):
            rows = np.flatnonzero(lengths > time)
            recorded = [self.episodes[row]["steps"][time] for row in rows]
            actions, sees = np.full((len(lengths), 2), PASS), np.zeros((len(lengths), 2), bool)
            actions[rows] = [step["a"] for step in recorded]
            sees[rows] = [step["vis"] for step in recorded]
            yield time, rows, recorded, self.world.step(actions, {"sees_television": sees})


@pytest.mark.parametrize("path", EPISODES)
def test_every_recorded_step_is_reproduced_exactly(path):
    replay = Replay(path)
    for time, rows, recorded, (_, reward, terminated, truncated, _) in replay.steps():
        state = replay.world.state
        agents = np.concatenate([state["agent_cells"], state["agent_headings"][..., None]], axis=-1)
        np.testing.assert_array_equal(agents[rows], [step["after"] for step in recorded])
        np.testing.assert_allclose(reward[rows], [step["r"] for step in recorded], rtol=0, atol=1e-12)
        ok = [step["ok"] for step in recorded]
        np.testing.assert_array_equal(np.isin(reward[rows].round(9), (1.0, -0.01)), ok)
        last = [time + 1 == len(replay.episodes[row]["steps"]) for row in rows]
        np.testing.assert_array_equal((terminated | truncated)[rows], last)


@pytest.mark.parametrize("path", EPISODES)
def test_metrics_and_counters_are_those_the_authors_report(path):
    replay, compared = Replay(path), 0
    for time, rows, _, (*_, info) in replay.steps():
        for place, world in enumerate(info["done_worlds"]):
            if world not in rows:
                continue
            ours, theirs = info["episode"], replay.episodes[world]["info"]
            assert ours["success"][place] == theirs["accuracy"]
            assert 2 * ours["length"][place] == theirs["ep_length"] == 2 * (time + 1)
            assert ours["start_distance"][place] == theirs["initial_manhattan_steps"]
            distance = theirs["final_manhattan_distance_from_target"]
            np.testing.assert_allclose(ours["final_distance"][place], distance, atol=0.00501)
            np.testing.assert_allclose(ours["md_spl"][place], theirs["spl_manhattan"], atol=1e-9)
            np.testing.assert_allclose(ours["return"][place].sum(), theirs["reward"], atol=1e-9)
            for name, key in COUNTERS.items():
                assert ours[name][place] == theirs[key], (world, name)
            compared += 1
    assert compared == len(replay.episodes)


COUNTERS = {
    "failed_pickups": "picked_but_not_pickupable",
    "failed_pickups_distance": "picked_but_not_pickupable_distance",
    "failed_pickups_visibility": "picked_but_not_pickupable_visibility",
    "missed_pickups": "pickupable_but_not_picked",
}


@pytest.mark.parametrize("path", EPISODES)
def test_the_expert_with_the_authors_gap_advises_what_was_recorded(path):
    rooms, compared = rooms_beside(path), 0
    for episode in lines(path):
        is_open = rooms[episode["scene"]].agent_cells.copy()
        is_open[tuple(np.array(episode["blocked_by_tv"], int).reshape(-1, 2).T)] = False
        expert = Expert(is_open, np.array(episode["groups"]), heading_ring=False)
        usable, agents = np.ones(len(episode["groups"]), bool), episode["agents"]
        for step in episode["steps"]:
            advice = expert.advise(np.array(agents), usable, all(step["vis"]) and step["far"][0])
            compare(advice, step)
            agents, compared = step["after"], compared + 1
    assert compared


def compare(advice, step):
    if step["expert"] is None:
        assert advice is None
    elif step["expert_options"] is None:
        assert advice.actions == (PICKUP, PICKUP) == tuple(step["expert"])
    else:
        assert advice.targets.tolist() == step["expert_target"]
        assert [list(options) for options in advice.options] == step["expert_options"]
        assert all(action in options for action, options in zip(step["expert"], advice.options, strict=True))


@pytest.mark.parametrize("path", ROOMS)
def test_recorded_rooms_hold_their_episodes(path):
    rooms, seen = rooms_beside(path), set()
    for file in sorted(path.parent.glob("episodes*.jsonl")):
        for episode in lines(file):
            room, tv = rooms[episode["scene"]], np.array(episode["tv"])
            for row, column in (*(BOX_CELLS[tv[2]] + tv[:2]), *np.array(episode["agents"])[:, :2]):
                assert room.agent_cells[row, column], (episode["scene"], row, column)
            seen.add(episode["scene"])
    assert seen <= set(rooms)
    assert all(room.agent_cells.any() for room in rooms.values())


@pytest.mark.parametrize("path", COORDINATION)
def test_the_recorded_coordination_matrix_is_ours(path):
    recorded = json.loads(path.read_text())
    assert tuple(recorded["actions"]) == ACTION_NAMES
    types = np.array(recorded["coordination_type"])
    np.testing.assert_array_equal(types >= 0, coordination_matrix())
    assert types[PICKUP, PICKUP] > 0


@pytest.mark.parametrize("path", FLOORS)
def test_the_floors_of_ithor_are_those_that_we_ship(path):
    assert json.loads(path.read_text()) == json.loads(Path(ithor.__file__).with_name(path.name).read_text())
