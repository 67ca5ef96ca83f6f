"""Rendering of MiniRTS from above: each side's sight, health, orders and bullets.

Cells that neither side sees are dark; a tint says which side sees a cell. A unit is a disc of its side's colour with
the first letters of its type, a building a square; the bar above is its health. Lines lead to what units move, attack
or gather. This file must not know about rules or rewards.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from rl_envs.core.render import BACKGROUND, FOREGROUND, MUTED, Colour, Line, Panel, with_text_panel
from rl_envs.core.spec import Array
from rl_envs.minirts.game import fog_of
from rl_envs.minirts.symbols import (
    ATTACK,
    FIRST_BUILDING,
    GATHER,
    MAX_HP,
    NOWHERE,
    RESOURCE,
    SIDE,
    UNITS,
    UNSEEN,
    VISIBLE,
    WATER,
)

CELL = 16
"""Pixels of a cell."""
COLOURS: tuple[Colour, Colour] = ((37, 99, 214), (214, 66, 53))
_GRASS: Colour = (188, 205, 158)
_WATER: Colour = (132, 172, 204)
_GOLD: Colour = (222, 178, 62)
_LETTERS = dict(
    enumerate(("", "pe", "sp", "sw", "ca", "dr", "ar", "ct", "BA", "BL", "ST", "WO", "AV", "AY", "GT", "TH"))
)
_ORDER_COLOURS = {ATTACK: (190, 40, 40), GATHER: (170, 130, 20)}
_MOVE_COLOUR: Colour = (70, 70, 70)
_PANEL = Panel(width=230, least_lines=16)


def draw(game: Any) -> Array:
    """One game (a record of `game.GAME`) as an image, [H, W, 3] uint8."""
    room = Image.fromarray(_ground(game))
    pen = ImageDraw.Draw(room)
    _draw_orders(pen, game)
    for row in range(game["num_units"]):
        _draw_object(pen, game, row)
    for k in range(game["num_bullets"]):
        x, y = _pixel(game["bullet_x"][k]), _pixel(game["bullet_y"][k])
        pen.ellipse((x - 2, y - 2, x + 2, y + 2), fill=FOREGROUND)
    return np.asarray(with_text_panel(room, _lines(game), _PANEL).convert("RGB"))


def _ground(game: Any) -> Array:
    """Terrain with both sides' sight, [SIDE * CELL, SIDE * CELL, 3] uint8."""
    terrain = game["terrain"].reshape(SIDE, SIDE)
    colours = np.where((terrain == WATER)[..., None], _WATER, _GRASS).astype(np.float32)
    sight = fog_of(game["visible_rows"], game["seen_rows"])
    for side, colour in enumerate(COLOURS):
        sees = (sight[side] == VISIBLE)[..., None]
        colours = np.where(sees, colours * 0.85 + np.array(colour, np.float32) * 0.15, colours)
    colours[(sight != VISIBLE).all(0)] *= 0.72
    colours[(sight == UNSEEN).all(0)] *= 0.7
    return colours.astype(np.uint8).repeat(CELL, 0).repeat(CELL, 1)


def _pixel(coordinate: float) -> float:
    """Pixel of a position; cell 0 is centred at 0."""
    return (float(coordinate) + 0.5) * CELL


def _draw_object(pen: ImageDraw.ImageDraw, game: Any, row: int) -> None:
    kind, side = int(game["unit_type"][row]), int(game["unit_player"][row])
    x, y, half = _pixel(game["unit_x"][row]), _pixel(game["unit_y"][row]), 0.45 * CELL
    box = (x - half, y - half, x + half, y + half)
    if kind == RESOURCE:
        pen.polygon([(x, y - half), (x + half, y), (x, y + half), (x - half, y)], fill=_GOLD, outline=FOREGROUND)
        return
    is_ghost = game["unit_expire"][row] >= 0
    fill = None if is_ghost else COLOURS[side]
    (pen.rectangle if kind >= FIRST_BUILDING else pen.ellipse)(box, fill=fill, outline=COLOURS[side])
    colour = COLOURS[side] if is_ghost else (255, 255, 255)
    pen.text((x, y), _LETTERS[kind], fill=colour, anchor="mm", font=ImageFont.load_default(9))
    share = int(game["unit_hp"][row]) / int(MAX_HP[kind])
    if share < 1:
        pen.rectangle((x - half, y - half - 3, x + half, y - half - 1), fill=MUTED)
        pen.rectangle((x - half, y - half - 3, x - half + 2 * half * max(share, 0), y - half - 1), fill=(40, 160, 60))


def _draw_orders(pen: ImageDraw.ImageDraw, game: Any) -> None:
    """A line from each unit to where its order leads."""
    rows = {int(number): row for row, number in enumerate(game["unit_id"][: game["num_units"]])}
    for k in range(game["num_orders"]):
        row, target = rows.get(int(game["order_unit"][k])), rows.get(int(game["order_target"][k]))
        if row is None:
            continue
        if target is not None:
            end = game["unit_x"][target], game["unit_y"][target]
        else:
            end = game["order_x"][k], game["order_y"][k]
        if end[0] > NOWHERE / 2 and (target is not None or game["order_kind"][k] not in (ATTACK, GATHER)):
            start = _pixel(game["unit_x"][row]), _pixel(game["unit_y"][row])
            colour = _ORDER_COLOURS.get(int(game["order_kind"][k]), _MOVE_COLOUR)
            pen.line((*start, _pixel(end[0]), _pixel(end[1])), fill=colour)


def _lines(game: Any) -> list[Line]:
    """Text beside the map: tick, money, numbers of objects by type, winner."""
    count = int(game["num_units"])
    lines: list[Line] = [(f"tick {game['tick']}", FOREGROUND)]
    for side, colour in enumerate(COLOURS):
        lines += [("", BACKGROUND), (f"side {side}: {game['money'][side]} money", colour)]
        own = (game["unit_player"][:count] == side) & (game["unit_expire"][:count] < 0)
        numbers = np.bincount(game["unit_type"][:count][own], minlength=len(UNITS))
        numbers[RESOURCE] = 0
        lines += [(f"  {number} {UNITS[kind]}", FOREGROUND) for kind, number in enumerate(numbers) if number]
    if game["winner"] >= 0:
        lines += [("", BACKGROUND), (f"side {game['winner']} wins", COLOURS[game["winner"]])]
    return lines
