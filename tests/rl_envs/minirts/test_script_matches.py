"""Win rates of scripts are those of the engine, as far as a few games can say; the correction is Holm's."""

import numpy as np
import pytest

from tests.rl_envs.minirts.script_matches import compare, holm, matrix


def test_holms_correction_by_hand():
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03]), [0.03, 0.06, 0.06])
    np.testing.assert_allclose(holm([0.5, 0.9]), [1, 1])


def test_the_matrix_has_the_cells_of_the_sheet():
    assert len(matrix()) == 17 and all(sum(pair.wins) == 12 for pair in matrix())


@pytest.mark.slow
def test_no_pair_of_scripts_wins_more_or_less_often_than_in_the_engine():
    assert min(corrected for _, corrected in compare(games=12, cell_games=6, seed=5)) >= 0.01
