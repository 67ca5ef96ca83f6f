"""What a finished trial leaves: results that can be read, and data for figures, also of earlier versions."""

import math

import numpy as np
import pytest

from tune_experiments.core.errors import UserError
from tune_experiments.results.rows import Result
from tune_experiments.run.final_evaluation import (
    figure_data_files,
    read_test_results,
    save_figure_data,
    write_test_results,
)


def test_data_for_figures_are_found_by_the_names_of_their_worlds_also_under_their_old_name(tmp_path):
    save_figure_data(tmp_path, "calm", {"success": np.ones(2), "_joint_policy": np.eye(2)})
    save_figure_data(tmp_path, "silent", {"success": np.ones(2)})
    np.savez(tmp_path / "windy_pictures.npz", _joint_policy=np.eye(3))
    np.savez(tmp_path / "calm_pictures.npz", _joint_policy=np.eye(4))
    files = figure_data_files(tmp_path)
    assert list(files) == ["calm", "windy"]
    shapes = {name: np.load(path)["_joint_policy"].shape for name, path in files.items()}
    assert shapes == {"calm": (2, 2), "windy": (3, 3)}


def test_a_result_that_is_no_number_is_refused_where_it_was_measured_and_leaves_no_file(tmp_path):
    rows = [Result("x", "A", "sync", "calm", "test", 3, "steps_to_success", value) for value in (1.0, math.nan)]
    with pytest.raises(UserError, match="the test of sync, seed 3, gives \\[nan\\] for 'steps_to_success' in 'calm'"):
        write_test_results(tmp_path, rows)
    assert read_test_results(tmp_path) is None
    write_test_results(tmp_path, rows[:1])
    assert read_test_results(tmp_path) == rows[:1]
