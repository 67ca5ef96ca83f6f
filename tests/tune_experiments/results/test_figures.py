"""Rules of plots and videos: they come out as files that show what they were given, also from little or no data."""

import itertools

import numpy as np
import pytest
from PIL import Image

from tune_experiments.play.video import write_gif
from tune_experiments.results.plots import joint_policy, learning_curves, save
from tune_experiments.results.trial_log import TrialLog

ACTIONS = ("MoveAhead", "RotateLeft", "RotateRight", "Pass", "Pickup")
SUCCESS = {"episode/success": "success"}


@pytest.fixture(scope="module", autouse=True)
def figures_as_png():
    """Here in all formats."""


def log(folder, values):
    with TrialLog(folder) as trial:
        for i, value in enumerate(values, start=1):
            trial.append({"env_steps": 100 * i, "episode/success": value, "policy/tvd": 0.0})
    return folder / "metrics.jsonl"


def log_with_validation(folder, valid, level=0.5):
    """20 rows; every fifth is followed by a validation. An episode takes 50 env steps."""
    with TrialLog(folder) as trial:
        for i in range(1, 21):
            row = {"env_steps": 100 * i, "progress/episodes": 2 * i, "episode/success": level, "episode/length": 9.0}
            trial.append(row | ({"valid/success": valid[i // 5 - 1]} if i % 5 == 0 else {}))
    return folder / "metrics.jsonl"


def lines(panel, style):
    return [line for line in panel.lines if line.get_linestyle() == style]


@pytest.mark.long
def test_a_figure_is_saved_as_png_pdf_and_svg_and_equal_figures_are_equal_files(tmp_path):
    metrics = log(tmp_path / "log", [0.1, 0.3])
    for name in ("a", "b"):
        save(learning_curves({"one": [metrics]}, SUCCESS), tmp_path / f"{name}.png")
    for suffix, start in ((".png", b"\x89PNG"), (".pdf", b"%PDF"), (".svg", b"<?xml")):
        first = (tmp_path / f"a{suffix}").read_bytes()
        assert first.startswith(start) and first == (tmp_path / f"b{suffix}").read_bytes()
    assert b"/Type3" not in (tmp_path / "a.pdf").read_bytes()


def test_a_link_in_place_of_a_figure_or_a_video_is_replaced_and_what_it_names_is_left_alone(tmp_path):
    other = tmp_path / "other"
    other.write_text("not ours")
    for name in ("curves.png", "episode.gif"):
        (tmp_path / name).symlink_to(other)
    save(learning_curves({"one": [log(tmp_path / "b", [0.5])]}, SUCCESS), tmp_path / "curves.png")
    write_gif([np.zeros((4, 4, 3), np.uint8)] * 2, tmp_path / "episode.gif")
    assert other.read_text() == "not ours"
    assert {Image.open(tmp_path / name).format for name in ("curves.png", "episode.gif")} == {"PNG", "GIF"}


def test_learning_curves_of_runs_without_a_row_are_empty_panels(tmp_path):
    runs = {"sync": [log(tmp_path / "a", [])], "one": [log(tmp_path / "b", [0.5])]}
    save(learning_curves(runs, SUCCESS), tmp_path / "curves.png")
    assert Image.open(tmp_path / "curves.png").format == "PNG"


def test_dashed_lines_are_the_mean_of_the_validations_and_solid_lines_the_training(tmp_path):
    first, second = [0.0, 0.2, 0.4, 0.6], [0.2, 0.4, 0.6, 1.0]
    seeds = [log_with_validation(tmp_path / str(seed), valid) for seed, valid in enumerate((first, second))]
    panel = learning_curves({"sync": seeds}, SUCCESS).axes[0]
    (dashed,), (solid,) = lines(panel, "--"), lines(panel, "-")
    np.testing.assert_allclose(dashed.get_xdata(), [500, 1000, 1500, 2000])
    np.testing.assert_allclose(dashed.get_ydata(), np.mean([first, second], axis=0))
    np.testing.assert_allclose(solid.get_ydata(), 0.5)
    assert dashed.get_color() == solid.get_color()
    band = panel.collections[1].get_paths()[0].vertices[:, 1]
    assert (band.min(), band.max()) == (0.0, 1.0), "from the lowest to the highest seed"


def test_lines_can_be_the_median_of_the_seeds_with_their_middle_half(tmp_path):
    of_seeds = [[0.0] * 4, [0.2] * 4, [0.3] * 4, [0.4] * 4, [1.0] * 4]
    seeds = [log_with_validation(tmp_path / str(seed), valid) for seed, valid in enumerate(of_seeds)]
    panel = learning_curves({"sync": seeds}, SUCCESS, shows_quartiles=True).axes[0]
    np.testing.assert_allclose(lines(panel, "--")[0].get_ydata(), 0.3)
    band = panel.collections[1].get_paths()[0].vertices[:, 1]
    np.testing.assert_allclose((band.min(), band.max()), (0.2, 0.4))


def test_a_mean_does_not_end_with_a_seed_that_stopped_early(tmp_path):
    logs = [log(tmp_path / str(seed), [0.5] * rows) for seed, rows in enumerate((20, 20, 3))]
    (panel, *_) = learning_curves({"one": logs}, SUCCESS).axes
    (line,) = lines(panel, "-")
    assert line.get_xdata()[-1] == 2000


def test_seeds_without_env_steps_in_common_have_a_line_each(tmp_path):
    nan = float("nan")
    seeds = [log(tmp_path / "early", [0.6, 0.8]), log(tmp_path / "late", [nan, nan, 0.2, 0.4])]
    panel = learning_curves({"sync": seeds}, SUCCESS).axes[0]
    assert [line.get_ydata().max() for line in lines(panel, "-")] == [0.8, 0.4]


def test_a_solid_line_averages_the_share_of_training_that_the_picture_says(tmp_path):
    metrics = log(tmp_path, np.arange(12) / 12)
    figure = learning_curves({"sync": [metrics]}, SUCCESS, bins=4)
    (solid,) = lines(figure.axes[0], "-")
    # A row lies at the end of its stretch: 100, 200 | 300, 400, 500 | 600, 700, 800 | 900 to 1200.
    np.testing.assert_allclose(solid.get_xdata(), [150, 400, 700, 1050])
    np.testing.assert_allclose(solid.get_ydata(), np.array([0.5, 3, 6, 9.5]) / 12)
    assert "1/4" in figure.get_supxlabel()


def test_a_row_of_many_episodes_counts_more_than_a_row_of_one(tmp_path):
    with TrialLog(tmp_path) as trial:
        trial.append({"env_steps": 100, "progress/episodes": 1, "episode/success": 1.0, "policy/tvd": 1.0})
        trial.append({"env_steps": 200, "progress/episodes": 16, "episode/success": 0.2, "policy/tvd": 0.0})
    runs = {"sync": [tmp_path / "metrics.jsonl"]}
    figure = learning_curves(runs, {"episode/success": "success", "policy/tvd": "tvd"}, bins=1)
    success, tvd = (panel.lines[0].get_ydata()[0] for panel in figure.axes)
    assert success == pytest.approx((1 * 1.0 + 15 * 0.2) / 16) and tvd == pytest.approx(0.5)


def test_a_validation_that_is_the_dashed_line_of_another_panel_has_no_panel_of_its_own(tmp_path):
    runs = {"sync": [log_with_validation(tmp_path, [0.1, 0.2, 0.3, 0.4])]}
    (panel,) = learning_curves(runs, {"valid/success": "validation"} | SUCCESS).axes
    assert panel.get_title(loc="left") == "success" and len(lines(panel, "--")) == len(lines(panel, "-")) == 1


def test_the_legend_names_every_method_once_and_says_what_dashes_are(tmp_path):
    runs = {f"method_{i}": [log_with_validation(tmp_path / str(i), [0, 0, 0, 1])] for i in range(14)}
    figure = learning_curves(runs, {"episode/success": "success", "episode/length": "length"})
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert texts == [*runs, "training episodes", "validation"]
    looks = {(line.get_color(), line.get_linewidth()) for line in lines(figure.axes[0], "-")}
    assert len(looks) == 14, "no two methods look alike"


@pytest.mark.parametrize("count", [1, 4, 14])
def test_every_method_has_a_joint_policy_panel_of_its_own_and_panels_do_not_overlap(count):
    policies = {f"method {i}": np.eye(5)[np.roll(np.arange(5), i)] * (i + 1) for i in range(count)}
    figure = joint_policy(policies, ACTIONS, {"NAV": range(4), "PICK": [4]})
    *panels, _ = figure.axes
    assert [panel.get_title() for panel in panels] == list(policies)
    for panel, policy in zip(panels, policies.values(), strict=True):
        np.testing.assert_array_equal(panel.collections[0].get_array().reshape(5, 5), policy)
    figure.canvas.draw()
    boxes = [axes.get_position() for axes in figure.axes]
    assert all(0 <= box.x0 < box.x1 <= 1 and 0 <= box.y0 < box.y1 <= 1 for box in boxes)
    assert not any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2))


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
        with pytest.raises(ValueError, match="frames"):
            write_gif(frames, tmp_path / "x.gif")
