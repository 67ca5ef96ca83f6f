"""FurnMove from camera frames: the gridworld's rows and rules, the authors' sizes, and what is refused."""

import dataclasses

import numpy as np
import pytest

from tests.tune_experiments.fragments import play, update
from tune_experiments.cordial_sync.config import FAMILIES
from tune_experiments.cordial_sync.trials import plan, training_world
from tune_experiments.furnmove_visual import EXPERIMENT

SMOKE, PAPER = (EXPERIMENT.presets[name] for name in ("smoke", "paper"))
TINY = dataclasses.replace(SMOKE, workers=dataclasses.replace(SMOKE.workers, worlds_per_runner=4, fragment_length=4))
THREE = EXPERIMENT.papers(dataclasses.replace(PAPER, num_agents=3))


def parameters(config, method):
    return sum(weights.numel() for weights in plan(config, method, 0).build_policy().parameters())


@pytest.mark.parametrize(
    ("config", "method", "count"),
    [
        (PAPER, "sync_13_cordial", 3_422_619),
        (PAPER, "sync_4_cordial", 3_362_013),
        (PAPER, "sync_2_cordial", 3_348_545),
        (PAPER, "marginal", 3_440_702),
        (PAPER, "no_communication", 3_440_702),
        (PAPER, "central_cordial", 3_360_116),
        (THREE, "sync_13_cordial", 3_474_371),
        (THREE, "marginal", 3_482_661),
        (THREE, "central_cordial", 4_669_293),
    ],
)
def test_the_papers_preset_has_the_authors_number_of_parameters(config, method, count):
    assert parameters(config, method) == count


@pytest.mark.long
@pytest.mark.parametrize(("family", "agents"), zip(FAMILIES, (2, 3, 3, 3), strict=True))
def test_every_family_learns_from_frames(family, agents):
    method = {"sync": "sync_2_cordial"}.get(family, family)
    trial = plan(dataclasses.replace(TINY, num_agents=agents), method, 0)
    policy, statistics = update(trial, 4, 4)
    assert np.isfinite(float(statistics["loss/total"]))
    assert any(
        (old != new).any() for old, new in zip(trial.build_policy().parameters(), policy.parameters(), strict=True)
    )


def test_fragments_keep_frames_as_bytes():
    _, fragment = play(plan(TINY, "marginal", 0), 4, 4)
    frames = fragment.obs["frame"]
    assert frames.dtype == np.uint8 and frames.shape == (4, 5, 2, 42, 42, 3)
    assert "view" not in fragment.obs


def test_from_frames_and_from_the_map_it_is_the_same_game():
    grid = dataclasses.replace(TINY, observation="view")
    seeing, reading = training_world(TINY, 6), training_world(grid, 6)
    random = np.random.default_rng(1)
    for world in (seeing, reading):
        world.reset(4)
    assert "frame" not in reading.observation_spec and "view" not in seeing.observation_spec
    for _ in range(60):
        actions = random.integers(13, size=(6, 2))
        ours, theirs = seeing.step(actions), reading.step(actions)
        for one, other in zip(ours[1:4], theirs[1:4], strict=True):
            np.testing.assert_array_equal(one, other)
        for name, values in reading.state.items():
            np.testing.assert_array_equal(seeing.state[name], values)
