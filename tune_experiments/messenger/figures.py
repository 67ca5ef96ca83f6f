"""Figures and videos of a run on MESSENGER: curves, attention, and an episode of each row with its manual.

Attention shows whether sprites find the sentences about them (EMMA, section 4): means by the sprite and by the entity
that a sentence is about, over the starts of many episodes, in training games and in new games. A combination that never
occurs is grey. The episode is the one that `record_episode` would show, and a second one is an episode that the team
does not win. Their frames show the grid, the manual, and beside each sentence the attention of each sprite; the last
frame says how the episode ended.
"""

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rl_envs.messenger import render
from rl_envs.messenger.endings import ENDINGS
from rl_envs.messenger.render import Scene
from rl_envs.messenger.symbols import ENTITIES, FIRST_ENTITY
from rl_envs.messenger.world import Messenger
from tune_experiments.core.drawing import Drawn
from tune_experiments.messenger.config import GROUNDED, MessengerRunConfig, corpus_of_run, make_world
from tune_experiments.play.loading import LoadedPolicy
from tune_experiments.play.recording import SEED, candidate_worlds, chosen_episode, failed_episode, steps_of_episode
from tune_experiments.play.trial_figures import Draw, Trials, draw_curves, draw_teams
from tune_experiments.play.video import write_gif
from tune_experiments.results.plots.figures import FAINT, explain_below, new_figure, save

CURVES = {
    "episode/win_rate": "win rate",
    "policy/entropy": "entropy (nats)",
    "loss/grounding": "contrastive grounding loss",
    "loss/movement_grounding": "movement contrast",
}
BINS = 40
_FRAME_SECONDS = 1.0
ATTENTION_EPISODES = 600
ATTENTION_SEED = 226
ATTENTION_SPLITS = {"train": "training games", "test": "new games, new sentences"}


def draw(out: Path, trials: Trials) -> Sequence[Drawn]:
    """Draw all figures that have data: curves, episodes, and the attention of the sprites."""
    named = {_name(method): seeds for method, seeds in trials.items()}

    def draw_video(method: str, policy: LoadedPolicy) -> Path:
        return write_gif(video(policy), out / f"videos/{method}.gif", _FRAME_SECONDS)

    def draw_failure(method: str, policy: LoadedPolicy) -> Iterator[Path]:
        path = out / f"videos/{method}_failed.gif"
        if (failed := failed_episode(policy, SEED)) is None:
            path.unlink(missing_ok=True)
        else:
            yield write_gif(_frames(policy, SEED, failed), path, _FRAME_SECONDS)

    def draw_looks(method: str, policy: LoadedPolicy) -> Iterator[Path]:
        if method != "game_id":
            yield draw_attention(policy, out / f"plots/attention_{method}.png")

    draws: dict[str, Draw] = {"video": draw_video, "video of a failure": draw_failure, "attention": draw_looks}
    return [*draw_curves(out, named, CURVES, BINS), *draw_teams(trials, draws)]


def _name(method: str) -> str:
    return f"{method}, not in the paper" if method.endswith(GROUNDED) else method


def mean_attention(policy: LoadedPolicy, split: str) -> np.ndarray:
    """[12, 12] float64: attention of an entity's sprites to sentences about another, nan if never together."""
    config: MessengerRunConfig = policy.config
    made = make_world(config, config.last_stage, ATTENTION_EPISODES, split=split)
    with contextlib.closing(made) as world, policy.showing_attention():
        obs = world.reset(ATTENTION_SEED)
        policy.reset(ATTENTION_SEED, world.texts)
        policy.act(obs)
    assert policy.last_output is not None
    weights = policy.last_output.extras["attention/manual"][:, 0, 0].cpu().numpy()
    looks = obs["symbols"][:, 0, -1].astype(np.int64) - FIRST_ENTITY
    corpus, _ = corpus_of_run(config)
    about = corpus.about[obs["manual"][:, 0], 0]
    return _mean_by_pair(*np.broadcast_arrays(looks[:, :, None], about[:, None], weights))


def draw_attention(policy: LoadedPolicy, path: Path) -> Path:
    """Two panels, training games and new ones; good readers have dark diagonals."""
    figure = new_figure(width=10.5, height=5.3)
    for panel, (split, name) in zip(figure.subplots(1, 2), ATTENTION_SPLITS.items(), strict=True):
        attention = mean_attention(policy, split)
        panel.imshow(np.ones_like(attention), cmap="Greys", vmin=0, vmax=8)
        panel.imshow(attention, cmap="Blues", vmin=0, vmax=1)
        panel.set_xticks(range(len(ENTITIES)), ENTITIES, rotation=90, fontsize=8)
        panel.set_yticks(range(len(ENTITIES)), ENTITIES, fontsize=8)
        panel.set_title(f"{name}: {np.nanmean(np.diag(attention)):.2f} on the own sentence", loc="left", fontsize=10)
        panel.set_xlabel("sentence tells of", fontsize=9)
        panel.tick_params(length=0)
        panel.spines[:].set_color(FAINT)
    figure.axes[0].set_ylabel("sprite", fontsize=9)
    is_grounded = policy.method.endswith(GROUNDED)
    remark = ", with a contrastive grounding loss that is not in the paper" if is_grounded else ""
    figure.suptitle(f"{policy.method}{remark}", x=0.01, ha="left", fontsize=11)
    caption = f"mean attention at the start of {ATTENTION_EPISODES} episodes: white 0, darkest 1; grey: never together"
    explain_below(figure, caption)
    return save(figure, path)


def _mean_by_pair(looks: np.ndarray, about: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Means [12, 12] over all sprites and sentences."""
    side = len(ENTITIES)
    place = (looks * side + about).ravel()
    sums = np.bincount(place, weights.ravel(), side * side)
    with np.errstate(invalid="ignore"):
        return (sums / np.bincount(place, minlength=side * side)).reshape(side, side)


def video(policy: LoadedPolicy, seed: int = SEED) -> list[np.ndarray]:
    """One frame a choice and one for the end, [H, W, 3] uint8, all of one size."""
    return _frames(policy, seed, chosen_episode(policy, seed))


def _frames(policy: LoadedPolicy, seed: int, index: int) -> list[np.ndarray]:
    return [render.draw(scene, caption=caption) for scene, caption in watch_reading(policy, seed, index)]


def watch_reading(policy: LoadedPolicy, seed: int, index: int) -> list[tuple[Scene, str]]:
    """Scenes of world `index` before each choice, with its attention, and after the last one; each with a caption."""
    with candidate_worlds(policy) as world, policy.showing_attention():
        assert isinstance(world, Messenger)
        return list(_moments(policy, world, seed, index))


def _moments(policy: LoadedPolicy, world: Messenger, seed: int, index: int) -> Iterator[tuple[Scene, str]]:
    steps = steps_of_episode(policy, world, seed, index)
    info: dict[str, Any] = {}
    seen, reward = world.scene(index), 0.0
    for number, (actions, rewards, _, info) in enumerate(steps, start=1):  # noqa: B007
        scene = dataclasses.replace(seen, attention=_attention(policy, index, len(seen.sprites)))
        yield scene, f"{policy.method}, step {number}: chooses {world.action_names[actions[index, 0]]}"
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
