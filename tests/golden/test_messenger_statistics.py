"""Random play ends as often in each way and lasts as long as in the authors' engines; entities move as theirs do."""

import numpy as np
import pytest
from scipy.stats import chi2

from rl_envs.messenger.movements import DRAWS, Walk
from rl_envs.messenger.stages import SINGLE_PACE, TEAM_PACE
from rl_envs.messenger.symbols import UNKNOWN
from tests.golden.cases import measured, of_setting
from tests.golden.messenger_play import first_episodes, setting

STANDARD_ERRORS = 3
LARGEST = 20_000


@pytest.mark.parametrize(("path", "name"), measured("messenger", r"(\w+_stage\d(?:_limit\d+)?)_n"))
def test_random_play_ends_as_often_in_each_way_and_lasts_as_long(path, name):
    recorded = of_setting(path, name)
    make, limit = setting(name)
    count = int(recorded["n"])
    last, lengths, out_of_time = first_episodes(make(min(count, LARGEST)), limit, seed=2)
    ends = {"win": last == 1, "loss": last < 0, "timeout": out_of_time} | (
        {"half": last == 0.5} if "half" in recorded else {}
    )
    for kind, ours in ends.items():
        theirs = recorded[kind] / count
        allowed = STANDARD_ERRORS * np.sqrt(theirs * (1 - theirs) / count + ours.var() / len(ours))
        assert abs(ours.mean() - theirs) <= allowed, kind
    allowed = STANDARD_ERRORS * np.hypot(recorded["len_se"], lengths.std() / len(lengths) ** 0.5)
    assert abs(lengths.mean() - recorded["mean_len"]) <= allowed


@pytest.mark.parametrize(("path", "name"), measured("messenger", r"(single_stage\d)_moves"))
def test_chasers_and_fleers_choose_as_often_as_recorded(path, name):
    table = Walk(SINGLE_PACE).table
    statistic, freedom = 0.0, 0
    situations = of_setting(path, name)["moves"]
    for movement, dx, dy, edges, *seen in situations.tolist():
        probability = np.bincount(table[movement, dy + 1, dx + 1], minlength=5) / DRAWS
        blocked = (edges >> np.arange(4)) & 1
        probability = np.append(probability[:4] * (1 - blocked), (probability[:4] * blocked).sum())
        expected = sum(seen) * probability
        assert not np.array(seen)[probability == 0].any()
        if (expected[probability > 0] >= 5).all():
            statistic += ((seen - expected)[probability > 0] ** 2 / expected[probability > 0]).sum()
            freedom += (probability > 0).sum() - 1
    assert chi2.sf(statistic, freedom) > 1e-4 if freedom else len(situations) == 0


@pytest.mark.parametrize(("path", "name"), measured("messenger", r"(two_agent_stage\d_limit\d+)_npc_moves"))
def test_wandering_entities_take_each_open_direction_as_often_as_recorded(path, name):
    recorded = of_setting(path, name)
    ours = np.bincount(Walk(TEAM_PACE).table[UNKNOWN, 0, 0], minlength=5)[:4] / DRAWS
    moved, free = recorded["npc_moves"][:, :4], recorded["npc_free"][:, :4]
    deviation = (moved - free * ours) / np.sqrt(np.maximum(free * ours * (1 - ours), 1))
    assert (abs(deviation) < 4).all()
    assert free.any() == (not name.startswith("two_agent_stage1"))
