"""Figures and videos of a run on RTFM: curves, attention (RTFM, figure 5), and an episode of each method.

Frames show the environment's image and the attention: each word of the document has a line, and each query a column of
squares, darker for more attention. Shades are square roots of weights, so that attention over many words is visible.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from rl_envs.rtfm.render import CELL_PIXELS
from tune_experiments.core.drawing import Drawn, attempt
from tune_experiments.play.loading import LoadedPolicy
from tune_experiments.play.trial_figures import Trials, draw_curves, draw_teams
from tune_experiments.play.video import write_gif
from tune_experiments.rtfm.attention import Moment, draw_attention, watch_reading
from tune_experiments.rtfm.mention_lines import frames_with_lines

CURVES = {
    "episode/win_rate": "win rate",
    "valid/unseen_win_rate": "win rate, unseen assignments (validation)",
    "valid/shuffled_win_rate": "the same with another game's document",
    "episode/length": "episode length (env steps)",
    "policy/entropy": "entropy (nats)",
}
BINS = 40
_FRAME_SECONDS = 0.6
PAPER, INK, EDGE = (252, 251, 248), (52, 56, 66), (226, 218, 203)
DARKEST = np.array([8, 48, 107])
_NARROWEST = 380
_LINE, _SQUARE, _WORD, _MARGIN, _TEXT = 15, 14, 92, 14, 11
_HEAD_LINES = 3
"""Lines above the words: the action, and the names of the columns."""


def video(policy: LoadedPolicy, seed: int) -> list[np.ndarray]:
    """Frames of one episode with the network's attention."""
    return draw_frames(watch_reading(policy, seed))


def draw(out: Path, trials: Trials) -> Sequence[Drawn]:
    """Draw all figures that have data; returns their paths."""

    def draw_episode(method: str, policy: LoadedPolicy) -> Iterator[Drawn]:
        """One episode, and a figure of the team's attention if its network has one."""
        moments = watch_reading(policy)
        yield from attempt(
            f"video of {method}",
            lambda: write_gif(draw_frames(moments), out / f"videos/{method}.gif", _FRAME_SECONDS),
        )
        if moments[0].attention:
            yield draw_attention(moments, out / f"plots/attention_{method}.png", method)

    return [*draw_curves(out, trials, CURVES, BINS), *draw_teams(trials, {"attention": draw_episode})]


def draw_frames(moments: Sequence[Moment]) -> list[np.ndarray]:
    """One frame a moment, [H, W, 3] uint8, all of one size; for a mention-matching reader with lines."""
    if moments[0].mentions:
        return frames_with_lines(moments, CELL_PIXELS)
    heads = ["g" if name == "goal" else name.removeprefix("layer ") for name in moments[0].attention]
    if not heads:
        return [moment.picture for moment in moments]
    height = moments[0].picture.shape[0]
    lines = height // _LINE - _HEAD_LINES
    columns = max(-(-len(moment.words) // lines) for moment in moments)
    width = max(columns * _column_width(heads) + _MARGIN, _NARROWEST)
    return [
        np.concatenate([moment.picture, _panel(moment, heads, (width, height), lines)], axis=1) for moment in moments
    ]


def _panel(moment: Moment, heads: list[str], size: tuple[int, int], lines: int) -> np.ndarray:
    image = Image.new("RGB", size, PAPER)
    pen, font = ImageDraw.Draw(image), ImageFont.load_default(_TEXT)
    end = f"the end, reward {moment.reward:+.2f}"
    title = f"chooses {moment.action}; attention of the goal (g) and the layers" if moment.action else end
    pen.text((_MARGIN, 6), title, fill=INK, font=font)
    for number, word in enumerate(moment.words):
        column, line = divmod(number, lines)
        left, top = _MARGIN + column * _column_width(heads), (line + _HEAD_LINES) * _LINE - 4
        pen.text((left, top), word, fill=INK, font=font)
        for place, weights in enumerate(moment.attention.values()):
            x = left + _WORD + place * _SQUARE
            if not line:
                pen.text((x + _SQUARE / 2 - 1, top - _LINE / 2), heads[place], fill=INK, font=font, anchor="mm")
            shade = _shade(float(weights[number]))
            pen.rectangle((x, top, x + _SQUARE - 3, top + _LINE - 4), fill=shade, outline=EDGE)
    return np.asarray(image)


def _column_width(heads: list[str]) -> int:
    return _WORD + len(heads) * _SQUARE + _MARGIN


def _shade(weight: float) -> tuple[int, int, int]:
    """Background colour for weight 0, the darkest colour for weight 1."""
    share = weight**0.5
    red, green, blue = (np.array(PAPER) * (1 - share) + DARKEST * share).round().astype(int).tolist()
    return red, green, blue
