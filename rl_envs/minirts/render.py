"""Rendering of MiniRTS from above: each side's sight, health, orders and bullets.

Cells that neither side sees are dark; a tint marks which side sees a cell. A unit is a disc of its side's colour with
the first letters of its type, a building a square, hollow while it is built; the bar above is its health. Lines lead to
what units attack, gather, build or move to. Next to the map are money, numbers of objects with what they do, and a
small map of what each side sees, remembers and does not know.
"""

from collections import Counter
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from rl_envs.core.render import BACKGROUND, FOREGROUND, MUTED, Colour, Line, Panel, with_text_panel
from rl_envs.core.spec import Array
from rl_envs.minirts.game import fog_map
from rl_envs.minirts.symbols import (
    ATTACK,
    BUILD,
    FIRST_BUILDING,
    GATHER,
    MAX_HP,
    MOVE,
    NOWHERE,
    RESOURCE,
    SIDE,
    UNITS,
    UNSEEN,
    VISIBLE,
    WATER,
)

CELL, SMALL = 20, 4
"""Pixels of a cell, on the map and on the small ones."""
COLOURS: tuple[Colour, Colour] = ((37, 99, 214), (214, 66, 53))
_GRASS: Colour = (188, 205, 158)
_WATER: Colour = (132, 172, 204)
_GOLD: Colour = (222, 178, 62)
_LETTERS = dict(
    enumerate(("", "pe", "sp", "sw", "ca", "dr", "ar", "ct", "BA", "BL", "ST", "WO", "AV", "AY", "GT", "TH"))
)
_ORDERS: dict[int, tuple[str, Colour]] = {
    ATTACK: ("attack", (176, 20, 20)),
    GATHER: ("gather", (150, 110, 0)),
    BUILD: ("build", (120, 40, 150)),
    MOVE: ("move", (50, 50, 50)),
}
"""Command -> meaning of its line in the legend, and the line's colour."""
_BULLET: Colour = (255, 236, 80)
_PANEL = Panel(width=2 * SIDE * SMALL + 44, least_lines=16)
_SIGHT = (1.0, 0.6, 0.0)
"""Brightness of a cell of the small maps: visible, seen, unseen."""


def draw(game: Any, names: tuple[str, str] = ("side 0", "side 1")) -> Array:
    """One game (a record of `game.GAME`) as an image, [H, W, 3] uint8."""
    room = Image.fromarray(_ground(game))
    pen = ImageDraw.Draw(room)
    _draw_orders(pen, game)
    for row in range(game["num_units"]):
        _draw_object(pen, game, row)
    for k in range(game["num_bullets"]):
        x, y = _pixel(game["bullet_x"][k]), _pixel(game["bullet_y"][k])
        pen.ellipse((x - 3, y - 3, x + 3, y + 3), fill=_BULLET, outline=FOREGROUND)
    image = with_text_panel(room, _lines(game, names), _PANEL)
    _draw_small_maps(image, game)
    return np.asarray(image.convert("RGB"))


def _ground(game: Any) -> Array:
    """Terrain with both sides' sight, [SIDE * CELL, SIDE * CELL, 3] uint8."""
    terrain = game["terrain"].reshape(SIDE, SIDE)
    colours = np.where((terrain == WATER)[..., None], _WATER, _GRASS).astype(np.float32)
    sight = fog_map(game["visible_rows"], game["seen_rows"])
    for side, colour in enumerate(COLOURS):
        sees = (sight[side] == VISIBLE)[..., None]
        colours = np.where(sees, colours * 0.85 + np.array(colour, np.float32) * 0.15, colours)
    colours[(sight != VISIBLE).all(0)] *= 0.72
    colours[(sight == UNSEEN).all(0)] *= 0.7
    return colours.astype(np.uint8).repeat(CELL, 0).repeat(CELL, 1)


