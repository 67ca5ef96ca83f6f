"""Where a network attends in the document while it plays: one row for the goal, one for each layer over the grid.

RTFM, figure 5. Of the episodes that begin at one seed the one is shown that `record_episode` would show.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from tune_experiments.play.loading import LoadedPolicy
from tune_experiments.play.recording import SEED, candidate_worlds, chosen_episode, steps_of_episode
from tune_experiments.results.plots.figures import REMARK, new_figure, save

PANELS = 3
"""Start, middle and last choice of an episode."""
_NARROWEST = 9.0
"""Inches that a title needs."""


@dataclass(frozen=True)
class Moment:
    """What is shown and computed before one choice, or after the last.

    Attributes:
        picture: of the world, [H, W, 3] uint8.
        words: of the document, L of them.
        goal: as it is read.
        things: names of the monsters that live and of the items on the floor.
        attention: `goal`, `layer 1`, ... -> weight of each word, [L]; empty at the end, and for networks that do not
            attend.
        action: what is chosen; empty at the end.
        reward: of the last choice, at the end.
    """

    picture: np.ndarray
    words: tuple[str, ...]
    goal: str
    things: tuple[str, ...]
    attention: dict[str, np.ndarray] = field(default_factory=dict)
    action: str = ""
    reward: float = 0.0


def watch_reading(policy: LoadedPolicy, seed: int = SEED) -> list[Moment]:
    """One episode of a team's first agent: T choices, and the end."""
    index = chosen_episode(policy, seed)
    world = candidate_worlds(policy)
    with policy.showing_attention():
        return list(_moments(policy, world, seed, index))


def _moments(policy: LoadedPolicy, world: Any, seed: int, index: int) -> Iterator[Moment]:
    steps = steps_of_episode(policy, world, seed, index)
    seen, reward = _seen(world, index), 0.0
    for actions, rewards, *_ in steps:
        attention = _attention(policy, index, len(seen.words))
        yield replace(seen, attention=attention, action=world.action_names[actions[index, 0]])
        seen, reward = _seen(world, index), float(rewards[index, 0])
    yield replace(seen, reward=reward)


def _seen(world: Any, index: int) -> Moment:
    """What there is to see and to read in a world."""
    state = {name: value[index] for name, value in world.state.items()}
    texts = {key: world.lexicon.decode(world.texts[key].look_up(state[key])) for key in ("document", "goal")}
    items, monsters = state["item_names"][state["item_cells"] > 0], state["monster_names"][state["monster_alive"]]
    things = tuple(world.lexicon.names[name] for name in (*items, *monsters))
    return Moment(world.render(index), tuple(texts["document"].split()), texts["goal"], things)


def _attention(policy: LoadedPolicy, index: int, length: int) -> dict[str, np.ndarray]:
    """Weights of the words at the last `act` of a world's first agent."""
    assert policy.last_output is not None
    extras = {name: value[index, 0, 0].numpy() for name, value in policy.last_output.extras.items()}
    found = {"goal": extras["attention/goal"][:length]} if "attention/goal" in extras else {}
    layers = extras.get("attention/grid", np.empty((0, length)))
    return found | {f"layer {number}": weights[:length] for number, weights in enumerate(layers, start=1)}


def draw_attention(moments: Sequence[Moment], path: Path, title: str) -> Path:
    """A panel a moment: the document's words from left to right, what attends from top to bottom."""
    choices = [moment for moment in moments if moment.action]
    shown = sorted({0, (len(choices) - 1) // 2, len(choices) - 1})[:PANELS]
    words = max(len(choices[step].words) for step in shown)
    rows = len(choices[0].attention)
    figure = new_figure(width=max(1.2 + 0.19 * words, _NARROWEST), height=0.6 + len(shown) * (1.3 + 0.19 * rows))
    panels = figure.subplots(len(shown), 1, squeeze=False).ravel()
    for panel, step in zip(panels, shown, strict=True):
        _draw_panel(panel, choices[step], f"step {step + 1}: {choices[step].action}")
    figure.suptitle(f"{title}    goal: {choices[0].goal}", x=0.01, ha="left", fontsize=11)
    figure.supxlabel(
        "Shades are square roots of weights: white is 0, the darkest 1. The weights of a row add up to 1; "
        "beside it stands the largest.",
        fontsize=8,
        color=REMARK,
    )
    return save(figure, path)


def _draw_panel(panel: Any, moment: Moment, title: str) -> None:
    weights = np.stack(list(moment.attention.values()))
    panel.imshow(weights**0.5, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    panel.set_yticks(range(len(weights)), list(moment.attention), fontsize=8)
    for row, largest in enumerate(weights.max(1)):
        panel.text(weights.shape[1] - 0.3, row, f"{largest:.2f}", fontsize=7, color=REMARK, va="center")
    panel.set_xticks(range(len(moment.words)), moment.words, rotation=90, fontsize=7)
    panel.set_title(f"{title}    in the room: {', '.join(moment.things)}", loc="left", fontsize=9)
    panel.tick_params(length=0)
