"""Replay of recordings of the authors' engine of MiniRTS: every tick, order, path, decision and observation.

`GOLDEN_DIR=<folder> pytest tests/golden -k minirts` replays every file of the schema in `<folder>/minirts`. Without it,
games of our own are played again and compared by hashes, so a change of the rules always fails.
"""

import json

import numpy as np
import pytest

from tests.golden.cases import own_or_golden
from tests.golden.record_minirts import GAMES as GAMES_OF_OUR_OWN
from tests.golden.record_minirts import HASHES, played

GAMES = own_or_golden("*.npz", "minirts", but="mapgen*")
MAPS = own_or_golden("mapgen*.npz", "minirts")


@pytest.mark.parametrize("path", GAMES)
def test_every_recorded_tick_is_reproduced_exactly(path):
    from tests.golden.minirts_replay import Recording

    recording = Recording(path)
    for deep in range(len(recording.data["deep_tick"])):
        recording.restore(deep)
        recording.replay()
    assert (recording.game["winner"], recording.game["result"]) == (
        recording.data["winner"],
        recording.data["result"],
    )


@pytest.mark.parametrize("path", GAMES)
def test_every_recorded_decision_of_scripts_and_learners_is_ours(path):
    from tests.golden.minirts_replay import Decisions

    Decisions(path).replay()


@pytest.mark.parametrize("path", MAPS)
def test_every_recorded_map_is_generated_from_its_seed(path):
    from rl_envs.minirts.mapgen import MAX_PLACED, generate

    data = np.load(path, allow_pickle=False)
    for number, seed in enumerate(data["seed"]):
        terrain, placed = np.zeros(1024, np.uint8), np.zeros((MAX_PLACED, 4), np.int32)
        fair, extras = int(data["fair"][number]), int(data["num_extra_units"][number])
        count = generate(int(seed), fair, 4, 3, extras, terrain, placed)
        start, stop = data["unit_off"][number : number + 2]
        rows = start + np.argsort(data["unit_id"][start:stop] & 0xFFFFFF)
        recorded = np.stack([data[f"unit_{name}"][rows] for name in ("player", "type", "x", "y")], 1)
        np.testing.assert_array_equal(terrain, data["terrain"][number].reshape(-1), err_msg=f"map {number}")
        np.testing.assert_array_equal(placed[:count], recorded, err_msg=f"map {number}")
        assert count == data["next_id"][number]


@pytest.mark.parametrize("name", sorted(GAMES_OF_OUR_OWN))
def test_our_own_games_are_as_recorded(name):
    assert played(name) == json.loads(HASHES.read_text())[name]
