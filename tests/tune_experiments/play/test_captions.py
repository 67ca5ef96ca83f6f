"""Frames of a video say who did what, and what was written to whom; with sound, ffmpeg reads them back."""

import subprocess
import sys

import numpy as np
import pytest
from imageio_ffmpeg import get_ffmpeg_exe, read_frames

from tune_experiments.core.errors import UserError
from tune_experiments.play.captions import MIN_WIDTH, Caption, with_captions
from tune_experiments.play.loading import load_policy
from tune_experiments.play.recording import record_episode
from tune_experiments.play.video import write_mp4, write_video

FRAMES = [np.full((20, 50, 3), shade, np.uint8) for shade in (10, 20, 30)]


def test_frames_have_one_shape_a_legible_width_and_the_agents_colours():
    told = [
        [Caption("one", (200, 0, 0)), Caption("two", (0, 0, 200))],
        [Caption("one", (200, 0, 0), "left"), Caption("two", (0, 0, 200), "-")],
        [Caption("one", (200, 0, 0), "left", "please " * 60), Caption("two", (0, 0, 200), "stay")],
    ]
    frames = with_captions(FRAMES, told)
    assert len({frame.shape for frame in frames}) == 1 and frames[0].shape[1] >= MIN_WIDTH
    for frame, shade in zip(frames, (10, 20, 30), strict=True):
        assert (frame[:100] == shade).all(), "the picture is whole"
        colours = set(map(tuple, frame.reshape(-1, 3).tolist()))
        assert {(200, 0, 0), (0, 0, 200)} <= colours
    bands = [frame[140:] for frame in frames]
    assert not np.array_equal(bands[0], bands[1]) and not np.array_equal(bands[1], bands[2])
    silent = with_captions(FRAMES[:2], told[:2])
    assert silent[0].shape[0] < frames[0].shape[0], "room for messages only where somebody writes"


def test_a_caption_shows_the_letters_of_other_languages():
    shown = [with_captions(FRAMES[:1], [[Caption(name)]])[0] for name in ("ä", "ж", "λ")]
    assert len({frame.tobytes() for frame in shown}) == 3, "not a box for each"


def test_a_recorded_episode_has_a_caption_for_each_frame():
    policy = load_policy("pretrained/messenger_emma_stage_1")
    plain, told = record_episode(policy, captions=False), record_episode(policy)
    assert len(plain) == len(told)
    for before, after in zip(plain, told, strict=True):
        np.testing.assert_array_equal(after[: len(before)], before)
    assert not np.array_equal(told[0][len(plain[0]) :], told[1][len(plain[0]) :])


@pytest.mark.parametrize("suffix", [".gif", pytest.param(".mp4", marks=pytest.mark.processes)])
def test_a_video_is_written_by_its_suffix_and_enlarged(tmp_path, suffix):
    path = write_video(FRAMES, tmp_path / f"video{suffix}", scale=4)
    if suffix == ".gif":
        assert path.read_bytes()[:3] == b"GIF" and path.read_bytes()[6:10] == b"\xc8\x00\x50\x00"
    else:
        described, *pictures = read_frames(str(path))
        assert described["size"] == (200, 80) and len(pictures) == len(FRAMES)


ODD_FRAMES = [np.full((30, 41, 3), (60 * number, 120, 200), np.uint8) for number in range(8)]
RATE = 8_000
TONE = (8_000 * np.sin(2 * np.pi * 440 * np.arange(2 * RATE) / RATE))[:, None].astype(np.int16) * [[1, 0]]


@pytest.mark.processes
def test_frames_size_rate_and_both_channels_come_back(tmp_path):
    path = write_mp4(ODD_FRAMES, tmp_path / "deep" / "video.mp4", 0.25, TONE.astype(np.int16), RATE)
    described, *pictures = read_frames(str(path))
    assert described["size"] == (42, 30) and described["fps"] == 4 and len(pictures) == len(ODD_FRAMES)
    for frame, data in zip(ODD_FRAMES, pictures, strict=True):
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
        write_mp4(ODD_FRAMES, tmp_path / "video.mp4", 0.25, TONE.astype(np.int16), RATE)
