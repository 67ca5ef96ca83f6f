"""FurnMove from camera frames: the gridworld's rows and rules, and what is refused."""

import dataclasses

import numpy as np
import pytest

from tests.tune_experiments.fragments import play, update
from tune_experiments.cordial_sync.config import FAMILIES
from tune_experiments.cordial_sync.trials import plan
from tune_experiments.furnmove_visual import EXPERIMENT

SMOKE = EXPERIMENT.presets["smoke"]
TINY = dataclasses.replace(SMOKE, workers=dataclasses.replace(SMOKE.workers, worlds_per_runner=4, fragment_length=4))


@pytest.mark.long
@pytest.mark.parametrize(("family", "agents"), zip(FAMILIES, (2, 3, 3, 3), strict=True))
def test_every_family_learns_from_frames(family, agents):
    method = {"sync": "sync_2_cordial"}.get(family, family)
    trial = plan(dataclasses.replace(TINY, num_agents=agents), method, 0)
    policy, _ = update(trial, 4, 4)
    assert any(
        (old != new).any() for old, new in zip(trial.build_policy().parameters(), policy.parameters(), strict=True)
    )


def test_fragments_keep_frames_as_bytes():
    _, fragment = play(plan(TINY, "marginal", 0), 4, 4)
    frames = fragment.obs["frame"]
    assert frames.dtype == np.uint8 and frames.shape == (4, 5, 2, 42, 42, 3)
    assert "view" not in fragment.obs
