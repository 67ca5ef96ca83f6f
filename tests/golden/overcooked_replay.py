"""Recordings of Overcooked as states of our world, and our states as rows of recordings."""

import numpy as np

from rl_envs.overcooked.words import FULL, NOTHING, POT, POT_ONIONS, SOUP
from rl_envs.registry import make


class Recording:
    """One file of E episodes of T steps in one kitchen."""

    def __init__(self, path):
        self.data = dict(np.load(path, allow_pickle=False))
        self.layout = tuple(str(row) for row in self.data["layout"])
        self.episodes, self.steps = self.data["actions"].shape[:2]

    def world(self, num_worlds, **arguments):
        horizon = int(self.data["horizon"])
        world = make("overcooked-v0", num_worlds, layout=self.layout, max_episode_steps=horizon, **arguments)
        world.auto_resets = False
        return world

    def state(self, world, step):
        """Recorded states as `restore` takes them; `step` is a number, or a slice that is flattened over episodes."""
        kitchen, data = world.kitchen, self.data
        flat = {name: data[name][:, step] for name in ("pos", "dir", "held", "counter", "pot_onions", "pot_tick")}
        if isinstance(step, slice):
            flat = {name: value.reshape(-1, *value.shape[2:]) for name, value in flat.items()}
        contents = np.tile(kitchen.contents, (len(flat["pos"]), 1))
        things = flat["counter"].reshape(len(contents), -1)
        assert not things[:, kitchen.contents != NOTHING].any()
        contents += things
        pots = flat["pot_onions"].astype(int) + np.maximum(flat["pot_tick"], 0)
        contents[:, kitchen.pots] = POT + pots
        x, y = np.moveaxis(flat["pos"].astype(int), -1, 0)
        return {
            "agent_cells": y * kitchen.width + x,
            "headings": flat["dir"],
            "held": flat["held"],
            "contents": contents,
        }


def rows_of(world):
    """The present states in the recordings' schema, name -> [B, ...], fresh arrays."""
    state, kitchen = world.snapshot(), world.kitchen
    contents = state["contents"]
    pots = contents[:, kitchen.pots].astype(int)
    lies = np.where((kitchen.contents == NOTHING) & (contents <= SOUP), contents, NOTHING)
    return {
        "pos": np.stack([state["agent_cells"] % kitchen.width, state["agent_cells"] // kitchen.width], -1),
        "dir": state["headings"],
        "held": state["held"],
        "counter": lies.reshape(-1, kitchen.height, kitchen.width),
        "pot_onions": np.minimum(pots - POT, POT_ONIONS),
        "pot_tick": np.where(pots > FULL, pots - FULL, -1),
    }


def encoding_of(observations):
    """Planes as recorded, [B, 2, W, H, 26]."""
    return np.asarray(observations["lossless"]).transpose(0, 1, 4, 3, 2)
