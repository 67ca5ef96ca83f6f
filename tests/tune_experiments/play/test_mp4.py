"""Videos with sound, read back by ffmpeg."""

import subprocess
import sys

import numpy as np
import pytest
from imageio_ffmpeg import get_ffmpeg_exe, read_frames

from tune_experiments.core.errors import UserError
from tune_experiments.play.video import write_mp4

FRAMES = [np.full((30, 41, 3), (60 * number, 120, 200), np.uint8) for number in range(8)]
RATE = 8_000
TONE = (8_000 * np.sin(2 * np.pi * 440 * np.arange(2 * RATE) / RATE))[:, None].astype(np.int16) * [[1, 0]]


@pytest.mark.processes
def test_frames_size_rate_and_both_channels_come_back(tmp_path):
    path = write_mp4(FRAMES, tmp_path / "deep" / "video.mp4", 0.25, TONE.astype(np.int16), RATE)
    described, *pictures = read_frames(str(path))
    assert described["size"] == (42, 30) and described["fps"] == 4 and len(pictures) == len(FRAMES)
    for frame, data in zip(FRAMES, pictures, strict=True):
        assert abs(np.frombuffer(data, np.uint8).reshape(30, 42, 3)[5, 5].astype(int) - frame[5, 5]).max() <= 8
    decode = [get_ffmpeg_exe(), "-v", "error", "-i", str(path), "-f", "s16le", "-ac", "2", "-"]
    heard = np.frombuffer(subprocess.run(decode, capture_output=True, check=True).stdout, "<i2").reshape(-1, 2)
    middle = heard[RATE // 2 : RATE].astype(float)
    assert abs(np.fft.rfft(middle[:, 0])).argmax() * RATE / len(middle) == pytest.approx(440, abs=4)
    assert abs(middle[:, 1]).max() < abs(middle[:, 0]).max() / 10
    assert [file.name for file in path.parent.iterdir()] == ["video.mp4"]


def test_without_ffmpeg_the_cure_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(UserError, match="video"):
        write_mp4(FRAMES, tmp_path / "video.mp4", 0.25, TONE.astype(np.int16), RATE)