def _draw_small_maps(image: Image.Image, game: Any) -> None:
    """Draw a small map of each side at the foot of the panel: terrain, and the objects that it sees or remembers."""
    terrain = np.where((game["terrain"].reshape(SIDE, SIDE) == WATER)[..., None], _WATER, _GRASS)
    sight = fog_map(game["visible_rows"], game["seen_rows"])
    count, width = int(game["num_units"]), SIDE * SMALL
    kinds, owners = game["unit_type"][:count], game["unit_player"][:count]
    columns, rows = (np.clip(np.round(game[f"unit_{axis}"][:count]), 0, SIDE - 1).astype(int) for axis in "xy")
    for side in range(len(COLOURS)):
        cells = terrain * np.array(_SIGHT)[sight[side]][..., None]
        known = (sight[side][rows, columns] == VISIBLE) | ((game["unit_remembered"][:count] >> side) & 1 == 1)
        for row in np.flatnonzero(known | ((owners == side) & (kinds != RESOURCE))):
            cells[rows[row], columns[row]] = _GOLD if kinds[row] == RESOURCE else COLOURS[owners[row]]
        picture = Image.fromarray(cells.astype(np.uint8)).resize((width, width), Image.Resampling.NEAREST)
        left, top = image.width - (2 - side) * (width + 14), image.height - width - 12
        image.paste(picture, (left, top))
        text = f"what side {side} knows"
        ImageDraw.Draw(image).text((left, top - 17), text, fill=COLOURS[side], font=ImageFont.load_default(12))


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
    pen.text((x, y), _LETTERS[kind], fill=colour, anchor="mm", font=ImageFont.load_default(11))
    share = int(game["unit_hp"][row]) / int(MAX_HP[kind])
    if share < 1:
        pen.rectangle((x - half, y - half - 3, x + half, y - half - 1), fill=MUTED)
        pen.rectangle((x - half, y - half - 3, x - half + 2 * half * max(share, 0), y - half - 1), fill=(40, 160, 60))


def _draw_orders(pen: ImageDraw.ImageDraw, game: Any) -> None:
    """Draw a line from each unit to the target of its order."""
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
            start, (x, y) = (_pixel(game["unit_x"][row]), _pixel(game["unit_y"][row])), map(_pixel, end)
            _, colour = _ORDERS[int(game["order_kind"][k])]
            pen.line((*start, x, y), fill=colour, width=2)
            pen.ellipse((x - 4, y - 4, x + 4, y + 4), outline=colour, width=2)


def _lines(game: Any, names: tuple[str, str]) -> list[Line]:
    """Text next to the map: tick, money, numbers of objects by type and activity, winner, colours of lines."""
    lines: list[Line] = [(f"tick {game['tick']}", FOREGROUND)]
    if game["winner"] >= 0:
        lines.append((f"side {game['winner']} wins", COLOURS[game["winner"]]))
    for side, colour in enumerate(COLOURS):
        lines += [("", BACKGROUND), (f"{names[side]}: {game['money'][side]} money", colour)]
        lines += [(f"  {line}", FOREGROUND) for line in _what_they_do(game, side)]
    lines += [("", BACKGROUND), *((f"line: {word}", colour) for word, colour in _ORDERS.values())]
    return lines


def _what_they_do(game: Any, side: int) -> list[str]:
    """A line for each type of a side's objects, as `5 archer: 3 attack, 2 idle`."""
    orders = zip(*(game[f"order_{name}"][: game["num_orders"]] for name in ("unit", "kind", "type")), strict=True)
    running = {unit: f"build {UNITS[made]}" if kind == BUILD else _ORDERS[int(kind)][0] for unit, kind, made in orders}
    done: dict[int, Counter[str]] = {kind: Counter() for kind in range(len(UNITS))}
    for row in range(game["num_units"]):
        kind = int(game["unit_type"][row])
        if game["unit_player"][row] == side and game["unit_expire"][row] < 0 and kind != RESOURCE:
            done[kind][running.get(game["unit_id"][row], "idle")] += 1
    activities = {kind: ", ".join(f"{number} {word}" for word, number in words.items()) for kind, words in done.items()}
    return [f"{words.total()} {UNITS[kind]}: {activities[kind]}" for kind, words in done.items() if words]
