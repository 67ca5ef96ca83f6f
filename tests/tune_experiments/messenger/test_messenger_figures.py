"""Videos of EMMA: the manual with what each sprite looks at, for teams that read one."""

import contextlib
import re

import numpy as np
import pytest
import torch
from PIL import Image

from rl_envs.messenger.symbols import ENTITIES
from tests.tune_experiments.play.teams import untrained as team
from tune_experiments.messenger.figures import (
    draw_attention,
    mean_attention,
    watch_reading,
)
from tune_experiments.play.recording import SEED, chosen_episode, record_episode


def untrained(row):
    return team("messenger_emma", row)


@pytest.mark.long
@pytest.mark.parametrize("row", ["emma", "game_id"])
def test_an_episode_is_watched_with_what_each_sprite_attends_to(row):
    policy = untrained(row)
    moments = watch_reading(policy, SEED, chosen_episode(policy, SEED))
    assert not policy.policy.network.shows_attention
    for scene, caption in moments[:-1]:
        assert "chooses" in caption
        attention = np.array(scene.attention)
        if row == "emma":
            assert attention.shape == (len(scene.sprites), len(scene.manual))
            np.testing.assert_allclose(attention.sum(1), 1, atol=1e-5)
        else:
            assert not attention.size
    assert re.search(r"the end: (won|lost to [a-z ]+), reward [+-]", moments[-1][1])
    assert len(moments) == len(record_episode(untrained(row)))


def test_attention_is_averaged_over_who_looks_and_whom_a_sentence_tells_of():
    """Before training attention is nearly even over three sentences or six, and training games share few entities."""
    policy = untrained("emma")
    seen, new = (mean_attention(policy, split) for split in ("train", "test"))
    for attention in (seen, new):
        assert attention.shape == (12, 12)
        np.testing.assert_allclose(attention[~np.isnan(attention)], 1 / 6, atol=0.1)
        assert not np.isnan(np.diag(attention)).any()
    dog, fish = ENTITIES.index("dog"), ENTITIES.index("fish")
    robot = ENTITIES.index("robot")
    assert not np.isnan(seen[dog, fish])
    assert np.isnan(seen[dog, robot])


def test_attention_is_a_picture(tmp_path):
    with Image.open(draw_attention(untrained("emma"), tmp_path / "plots/attention.png")) as picture:
        assert min(picture.size) > 300


@pytest.mark.long
def test_attention_that_is_first_shown_amid_an_episode_is_that_of_all_sentences():
    policy = untrained("emma")
    with contextlib.closing(policy.make_world(4)) as world:
        obs = world.reset(SEED)
        policy.reset(SEED, world.texts)
        policy.act({name: np.repeat(value[:1], 4, 0) for name, value in obs.items()})
        with policy.showing_attention():
            policy.act(obs)
    words = policy.last_output.extras["attention/key_words"]
    torch.testing.assert_close(words.sum(-1), torch.ones(words.shape[:-1]))
