"""Attention of a network to the document in an episode: one row for the goal, one for each layer over the grid.

RTFM, figure 5. The mention-matching reader has a row for each thing in the room instead of layers. The episode is the
one that `record_episode` would show.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from rl_envs.rtfm.arena import Arena
from rl_models.networks.matching import CELLS
from tune_experiments.play.loading import LoadedPolicy
from tune_experiments.play.recording import SEED, PlayedStep, shown_episode
from tune_experiments.results.plots.figures import REMARK, explain_below, new_figure, save

PANELS = 3
"""Start, middle and last choice of an episode."""
_NARROWEST = 9.0
"""Width of a title in inches."""


@dataclass(frozen=True)
class Mention:
    """Attention of a mention-matching reader to each word of the document, [L], for a thing or the `goal`.

    `cell` is its row and column, None for the goal; `monster` is the number of the monster that it is or beats, if any.
    """

    thing: str
    cell: tuple[int, int] | None
    weights: np.ndarray
    monster: int | None = None


@dataclass(frozen=True)
class Moment:
    """One time step of an episode: image, texts and attention before a choice, or after the last.

    Attributes:
        picture: image of the world, [H, W, 3] uint8.
        words: words of the document, L of them.
        goal: text of the goal.
        things: names of living monsters and of items on the floor.
        attention: `goal`, `layer 1`, ... -> weight of each word, [L]; empty at the end, and for networks that do not
            attend.
        action: chosen action; empty at the end.
        reward: reward of the last choice, at the end.
        size: side of the room in cells.
        names_per_cell: P, number of names that are observed in one cell.
        mentions: mentions of the goal and of things in the room; empty for networks that attend by layers.
    """

    picture: np.ndarray
    words: tuple[str, ...]
    goal: str
    things: tuple[str, ...]
    attention: dict[str, np.ndarray] = field(default_factory=dict)
    action: str = ""
    reward: float = 0.0
    size: int = 0
    names_per_cell: int = 1
    mentions: tuple[Mention, ...] = ()


def watch_reading(policy: LoadedPolicy, seed: int = SEED) -> list[Moment]:
    """One episode of a team's first agent: T choices, and the end."""
    with shown_episode(policy, seed) as (world, index, steps), policy.showing_attention():
        return list(_moments(policy, world, index, steps))


def _moments(policy: LoadedPolicy, world: Arena, index: int, steps: Iterator[PlayedStep]) -> Iterator[Moment]:
    seen, things, reward = _seen(world, index), things_in(world, index), 0.0
    for step in steps:
        mentions = _mentions(policy, index, things, seen)
        attention = {one.thing: one.weights for one in mentions} or _attention(policy, index, len(seen.words))
        yield replace(seen, attention=attention, mentions=mentions, action=step.chosen[0])
        seen, things, reward = _seen(world, index), things_in(world, index), float(step.rewards[index, 0])
    yield replace(seen, reward=reward)


def _seen(world: Arena, index: int) -> Moment:
    """Present state of a world: its image and texts, without attention."""
    state = {name: value[index] for name, value in world.state.items()}
    texts = {key: world.lexicon.decode(world.texts[key].look_up(state[key])) for key in ("document", "goal")}
    items, monsters = state["item_names"][state["item_cells"] > 0], state["monster_names"][state["monster_alive"]]
    things = tuple(world.lexicon.names[name] for name in (*items, *monsters))
    words, (size, _, names) = tuple(texts["document"].split()), world.observation_spec["grid"].shape
    return Moment(world.render(index), words, texts["goal"], things, size=size, names_per_cell=names)


def _attention(policy: LoadedPolicy, index: int, length: int) -> dict[str, np.ndarray]:
    """Weights of the words at the last `act` of a world's first agent."""
    assert policy.last_output is not None
    extras = {name: value[index, 0, 0].cpu().numpy() for name, value in policy.last_output.extras.items()}
    found = {"goal": extras["attention/goal"][:length]} if "attention/goal" in extras else {}
    layers = extras.get("attention/grid", np.empty((0, length)))
    return found | {f"layer {number}": weights[:length] for number, weights in enumerate(layers, start=1)}


Things: TypeAlias = dict[int, Mention]
"""Cell, row * W + column, or `HELD` -> thing, without weights."""
HELD = -1


def things_in(world: Arena, index: int) -> Things:
    """Items on the floor of a world, its living monsters, which hide items, and what its first agent holds."""
    state = {name: value[index] for name, value in world.state.items()}
    names, size = world.lexicon.names, world.observation_spec["grid"].shape[1]
    beats: dict[int, int] = {item: number for number, item in enumerate(state["beaten_by"].tolist())}

    def thing(name: int, cell: int, monster: int | None) -> Mention:
        return Mention(names[name], divmod(cell, size), np.zeros(0), monster)

    items, held = enumerate(state["item_names"], start=1), int(state["held"][0])
    cells = dict(enumerate(state["item_cells"].tolist(), start=1))
    found = {cells[item]: thing(name, cells[item], beats.get(item)) for item, name in items if cells[item]}
    for number in np.flatnonzero(state["monster_alive"]).tolist():
        cell = int(state["monster_cells"][number])
        found[cell] = thing(state["monster_names"][number], cell, number)
    if held:
        found[HELD] = thing(state["item_names"][held - 1], int(state["agent_cells"][0]), beats.get(held))
    return found


def _mentions(policy: LoadedPolicy, index: int, things: Things, seen: Moment) -> tuple[Mention, ...]:
    """The goal, then the things in the room of a world's first agent, if the network has a row for each of them."""
    assert policy.last_output is not None
    if CELLS not in policy.last_output.extras:
        return ()
    extras = {name: value[index, 0, 0].cpu().numpy() for name, value in policy.last_output.extras.items()}
    keys = extras[CELLS] // seen.names_per_cell
    keys[-policy.policy.num_agents] = HELD  # inventories are the last rows, the agent's own first
    length = len(seen.words)
    rows = zip(keys.tolist(), extras["attention/grid"], strict=True)
    found = [replace(things[key], weights=weights[:length]) for key, weights in rows if key in things]
    return Mention("goal", None, extras["attention/goal"][:length]), *found


def draw_attention(moments: Sequence[Moment], path: Path, title: str) -> Path:
    """A panel a moment: columns are the document's words, rows the queries."""
    choices = [moment for moment in moments if moment.action]
    shown = sorted({0, (len(choices) - 1) // 2, len(choices) - 1})[:PANELS]
    words = max(len(choices[step].words) for step in shown)
    rows = len(choices[0].attention)
    figure = new_figure(width=max(1.2 + 0.19 * words, _NARROWEST), height=0.6 + len(shown) * (1.3 + 0.19 * rows))
    panels = figure.subplots(len(shown), 1, squeeze=False).ravel()
    for panel, step in zip(panels, shown, strict=True):
        _draw_panel(panel, choices[step], f"step {step + 1}: {choices[step].action}")
    figure.suptitle(f"{title}    goal: {choices[0].goal}", x=0.01, ha="left", fontsize=11)
    explain_below(
        figure,
        "Shades are square roots of weights: white is 0, the darkest 1. The weights of a row add up to 1; "
        "the largest is beside it.",
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
