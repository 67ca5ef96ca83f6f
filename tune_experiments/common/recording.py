"""Recording an episode of a trained team as frames, the last one included."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tune_experiments.common.experiment import Experiment
from tune_experiments.common.policies import LoadedPolicy, load_policy

_CANDIDATES = 16
SEED = 226


def record_episode(experiment: Experiment, config: Any, checkpoint: Path, seed: int = SEED) -> list[np.ndarray]:
    """Frames of a solved episode (of the first 16, the longest; else the first), uint8 [H, W, 3] each."""
    policy = load_policy(checkpoint)
    world = experiment.make_test_world(config, _CANDIDATES)
    length, solved = _play(policy, world, seed)
    wins = np.flatnonzero(solved)
    chosen = int(wins[np.argmax(length[wins])]) if wins.size else 0
    return _film(policy, experiment.make_test_world(config, _CANDIDATES), seed, chosen)


def _play(policy: LoadedPolicy, world: Any, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Length and success of each world's first episode."""
    length, solved = np.zeros(world.num_worlds), np.full(world.num_worlds, False)
    obs, first = world.reset(seed), None
    policy.reset(seed)
    running = np.ones(world.num_worlds, bool)
    while running.any():
        obs, _, terminated, truncated, info = world.step(policy.act(obs, first))
        first = terminated | truncated
        if first.any():
            fresh = running[info["done_worlds"]]
            rows = info["done_worlds"][fresh]
            length[rows] = info["episode"]["length"][fresh]
            if "success" in info["episode"]:
                solved[rows] = info["episode"]["success"][fresh] > 0
        running &= ~first
    return length, solved


def _film(policy: LoadedPolicy, world: Any, seed: int, index: int) -> list[np.ndarray]:
    world.auto_resets = False
    obs = world.reset(seed)
    policy.reset(seed)
    frames = [world.render(index)]
    while True:
        obs, _, terminated, truncated, _ = world.step(policy.act(obs))
        frames.append(world.render(index))
        ended = terminated | truncated
        if ended[index]:
            return frames
        if ended.any():
            world.next_episode(np.flatnonzero(ended))
            obs = world.observe()
