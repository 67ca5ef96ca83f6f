"""Random play is won as often and lasts as long as in the authors' engine, and monsters walk as theirs do."""

import numpy as np
import pytest
from scipy.stats import chi2

from rl_envs.rtfm.grid import WALKS, make_grid
from tests.golden.cases import measured, of_setting
from tests.golden.random_play import SETTINGS, first_episodes

STANDARD_ERRORS = 3


@pytest.mark.long
@pytest.mark.parametrize(("path", "setting", "mode"), measured("rtfm", r"(\w+_\d+)_(legal|any)_n"))
def test_random_play_wins_as_often_and_lasts_as_long(path, setting, mode):
    recorded = of_setting(path, f"{setting}_{mode}")
    wins, lengths = first_episodes(SETTINGS[setting](int(recorded["n"])), mode, seed=2)
    for ours, name, error in ((wins, "win_rate", "win_se"), (lengths, "mean_len", "len_se")):
        allowed = STANDARD_ERRORS * np.hypot(recorded[error], ours.std() / len(ours) ** 0.5)
        assert abs(ours.mean() - recorded[name]) <= allowed


@pytest.mark.parametrize(("path", "setting", "mode"), measured("rtfm", r"(\w+_\d+)_(legal|any)_toward"))
def test_monsters_approach_and_stay_as_often_as_recorded(path, setting, mode):
    situations = of_setting(path, f"{setting}_{mode}")["toward"]
    ours = chances(make_grid(int(setting.rsplit("_")[-1])))
    for column in (4, 5):
        statistic, freedom = 0.0, 0
        for row in situations.tolist():
            probability, n, seen = ours[tuple(row[:3])][column - 4], row[3], row[column]
            variance = n * probability * (1 - probability)
            if variance >= 5:
                statistic, freedom = statistic + (seen - n * probability) ** 2 / variance, freedom + 1
        assert chi2.sf(statistic, freedom) > 1e-4 if freedom else len(situations) == 0


def chances(grid):
    """(squared distance, legal moves, closer moves) -> our probabilities to come closer and to stay."""
    draws, table = np.arange(WALKS), {}
    for monster in grid.inside:
        for prey in grid.inside:
            distance = grid.distance[monster, prey]
            reached = grid.distance[grid.target[monster, grid.is_legal[monster]], prey]
            targets = grid.walk(np.full(WALKS, monster), np.full(WALKS, prey), draws)
            closer, stays = (grid.distance[targets, prey] < distance).mean(), (targets == monster).mean()
            found = table.setdefault((distance, len(reached), (reached < distance).sum()), (closer, stays))
            assert distance == 0 or found == (closer, stays)
    return table
