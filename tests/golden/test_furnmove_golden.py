"""Replay of recordings of the authors' gridworld: every pose, flag, reward, coordination matrix and observation."""

import json

import numpy as np
import pytest

from rl_envs.furnmove.actions import coordination_matrix, is_coordinated
from rl_envs.furnmove.geometry import HOLD_TEMPLATE
from rl_envs.furnmove.room import Room
from rl_envs.furnmove.splits import room_by_name
from rl_envs.furnmove.world import FurnMove
from tests.golden.cases import own_or_golden

RECORDINGS = own_or_golden("traj_n*.npz")
BOTH = pytest.mark.parametrize("arrays", ["numpy", pytest.param("torch", marks=pytest.mark.long)])


def room_of(data):
    masks = data["agent_mask"].astype(bool), data["tv_masks"].astype(bool)
    return Room("recorded", *masks, ("." * masks[0].shape[1],) * masks[0].shape[0])


class Replay:
    """All episodes of one file side by side, one world each, in NumPy or torch; what it gives is NumPy's."""

    def __init__(self, path, arrays):
        self.data = dict(np.load(path, allow_pickle=False))
        self.meta = json.loads(str(self.data["meta"]))
        self.first = self.data["ep_start"][:-1].astype(int)
        self.lengths = np.diff(self.data["ep_start"]).astype(int)
        num_agents = self.data["actions"].shape[1]
        self.world = FurnMove(
            len(self.first),
            num_agents=num_agents,
            rooms=[room_of(self.data)],
            max_episode_steps=250,
            arrays=arrays,
        )
        self.world.auto_resets = False
        self.obs = self.on_host(
            self.world.restore(
                {
                    "room": np.zeros(len(self.first), int),
                    "agent_cells": self.data["init_agent_cells"],
                    "agent_headings": self.data["init_agent_headings"],
                    "tv": self.data["init_tv"],
                    "stand": self.data["init_stand"],
                }
            )
        )
        self.lookups = {
            kind: {
                (episode, time): bits
                for episode, time, bits in zip(
                    *(self.data[f"{kind}_{part}"] for part in ("episode", "t", "bits")), strict=True
                )
            }
            for kind in ("obs", "S")
        }

    def on_host(self, arrays):
        return {name: np.array(self.world.xp.to_numpy(value)) for name, value in arrays.items()}

    def recorded(self, kind, episode, time):
        shape = tuple(self.meta[f"{kind}_shape"])
        bits = self.lookups[kind].get((episode, time))
        return None if bits is None else np.unpackbits(bits, count=int(np.prod(shape))).reshape(shape)

    def steps(self):
        """Yield (time, rows still playing, indices of their recorded steps, state after, reward, done, info, obs)."""
        for time in range(self.lengths.max()):
            rows = np.flatnonzero(self.lengths > time)
            index = self.first[rows] + time
            actions = np.full((len(self.first), self.world.num_agents), 3)
            actions[rows] = self.data["actions"][index]
            before = self.on_host(self.world.state)
            obs, reward, terminated, truncated, info = self.world.step(self.world.xp.asarray(actions))
            after, obs, episode = (self.on_host(each) for each in (self.world.state, obs, info.get("episode", {})))
            reward, terminated, truncated = map(self.world.xp.to_numpy, (reward, terminated, truncated))
            ended = np.flatnonzero(terminated | truncated)
            if self.world.gives_tensors:
                episode = {name: value[ended] for name, value in episode.items()}
            info = {"done_worlds": ended, "episode": episode}
            yield time, rows, index, actions, before, after, reward, terminated, truncated, info, obs


@BOTH
@pytest.mark.parametrize("path", RECORDINGS)
def test_every_recorded_step_is_reproduced_exactly(path, arrays):
    replay = Replay(path, arrays)
    data, ended = replay.data, np.zeros(len(replay.first), bool)
    for episode in range(len(replay.first)):
        seen = replay.recorded("obs", episode, 0)
        if seen is not None:
            np.testing.assert_array_equal(replay.obs["view"][episode], seen)
    for time, rows, index, actions, before, after, reward, terminated, truncated, info, obs in replay.steps():
        coordinated = is_coordinated(actions, before["agent_headings"])
        np.testing.assert_array_equal(coordinated[rows], data["coordinated"][index])
        np.testing.assert_array_equal(after["agent_cells"][rows], data["agent_cells"][index])
        np.testing.assert_array_equal(after["agent_headings"][rows], data["agent_headings"][index])
        np.testing.assert_array_equal(after["tv"][rows], data["tv"][index])
        np.testing.assert_allclose(reward[rows], data["reward"][index], rtol=0, atol=1e-9)
        failed = np.isclose(reward[rows] % 1.0, 0.97)
        np.testing.assert_array_equal(~failed, data["action_success"][index])
        np.testing.assert_array_equal(terminated[rows], data["success"][index])
        np.testing.assert_array_equal((terminated | truncated)[rows], data["done"][index])
        distance = abs(after["tv"][rows, :2] - after["stand"][rows, :2]).sum(1)
        np.testing.assert_array_equal(distance, data["distance"][index])
        for row in rows:
            matrix = replay.recorded("S", row, time)
            if matrix is not None:
                np.testing.assert_array_equal(coordination_matrix(before["agent_headings"][row]), matrix)
            seen = replay.recorded("obs", row, time + 1)
            if seen is not None:
                np.testing.assert_array_equal(obs["view"][row], seen)
        check_metrics(data, ended, time, rows, info)
    assert ended.all()


def check_metrics(data, ended, time, rows, info):
    """Compare the metrics of every episode that ends in this step with those that the authors report."""
    for place, world in enumerate(info["done_worlds"]):
        if ended[world] or world not in rows:
            continue
        ended[world] = True
        episode = info["episode"]
        assert episode["success"][place] == data["ep_success"][world]
        assert episode["length"][place] == data["ep_length"][world] == time + 1
        assert episode["start_distance"][place] == data["ep_initial_manhattan"][world]
        np.testing.assert_allclose(episode["final_distance"][place], data["ep_final_distance_m"][world])
        np.testing.assert_allclose(episode["md_spl"][place], data["ep_spl_manhattan"][world])


@pytest.mark.parametrize("path", own_or_golden("traj_n*_floorplan229.npz"))
def test_our_floorplan229_is_the_recorded_one(path):
    recording, room = np.load(path, allow_pickle=False), room_by_name("floorplan229")
    np.testing.assert_array_equal(room.agent_cells, recording["agent_mask"])
    np.testing.assert_array_equal(room.tv_cells, recording["tv_masks"])
    np.testing.assert_array_equal(HOLD_TEMPLATE, recording["hold_template"])
