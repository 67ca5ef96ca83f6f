"""Video of an episode with camera frames, message weights and sound (A Cordial Sync, appendix A.5).

Beside the map is each agent's camera frame with bars for the weights of its talk and its reply. The sound has a tone
for each: higher for a larger weight, the first agent on the left and the second on the right.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from rl_envs.core.render import BACKGROUND, FOREGROUND, MUTED
from rl_envs.furnmove.frame_palette import AGENT_COLOURS
from rl_envs.furnmove.frame_renderer import AgentCameras
from rl_envs.furnmove.render import framed
from tune_experiments.cordial_sync.messages import ROUNDS, Weights, listening
from tune_experiments.play.loading import LoadedPolicy
from tune_experiments.play.recording import SEED, shown_episode
from tune_experiments.play.video import write_gif, write_mp4

FRAME_SECONDS = 0.25
SAMPLE_RATE = 22_050
LOWEST_HERTZ, OCTAVES = 220.0, 2.0
"""Pitch of weight 0, and number of octaves between weights 0 and 1."""
_SIDE, _BAR, _GAP, _TEXT = 188, 18, 8, 12
_LOUDNESS, _FADE_SECONDS = 0.25, 0.01


@dataclass(frozen=True)
class CameraEpisode:
    """Frames of an episode, at the start and after each of T env steps, `[T + 1][H, W, 3]` uint8.

    `weights` [T] are message weights in each step, round -> [N] float; empty without messages.
    """

    frames: Sequence[np.ndarray]
    weights: Sequence[Weights]


def record_cameras(
    policy: LoadedPolicy, seed: int = SEED, pixels: int = 84, agents_visible: bool = True
) -> CameraEpisode:
    """The solved episode of median length among 16, or the first episode.

    Shown frames have 42 or 84 `pixels` a side, with or without other agents in them; the team's observations do not
    change.
    """
    with shown_episode(policy, seed) as (world, index, steps), listening(policy.policy) as heard:
        eyes = AgentCameras(world, index, pixels, agents_visible)
        frames, weights = [beside(world.render(index), eyes.frames(), {})], []
        for _ in steps:
            sent = {name: values[index] for name, values in heard.items()}
            frames.append(beside(world.render(index), eyes.frames(), sent))
            weights.append(sent)
    return CameraEpisode(frames, weights if any(weights) else [])


def write_camera_videos(episode: CameraEpisode, folder: Path, name: str) -> Iterator[Path]:
    """Write `NAME.gif`, and `NAME.mp4` with sound if agents exchange messages; yields the paths."""
    yield write_gif(episode.frames, folder / f"{name}.gif", FRAME_SECONDS)
    if episode.weights:
        sound = np.concatenate([silence(), *(tones(sent) for sent in episode.weights)])
        yield write_mp4(episode.frames, folder / f"{name}.mp4", FRAME_SECONDS, sound, SAMPLE_RATE)


def beside(room: np.ndarray, frames: np.ndarray, weights: Weights) -> np.ndarray:
    """The map [H, W, 3] uint8 with a column of frames [N, P, P, 3] uint8 to its right, always of the same size.

    `weights` are round -> [N], of the last messages; empty for no bars.
    """
    panels = [_panel(frame, agent, weights) for agent, frame in enumerate(frames)]
    column = np.concatenate(panels)
    height = max(len(room), len(column))
    return np.concatenate([_tall(room, height), _tall(column, height)], axis=1)


def _panel(frame: np.ndarray, agent: int, weights: Weights) -> np.ndarray:
    strip = Image.new("RGB", (_SIDE + 2 * _GAP, _SIDE + _GAP + len(ROUNDS) * _BAR + _GAP), BACKGROUND)
    strip.paste(Image.fromarray(framed(frame, agent, _SIDE)), (_GAP, _GAP))
    pen, font = ImageDraw.Draw(strip), ImageFont.load_default(_TEXT)
    for line, name in enumerate(ROUNDS):
        top = _SIDE + _GAP + line * _BAR + 3
        pen.text((_GAP, top), name, fill=FOREGROUND, font=font)
        left, right = _GAP + 40, _GAP + _SIDE - 34
        pen.rectangle((left, top + 2, right, top + 11), outline=MUTED)
        if weights:
            weight = float(weights[name][agent])
            colour = AGENT_COLOURS[agent % len(AGENT_COLOURS)]
            pen.rectangle((left, top + 2, left + round(weight * (right - left)), top + 11), fill=colour)
            pen.text((right + 6, top), f"{weight:.2f}", fill=FOREGROUND, font=font)
    return np.asarray(strip)


def _tall(picture: np.ndarray, height: int) -> np.ndarray:
    rows = np.full((height - len(picture), *picture.shape[1:]), BACKGROUND, np.uint8)
    return np.concatenate([picture, rows])


def tones(weights: Weights) -> np.ndarray:
    """The sound of one env step, [S, 2] int16, of weights round -> [N]: talk, then reply; agents from left to right."""
    octaves = [OCTAVES * np.clip(weights[name], 0.0, 1.0) for name in ROUNDS]
    return np.concatenate([_chord(LOWEST_HERTZ * 2**above) for above in octaves])


def _chord(pitches: np.ndarray) -> np.ndarray:
    """[S, 2] int16, tones of these pitches [N] in hertz, spread from left to right."""
    count = round(FRAME_SECONDS / len(ROUNDS) * SAMPLE_RATE)
    time = np.arange(count) / SAMPLE_RATE
    waves = np.sin(2 * np.pi * pitches * time[:, None])
    place = np.linspace(0, 1, len(pitches)) if len(pitches) > 1 else np.array([0.5])
    ends = np.clip(np.minimum(time, time[::-1]) / _FADE_SECONDS, 0, 1)
    mixed = waves @ np.stack([1 - place, place], axis=1) * ends[:, None]
    return np.asarray((_LOUDNESS * 32_767 * mixed / max(1.0, len(pitches) / 2)).astype(np.int16))


def silence() -> np.ndarray:
    """Silence for one frame, [S, 2] int16."""
    return np.zeros((len(ROUNDS) * round(FRAME_SECONDS / len(ROUNDS) * SAMPLE_RATE), 2), np.int16)
