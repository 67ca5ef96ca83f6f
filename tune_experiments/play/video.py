"""An episode as an animated GIF."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from rl_envs.core.spec import checked_picture
from tune_experiments.core.files import write_atomically

__all__ = ["check_frames", "write_gif"]

PALETTE_SIZE = 256
# The palette of a long episode is made from so many of its frames.
FRAMES_FOR_PALETTE = 16


def write_gif(
    frames: Sequence[np.ndarray], path: Path, frame_seconds: float = 0.15, last_frame_seconds: float = 1.5
) -> Path:
    """Write `[T][H, W, 3] uint8` frames as a looping GIF that rests on its last frame.

    All frames share one palette, so that nothing flickers and unchanged pixels cost nothing.

    Raises:
        ValueError: no frames, what is no image, or images of different shapes.
    """
    check_frames(frames)
    palette = _palette(frames)
    # Rendered worlds are flat colours: dithering would speckle them and swell the file.
    images = [Image.fromarray(frame).quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    milliseconds = [round(1000 * frame_seconds)] * (len(images) - 1) + [round(1000 * last_frame_seconds)]
    video, rest = io.BytesIO(), images[1:]
    # disposal=1 lets each frame be stored as its difference from the one before.
    images[0].save(
        video, "GIF", save_all=True, append_images=rest, duration=milliseconds, loop=0, optimize=True, disposal=1
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, video.getvalue())
    return path


def check_frames(frames: Sequence[np.ndarray]) -> None:
    """Refuse what cannot be a video.

    Raises:
        ValueError: no frames, what is no image, or images of different shapes.
    """
    if len({checked_picture(frame).shape for frame in frames}) != 1:
        raise ValueError(f"a video needs frames of one shape, not {sorted({frame.shape for frame in frames})}")


def _palette(frames: Sequence[np.ndarray]) -> Image.Image:
    """One palette for the whole episode, from frames spread evenly over it, the last among them."""
    chosen = np.unique(np.linspace(0, len(frames) - 1, min(len(frames), FRAMES_FOR_PALETTE)).round().astype(int))
    sheet = Image.fromarray(np.concatenate([frames[i] for i in chosen]))
    return sheet.quantize(PALETTE_SIZE, method=Image.Quantize.MEDIANCUT)
