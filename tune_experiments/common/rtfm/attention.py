"""Where a network attends in the document while it plays: one row for the goal, one for each layer over the grid.

RTFM, figure 5. Of the episodes that begin at one seed the one is shown that `record_episode` would show.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tune_experiments.common.plots.figures import REMARK, new_figure, save
from tune_experiments.common.policies import LoadedPolicy
from tune_experiments.common.recording import SEED, candidate_worlds, chosen_episode, steps_of_episode

PANELS = 3
"""Start, middle and last choice of an episode."""


@dataclass(frozen=True)
class Moment:
    """What is shown and thought before one choice, or after the last.

    Attributes:
        picture: of the world, [H, W, 3] uint8.
        words: of the document, L of them.
        attention: `goal`, `layer 1`, ... -> weight of each word, [L]; empty at the end, and for networks that do not
            attend.
        action: what is chosen; empty at the end.
    """

    picture: np.ndarray
    words: tuple[str, ...]
    attention: dict[str, np.ndarray]
    action: str = ""


def watch_reading(policy: LoadedPolicy, seed: int = SEED) -> list[Moment]:
    """One episode of a team's first agent: T choices, and the end."""
    index = chosen_episode(policy, seed)
    world = candidate_worlds(policy)
    network: Any = policy.policy.network
    network.shows_attention = True
    try:
        return list(_moments(policy, world, seed, index))
    finally:
        network.shows_attention = False


def _moments(policy: LoadedPolicy, world: Any, seed: int, index: int) -> Iterator[Moment]:
    steps = steps_of_episode(policy, world, seed, index)
    picture, words = world.render(index), _words(world, index)
    for actions, *_ in steps:
        yield Moment(picture, words, _attention(policy, index, len(words)), world.action_names[actions[index, 0]])
        picture, words = world.render(index), _words(world, index)
    yield Moment(picture, words, {})


def _words(world: Any, index: int) -> tuple[str, ...]:
    """The document of the first agent of a world."""
    return tuple(world.lexicon.decode(world.texts["document"].look_up(world.state["document"][index])).split())


def _attention(policy: LoadedPolicy, index: int, length: int) -> dict[str, np.ndarray]:
    """Weights of the words in the last thought of a world's first agent."""
    assert policy.thought is not None
    extras = {name: value[index, 0, 0].numpy() for name, value in policy.thought.extras.items()}
    found = {"goal": extras["attention/goal"][:length]} if "attention/goal" in extras else {}
    layers = extras.get("attention/grid", np.empty((0, length)))
    return found | {f"layer {number}": weights[:length] for number, weights in enumerate(layers, start=1)}


def draw_attention(moments: Sequence[Moment], path: Path, title: str) -> Path:
    """A panel a moment: the document's words from left to right, what attends from top to bottom."""
    choices = [moment for moment in moments if moment.action]
    shown = sorted({0, (len(choices) - 1) // 2, len(choices) - 1})[:PANELS]
    words = max(len(choices[step].words) for step in shown)
    rows = len(choices[0].attention)
    figure = new_figure(width=1.2 + 0.19 * words, height=0.6 + len(shown) * (1.3 + 0.19 * rows))
    panels = figure.subplots(len(shown), 1, squeeze=False).ravel()
    for panel, step in zip(panels, shown, strict=True):
        _draw_panel(panel, choices[step], f"step {step + 1}: {choices[step].action}")
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    figure.supxlabel("darker: more of the row's attention, whose sum is 1", fontsize=8, color=REMARK)
    return save(figure, path)


def _draw_panel(panel: Any, moment: Moment, title: str) -> None:
    panel.imshow(np.stack(list(moment.attention.values())), cmap="Blues", vmin=0, vmax=1, aspect="auto")
    panel.set_yticks(range(len(moment.attention)), list(moment.attention), fontsize=8)
    panel.set_xticks(range(len(moment.words)), moment.words, rotation=90, fontsize=7)
    panel.set_title(title, loc="left", fontsize=9)
    panel.tick_params(length=0)
