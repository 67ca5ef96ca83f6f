"""Frames of an episode: the grid, the manual, and beside each sentence how much each sprite looks at it.

Of the episodes that begin at one seed the one is shown that `record_episode` would show.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from rl_envs.messenger import render
from rl_envs.messenger.render import Scene
from tune_experiments.play.loading import LoadedPolicy
from tune_experiments.play.recording import SEED, candidate_worlds, chosen_episode, steps_of_episode


def video(policy: LoadedPolicy, seed: int = SEED) -> list[np.ndarray]:
    """One frame a choice and one for the end, [H, W, 3] uint8, all of one size."""
    return [render.draw(scene, caption=caption) for scene, caption in watch_reading(policy, seed)]


def watch_reading(policy: LoadedPolicy, seed: int = SEED) -> list[tuple[Scene, str]]:
    """What is shown before each choice with what was attended to then, and after the last; and a caption for each."""
    index = chosen_episode(policy, seed)
    with policy.showing_attention():
        return list(_moments(policy, candidate_worlds(policy), seed, index))


def _moments(policy: LoadedPolicy, world: Any, seed: int, index: int) -> Iterator[tuple[Scene, str]]:
    steps = steps_of_episode(policy, world, seed, index)
    seen, reward = world.scene(index), 0.0
    for number, (actions, rewards, *_) in enumerate(steps, start=1):
        scene = dataclasses.replace(seen, attention=_attention(policy, index, len(seen.sprites)))
        yield scene, f"{policy.method}, step {number}: chooses {world.action_names[actions[index, 0]]}"
        seen, reward = world.scene(index), float(rewards[index, 0])
    yield seen, f"{policy.method}, the end: reward {reward:+.1f}"


def _attention(policy: LoadedPolicy, index: int, sprites: int) -> list[list[float]]:
    """[sprites, sentences] in the last thought about a world; empty for teams that do not read."""
    assert policy.thought is not None
    maps = policy.thought.extras.get("attention/manual")
    found: list[list[float]] = [] if maps is None else maps[index, 0, 0, :sprites].tolist()
    return found
