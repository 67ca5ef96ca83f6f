"""What a finished trial leaves for figures is found again, also in runs of earlier versions."""

import numpy as np

from tune_experiments.run.final_evaluation import figure_data_files, save_figure_data


def test_data_for_figures_are_found_by_the_names_of_their_worlds_also_under_their_old_name(tmp_path):
    save_figure_data(tmp_path, "calm", {"success": np.ones(2), "_joint_policy": np.eye(2)})
    save_figure_data(tmp_path, "silent", {"success": np.ones(2)})
    np.savez(tmp_path / "windy_pictures.npz", _joint_policy=np.eye(3))
    np.savez(tmp_path / "calm_pictures.npz", _joint_policy=np.eye(4))
    files = figure_data_files(tmp_path)
    assert list(files) == ["calm", "windy"]
    shapes = {name: np.load(path)["_joint_policy"].shape for name, path in files.items()}
    assert shapes == {"calm": (2, 2), "windy": (3, 3)}
