"""Pictures of FurnMove's experiments: one start for all methods, chosen by rule; looks that tell methods apart."""

import dataclasses

import numpy as np
import pytest
from PIL import Image

from rl_envs.furnmove.splits import split_rooms
from rl_envs.furnmove.starts import make_starts
from rl_models.networks.network_config import TboneConfig
from tests.tune_experiments.play.teams import untrained as team
from tune_experiments.cordial_sync.evaluation import test_starts as starts_of_test
from tune_experiments.cordial_sync.evaluation import world_from
from tune_experiments.cordial_sync.figures import (
    draw_trajectory,
    median_start,
    single_start,
)
from tune_experiments.furnmove_methods import EXPERIMENT
from tune_experiments.play.recording import record_states

CONFIG = dataclasses.replace(
    EXPERIMENT.presets["smoke"], max_episode_steps=9, network=TboneConfig(channels=(2, 2, 2, 2), hidden_size=4)
)


def untrained(method, config=CONFIG):
    return team("furnmove_methods", method, **vars(config))


def distances(starts):
    return abs(starts.tv[:, :2] - starts.stand[:, :2]).sum(1)


@pytest.mark.parametrize("per_room", [1, 4, 5])
def test_the_start_is_the_first_of_median_distance(per_room):
    starts = make_starts(split_rooms("test", "laptop"), 2, per_room)
    number, all_distances = median_start(starts), distances(starts)
    shorter, longer = (all_distances < all_distances[number]).sum(), (all_distances > all_distances[number]).sum()
    assert max(shorter, longer) <= len(starts) / 2
    assert (all_distances[:number] != all_distances[number]).all()


def test_recorded_states_run_from_the_start_to_the_end_of_one_episode():
    starts = starts_of_test(CONFIG)
    start = single_start(starts, 3)
    states, metrics = record_states(untrained("marginal"), world_from(CONFIG, start, 1), 5)
    np.testing.assert_array_equal(states[0]["tv"], starts.tv[3])
    assert [int(state["episode_length"]) for state in states] == list(range(int(metrics["length"]) + 1))
    again, _ = record_states(untrained("marginal"), world_from(CONFIG, start, 1), 5)
    np.testing.assert_array_equal(states[-1]["agent_cells"], again[-1]["agent_cells"])


def test_every_method_starts_alike_and_ends_its_own_way(tmp_path):
    pictures, config = [], dataclasses.replace(CONFIG, max_episode_steps=40)
    for method in ("marginal", "central_cordial"):
        path = draw_trajectory(untrained(method, config), tmp_path / "plots" / f"{method}.png")
        pictures.append(np.asarray(Image.open(path).convert("RGB")).astype(int)[40:])  # below the title
    quarter = (pictures[0].shape[1] + 8) // 4
    ours, theirs = ([picture[:, first : first + quarter - 8] for first in (0, 3 * quarter)] for picture in pictures)
    np.testing.assert_array_equal(ours[0], theirs[0])
    assert (ours[1] != theirs[1]).any(), "untrained teams draw different actions"
