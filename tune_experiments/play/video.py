"""An episode as an animated GIF, or as an MP4 file, with sound where there is any."""

import io
import os
import tempfile
import wave
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from rl_envs.core.errors import installing
from rl_envs.core.spec import checked_picture
from tune_experiments.core.errors import UserError
from tune_experiments.core.files import write_atomically
from tune_experiments.play.captions import enlarged

PALETTE_SIZE = 256
# Number of frames from which the palette of a long episode is made.
FRAMES_FOR_PALETTE = 16
SUFFIXES = (".gif", ".mp4")
FRAME_SECONDS = 0.15


def write_video(frames: Sequence[np.ndarray], path: Path, frame_seconds: float = FRAME_SECONDS, scale: int = 1) -> Path:
    """Write frames `[H, W, 3] uint8` as GIF or MP4, by the suffix of the path, each pixel `scale` times both ways.

    Raises UserError where ffmpeg's package is missing, and ValueError for no frames, or frames of different shapes.
    """
    large = [enlarged(frame, scale) for frame in frames]
    write = write_mp4 if path.suffix.lower() == ".mp4" else write_gif
    return write(large, path, frame_seconds)


def write_gif(
    frames: Sequence[np.ndarray], path: Path, frame_seconds: float = FRAME_SECONDS, last_frame_seconds: float = 1.5
) -> Path:
    """Write `[T][H, W, 3] uint8` frames as a looping GIF that rests on its last frame.

    All frames share one palette, so that nothing flickers and unchanged pixels cost nothing.
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


def write_mp4(
    frames: Sequence[np.ndarray],
    path: Path,
    frame_seconds: float,
    sound: np.ndarray | None = None,
    sample_rate: int = 22_050,
) -> Path:
    """Write `[T][H, W, 3] uint8` frames as H.264, and sound as AAC, by ffmpeg; UserError if that is not installed.

    Odd sides get a row or column more, since the codec needs even ones. Sound is [S, C] int16 samples of C channels.
    Raises ValueError as `check_frames` does.
    """
    try:
        from imageio_ffmpeg import write_frames
    except ImportError as error:
        raise UserError(f"an MP4 video needs ffmpeg: {installing('video')}") from error
    check_frames(frames)
    height, width = frames[0].shape[:2]
    even = ((0, height % 2), (0, width % 2), (0, 0))
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".") as scratch:
        audio, video = f"{scratch}/sound.wav", f"{scratch}/video.mp4"
        size = (width + width % 2, height + height % 2)
        # macro_block_size 2: no scaling to multiples of 16.
        options = {"macro_block_size": 2, "ffmpeg_log_level": "error"}
        if sound is not None:
            with wave.open(audio, "wb") as file:
                file.setparams((sound.shape[1], sound.itemsize, sample_rate, len(sound), "NONE", ""))
                file.writeframes(sound.astype("<i2").tobytes())
            options |= {"audio_path": audio, "audio_codec": "aac"}
        writer = write_frames(video, size, fps=1 / frame_seconds, **options)
        writer.send(None)
        for frame in frames:
            writer.send(np.ascontiguousarray(np.pad(frame, even, mode="edge")))
        writer.close()
        os.replace(video, path)
    return path


def check_frames(frames: Sequence[np.ndarray]) -> None:
    """Refuse (ValueError) no frames, what is no image [H, W, 3] uint8, or images of different shapes."""
    if len({checked_picture(frame).shape for frame in frames}) != 1:
        raise ValueError(f"a video needs frames of one shape, not {sorted({frame.shape for frame in frames})}")


def _palette(frames: Sequence[np.ndarray]) -> Image.Image:
    """One palette for the whole episode, from frames spread evenly over it, the last among them."""
    chosen = np.unique(np.linspace(0, len(frames) - 1, min(len(frames), FRAMES_FOR_PALETTE)).round().astype(int))
    sheet = Image.fromarray(np.concatenate([frames[i] for i in chosen]))
    return sheet.quantize(PALETTE_SIZE, method=Image.Quantize.MEDIANCUT)
