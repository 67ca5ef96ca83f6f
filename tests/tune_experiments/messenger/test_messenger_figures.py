"""Videos of EMMA: the manual with what each sprite looks at, for teams that read one."""

import contextlib
import re

import numpy as np
import pytest
import torch

from tests.tune_experiments.play.teams import untrained as team
from tune_experiments.messenger.figures import watch_reading
from tune_experiments.play.recording import SEED, record_episode


def untrained(row):
    return team("messenger_emma", row)


@pytest.mark.long
@pytest.mark.parametrize("row", ["emma", "game_id"])
def test_an_episode_is_watched_with_what_each_sprite_attends_to(row):
    policy = untrained(row)
    moments = watch_reading(policy, SEED)
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
