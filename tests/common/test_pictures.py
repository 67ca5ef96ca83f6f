"""Rules of plots and videos: they come out as files that show what they were given, also from little or no data."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from PIL import Image

from tune_experiments.common.plots import joint_policy, learning_curves
from tune_experiments.common.trial_log import TrialLog
from tune_experiments.common.video import write_gif


def log(folder, values):
    with TrialLog(folder) as trial:
        for i, value in enumerate(values, start=1):
            trial.append({"env_steps": 100 * i, "episode/success": value, "policy/tvd": 0.0})
    return folder / "metrics.jsonl"


def test_learning_curves_of_several_methods_and_seeds_are_a_png(tmp_path):
    runs = {
        "sync": [log(tmp_path / f"sync{seed}", np.linspace(0, 0.8, 20 + seed)) for seed in range(2)],
        "marginal": [log(tmp_path / "marginal", [0.1, None, 0.3])],
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path = learning_curves(runs, tmp_path / "plots" / "curves.png")
    image = Image.open(path)
    assert image.format == "PNG"
    colours = {colour for _, colour in image.convert("RGB").getcolors(2**20)}
    assert {(0, 0x72, 0xB2), (0xD5, 0x5E, 0)} <= colours, "both methods are drawn"


def test_learning_curves_of_runs_without_a_row_are_empty_panels(tmp_path):
    learning_curves({"sync": [log(tmp_path / "a", [])], "one": [log(tmp_path / "b", [0.5])]}, tmp_path / "curves.png")
    assert Image.open(tmp_path / "curves.png").format == "PNG"


def test_the_joint_policy_picture_fits_any_number_of_methods_and_actions(tmp_path):
    policies = {name: np.eye(5) / 5 for name in ("sync", "marginal", "central")}
    names = ["MoveAhead", "RotateLeft", "RotateRight", "Pass", "Pickup"]
    joint_policy(policies, names, {"NAV": range(4), "PICK": [4]}, tmp_path / "joint.png")
    three = Image.open(tmp_path / "joint.png")
    joint_policy({"empty": np.zeros((5, 5))}, names, {}, tmp_path / "one.png")
    assert three.width > Image.open(tmp_path / "one.png").width


def test_matplotlib_is_not_imported_with_the_module():
    code = "import sys, tune_experiments.common.plots; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_gif_is_animated_rests_on_its_last_frame_and_keeps_the_colours(tmp_path):
    frames = np.full((5, 40, 60, 3), 255, np.uint8)
    for i, frame in enumerate(frames):
        frame[10 * min(i, 3) : 10 * min(i, 3) + 10] = (0, 114, 178)
    frames[4, :5, :5] = (213, 94, 0)
    path = write_gif(frames, tmp_path / "videos" / "episode.gif", frame_seconds=0.1, last_frame_seconds=2.0)
    with Image.open(path) as gif:
        assert (gif.n_frames, gif.size) == (5, (60, 40))
        assert gif.info["loop"] == 0
        durations = []
        for i in range(5):
            gif.seek(i)
            durations.append(gif.info["duration"])
            np.testing.assert_allclose(np.asarray(gif.convert("RGB")), frames[i], atol=2)
    assert durations == [100, 100, 100, 100, 2000]


def test_a_gif_of_nothing_or_of_mixed_sizes_is_refused(tmp_path):
    for frames in ([], [np.zeros((2, 2, 3), np.uint8), np.zeros((3, 2, 3), np.uint8)]):
        with pytest.raises(ValueError, match="frames of one shape"):
            write_gif(frames, tmp_path / "x.gif")


def test_one_frame_is_a_gif_too(tmp_path):
    assert Image.open(write_gif([np.zeros((8, 8, 3), np.uint8)], tmp_path / "x.gif")).format == "GIF"
