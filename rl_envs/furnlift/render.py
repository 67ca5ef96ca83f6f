"""Top-down rendering of FurnLift, in the style of FurnMove's: room, television on the floor, agents.

Figure 4 of A Cordial Sync (Jain et al., ECCV 2020) shows such views.
"""

import numpy as np

from rl_envs.core.render import caption_strip
from rl_envs.core.spec import Array
from rl_envs.furnlift.sight import BOX_CELLS
from rl_envs.furnmove.frame_palette import AGENT_COLOURS
from rl_envs.furnmove.render import Canvas
from rl_envs.furnmove.room import Room


def draw(room: Room, agent_cells: Array, agent_headings: Array, tv: Array, sees: Array, cell_pixels: int = 24) -> Array:
    """Image of one state, north up, with a caption of the agents that see the television, [height, width, 3] uint8.

    `agent_cells` [2, 2] (row, column), `agent_headings` [2] (clockwise quarter turns from north), `tv` [3] (row,
    column, rotation), `sees` [2] bool.
    """
    canvas = Canvas(room, cell_pixels)
    canvas.draw_room()
    canvas.draw_box(BOX_CELLS[tv[2]] + tv[:2], tv)
    for number, (cell, heading) in enumerate(zip(agent_cells, agent_headings, strict=True)):
        canvas.draw_agent(cell, int(heading), AGENT_COLOURS[number])
    image = np.asarray(canvas.finished())
    seeing = " and ".join(f"agent_{number}" for number in np.flatnonzero(sees))
    caption = caption_strip(f"television seen by {seeing or 'no agent'}", image.shape[1])
    return np.concatenate([caption, image])
