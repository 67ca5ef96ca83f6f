"""What a search that is given up learns; all other paths are compared with the engine's by the golden replays."""

import numpy as np

from rl_envs.minirts.symbols import MOVE, SIDE, SPEARMAN
from tests.rl_envs.minirts.meadow import Meadow

MAX_POPS = 1000


def test_a_search_that_is_given_up_teaches_the_whole_estimate_of_its_last_cell():
    """The goal (16, 12) has water on all four sides."""
    meadow = Meadow([(0, SPEARMAN, 4, 4)], water=[(17, 12), (15, 12), (16, 13), (16, 11)])
    meadow.order(meadow.number(SPEARMAN), MOVE, x=16, y=12)
    meadow.play(1)
    scratch, learned = meadow.player.scratch[0], meadow.games.learned[0]
    assert scratch["plans"][: scratch["num_plans"], 7].tolist() == [MAX_POPS]
    goal, last = 12 * SIDE + 16, int(scratch["popped"][MAX_POPS - 1])
    straight = np.hypot(np.float32(last % SIDE - 16), np.float32(last // SIDE - 12))
    [known] = learned["value"][learned["key"] == (goal << 10 | 4 * SIDE + 4) + 1]
    assert known == scratch["cost"][last] + straight > scratch["cost"][last] + 1
