"""Videos of EnDi: an episode in which each agent's entities are ringed in its colour (figures 3, 7, 8).

The episode is the one that `record_episode` would show. Each environment has a `Look` that says where entities are and
how a state is drawn.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from PIL import Image, ImageDraw

from rl_envs import World
from rl_envs.messenger import render as messenger_render
from rl_envs.messenger.symbols import SIDE
from rl_envs.messenger.world import Messenger
from rl_envs.rtfm import render as rtfm_render
from rl_envs.rtfm.world import Rtfm
from rl_models.networks.entity_divider import ENTITIES, MASK
from tune_experiments.play.captions import agent_captions, with_captions
from tune_experiments.play.loading import LoadedPolicy
from tune_experiments.play.recording import SEED, shown_episode
from tune_experiments.play.spectator import Spectator

Colour: TypeAlias = tuple[int, int, int]
_OVERSAMPLING = 3
_WIDTH = 3
"""Width of a ring in pixels; the next agent's ring is inside it."""


def ringed(
    picture: np.ndarray,
    owners: Sequence[tuple[tuple[int, int], Sequence[int]]],
    cell_pixels: int,
    colours: Sequence[Colour],
) -> np.ndarray:
    """The image [H, W, 3] uint8 of a grid, with rings in the agents' colours, [H, W, 3] uint8.

    The grid begins in the upper left corner, with cells of `cell_pixels`. `owners` are row and column of each entity,
    and the agents that take it.
    """
    image = Image.fromarray(picture)
    for (row, column), agents in owners:
        box = (column * cell_pixels, row * cell_pixels, (column + 1) * cell_pixels, (row + 1) * cell_pixels)
        cell = image.crop(box).resize((cell_pixels * _OVERSAMPLING,) * 2, Image.Resampling.NEAREST)
        pen = ImageDraw.Draw(cell)
        for agent in agents:
            margin = (1 + agent * (_WIDTH + 1)) * _OVERSAMPLING
            inside = (margin, margin, cell.width - 1 - margin, cell.height - 1 - margin)
            pen.rounded_rectangle(inside, cell.width // 5, outline=colours[agent], width=_WIDTH * _OVERSAMPLING)
        image.paste(cell.resize((cell_pixels, cell_pixels), Image.Resampling.BOX), box[:2])
    return np.asarray(image)


Cell = tuple[int, int]


@dataclass(frozen=True)
class Look:
    """Drawing functions of an environment.

    Attributes:
        draw: a scene and a caption -> picture.
        cell_pixels: side of a cell in it.
        colours: colours of agents.
        cells: observation of an agent -> row and column of each entity, in the order of its mask.
    """

    draw: Callable[[Any, str], np.ndarray]
    cell_pixels: int
    colours: Sequence[Colour]
    cells: Callable[[dict[str, np.ndarray]], list[Cell]]


MESSENGER = Look(
    draw=lambda scene, caption: messenger_render.draw(scene, caption=caption),
    cell_pixels=52,
    colours=Messenger.colours,
    cells=lambda seen: [divmod(int(cell), SIDE) for cell in seen["cells"][-1]],
)
RTFM = Look(
    draw=lambda scene, caption: rtfm_render.draw(scene, caption=caption),
    cell_pixels=rtfm_render.CELL_PIXELS,
    colours=Rtfm.colours,
    cells=lambda seen: [(int(row), int(column)) for row, column, _ in np.ndindex(seen["grid"].shape)],
)


class DivisionSpectator(Spectator):
    """Shows each agent's entities ringed in its colour."""

    def __init__(self, loaded: LoadedPolicy, look: Look) -> None:
        super().__init__(loaded)
        self._look = look

    def picture(self, world: Any, index: int) -> np.ndarray:
        """The present frame of `video`, [H, W, 3] uint8, without a caption."""
        look = self._look
        owners = _owners(self.loaded, index, look.cells(_seen(world, index)))
        return ringed(self.last_picture(world, index), owners, look.cell_pixels, look.colours)

    def last_picture(self, world: Any, index: int) -> np.ndarray:
        """Image [H, W, 3] uint8 without rings."""
        picture: np.ndarray = world.picture(index)
        return picture


def video(policy: LoadedPolicy, look: Look, seed: int = SEED) -> list[np.ndarray]:
    """One frame a choice and one for the end, [H, W, 3] uint8, all of one size."""
    with shown_episode(policy, seed) as (world, index, steps):
        scene, seen, reward = world.scene(index), _seen(world, index), np.zeros(world.num_agents)
        frames, captions = [], []
        for number, step in enumerate(steps, start=1):
            captions.append(agent_captions(world, step.chosen))
            picture = look.draw(scene, f"{policy.method}, step {number}")
            frames.append(ringed(picture, _owners(policy, index, look.cells(seen)), look.cell_pixels, look.colours))
            scene, seen, reward = world.scene(index), _seen(world, index), step.rewards[index]
        paid = ", ".join(f"{value:+.2f}" for value in reward)
        end = look.draw(scene, f"{policy.method}, the end: rewards {paid}")
        return with_captions([*frames, end], [*captions, agent_captions(world)])


def _seen(world: World, index: int) -> dict[str, np.ndarray]:
    """Observation of a world's first agent; entities have the same indices in all agents' masks."""
    return {name: value[index, 0] for name, value in world.observe().items()}


def _owners(policy: LoadedPolicy, index: int, cells: Sequence[Cell]) -> list[tuple[Cell, list[int]]]:
    """Cell of each entity and the agents that took it at the last `act`; empty for teams that do not divide."""
    assert policy.last_output is not None
    extras = policy.last_output.extras
    if MASK not in extras:
        return []
    masks, entities = extras[MASK][index, 0].cpu().numpy(), extras[ENTITIES][index, 0, 0].cpu().numpy()
    return [(cells[one], np.flatnonzero(masks[:, one]).tolist()) for one in np.flatnonzero(entities).tolist()]
