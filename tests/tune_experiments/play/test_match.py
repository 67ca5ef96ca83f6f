"""A match of scripted policies becomes a GIF; `test_errors_of_files.py` has wrong commands."""

import numpy as np
from PIL import Image

from rl_envs.two_step_game.world import TwoStepGame
from tune_experiments.__main__ import main

WORLD = f"{__name__}:Matches"


class Matches(TwoStepGame):
    """A world that offers matches of three frames."""

    @staticmethod
    def match_frames(policies, seed):
        if "cheater" in policies:
            raise ValueError("no policy is called 'cheater': choose one or two")
        for shade in range(3):
            yield np.full((8, 8, 3), 40 * shade + seed % 9, np.uint8)


def test_a_match_is_written_as_a_gif(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["render", WORLD, "--policies", "one", "two", "--seed", "7"]) == 0
    [written] = tmp_path.glob("*_one_two_7.gif")
    assert Image.open(written).n_frames == 3
    assert written.name in capsys.readouterr().out
    assert main(["render", WORLD, "--policies", "one", "two", "--out", "other.gif", "--scale", "3"]) == 0
    assert Image.open("other.gif").size == (24, 24)
