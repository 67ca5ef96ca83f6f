"""Recording an episode of a trained team as frames, the last one included."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tune_experiments.common.policies import LoadedPolicy

_CANDIDATES = 16
SEED = 226


def record_episode(policy: LoadedPolicy, seed: int = SEED) -> list[np.ndarray]:
    """Frames of a solved episode (of 16, the one of middle length; else the first), uint8 [H, W, 3] each."""
    return list(_film(policy, seed, _choose(policy, seed)))


def play_aloud(policy: LoadedPolicy, seed: int = SEED) -> Iterator[str]:
    """The same episode in words: every step's actions and rewards, then how it ended."""
    index = _choose(policy, seed)
    world = _worlds(policy)
    names = getattr(world, "action_names", None)
    info: dict[str, Any] = {}
    for step, (actions, reward, _, info) in enumerate(_steps(policy, world, seed, index), start=1):  # noqa: B007
        said = [names[action] if names else str(action) for action in actions[index]]
        done = ", ".join(f"{agent}: {action}" for agent, action in zip(world.agents, said, strict=True))
        yield f"{step:4d}  {done}  (rewards {', '.join(f'{value:+.2f}' for value in reward[index])})"
    place = list(info["done_worlds"]).index(index)
    episode = {name: value[place] for name, value in info["episode"].items()}
    yield "  ".join(f"{name} {np.round(value, 3)}" for name, value in episode.items())


def _worlds(policy: LoadedPolicy) -> Any:
    return policy.experiment.make_test_world(policy.config, _CANDIDATES)


def _choose(policy: LoadedPolicy, seed: int) -> int:
    """Of the episodes that the team solves, the one of middle length: neither luck nor wandering."""
    length, solved = _play(policy, _worlds(policy), seed)
    wins = np.flatnonzero(solved)
    return int(wins[np.argsort(length[wins])[len(wins) // 2]]) if wins.size else 0


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


def _film(policy: LoadedPolicy, seed: int, index: int) -> Iterator[np.ndarray]:
    """The start and every step's end, drawn before the next episode begins."""
    world = _worlds(policy)
    steps = _steps(policy, world, seed, index)
    yield world.render(index)
    for _ in steps:
        yield world.render(index)


def _steps(policy: LoadedPolicy, world: Any, seed: int, index: int) -> Iterator[tuple[Any, Any, Any, Any]]:
    """Play until world `index` ends; the world is reset at the call, before the first step is asked for."""
    world.auto_resets = False
    obs = world.reset(seed)
    policy.reset(seed)
    return _continue(policy, world, obs, index)


def _continue(policy: LoadedPolicy, world: Any, obs: Any, index: int) -> Iterator[tuple[Any, Any, Any, Any]]:
    while True:
        actions = policy.act(obs)
        obs, reward, terminated, truncated, info = world.step(actions)
        ended = terminated | truncated
        yield actions, reward, ended, info
        if ended[index]:
            return
        if ended.any():
            obs = world.next_episode(np.flatnonzero(ended))
