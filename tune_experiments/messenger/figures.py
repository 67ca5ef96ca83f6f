"""Figures and videos of a run on MESSENGER: curves, and an episode of each row with its manual.

The episode is the one that `record_episode` would show, and a second one is an episode that the team does not win.
Their frames show the grid, the manual, and beside each sentence the attention of each sprite; the last frame says how
the episode ended.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rl_envs.messenger import render
from rl_envs.messenger.endings import ENDINGS
from rl_envs.messenger.render import Scene
from rl_envs.messenger.world import Messenger
from tune_experiments.core.drawing import Drawn
from tune_experiments.messenger.config import GROUNDED
from tune_experiments.play.loading import LoadedPolicy
from tune_experiments.play.recording import SEED, PlayedStep, failed_episode, shown_episode
from tune_experiments.play.trial_figures import Draw, Trials, draw_curves, draw_teams
from tune_experiments.play.video import write_gif

CURVES = {
    "episode/win_rate": "win rate",
    "policy/entropy": "entropy (nats)",
    "loss/grounding": "contrastive grounding loss",
    "loss/movement_grounding": "movement contrast",
}
BINS = 40
_FRAME_SECONDS = 1.0


def draw(out: Path, trials: Trials) -> Sequence[Drawn]:
    """Draw all figures that have data: curves and episodes."""
    named = {_name(method): seeds for method, seeds in trials.items()}

    def draw_video(method: str, policy: LoadedPolicy) -> Path:
        return write_gif(video(policy), out / f"videos/{method}.gif", _FRAME_SECONDS)

    def draw_failure(method: str, policy: LoadedPolicy) -> Iterator[Path]:
        path = out / f"videos/{method}_failed.gif"
        if (failed := failed_episode(policy, SEED)) is None:
            path.unlink(missing_ok=True)
        else:
            yield write_gif(_frames(policy, SEED, failed), path, _FRAME_SECONDS)

    draws: dict[str, Draw] = {"video": draw_video, "video of a failure": draw_failure}
    return [*draw_curves(out, named, CURVES, BINS), *draw_teams(trials, draws)]


def _name(method: str) -> str:
    return f"{method}, not in the paper" if method.endswith(GROUNDED) else method


def video(policy: LoadedPolicy, seed: int = SEED) -> list[np.ndarray]:
    """One frame a choice and one for the end, [H, W, 3] uint8, all of one size."""
    return _frames(policy, seed)


def _frames(policy: LoadedPolicy, seed: int, index: int | None = None) -> list[np.ndarray]:
    return [render.draw(scene, caption=caption) for scene, caption in watch_reading(policy, seed, index)]


def watch_reading(policy: LoadedPolicy, seed: int, index: int | None = None) -> list[tuple[Scene, str]]:
    """Scenes of the chosen world, or of world `index`, before each choice, with its attention, and after the last one.

    Each has a caption.
    """
    with shown_episode(policy, seed, index) as (world, number, steps), policy.showing_attention():
        return list(_moments(policy, world, number, steps))


def _moments(
    policy: LoadedPolicy, world: Messenger, index: int, steps: Iterator[PlayedStep]
) -> Iterator[tuple[Scene, str]]:
    info: dict[str, Any] = {}
    seen, reward = world.scene(index), 0.0
    for number, (_, rewards, info, chosen, _) in enumerate(steps, start=1):  # noqa: B007
        scene = dataclasses.replace(seen, attention=_attention(policy, index, len(seen.sprites)))
        yield scene, f"{policy.method}, step {number}: chooses {chosen[0]}"
        seen, reward = world.scene(index), float(rewards[index, 0])
    yield seen, f"{policy.method}, the end: {_ending(info, index)}, reward {reward:+.1f}"


def _ending(info: dict[str, Any], index: int) -> str:
    """`won`, or the cause of the loss of world `index`, in words."""
    place = list(info["done_worlds"]).index(index)
    return next((name.replace("_", " ") for name in ENDINGS if info["episode"][name][place]), "won")


def _attention(policy: LoadedPolicy, index: int, sprites: int) -> list[list[float]]:
    """[sprites, sentences] at the last `act` in a world; empty for teams that do not read."""
    assert policy.last_output is not None
    maps = policy.last_output.extras.get("attention/manual")
    found: list[list[float]] = [] if maps is None else maps[index, 0, 0, :sprites].tolist()
    return found
