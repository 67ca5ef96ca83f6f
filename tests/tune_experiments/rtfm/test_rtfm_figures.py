"""Teams that read, loaded: what they must be told, and what their reading looks like in pictures and films."""

import dataclasses

import numpy as np
import pytest

from rl_envs.rtfm.words import TEAMS
from tests.tune_experiments.play.teams import untrained as team
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.play.recording import record_episode
from tune_experiments.rtfm.attention import watch_reading
from tune_experiments.rtfm.config import make_world
from tune_experiments.rtfm.figures import draw_frames

EXPERIMENT = find_experiment("rtfm_txt2pi")
SMOKE = EXPERIMENT.presets["smoke"]
FULL = dataclasses.replace(
    SMOKE, task=dataclasses.replace(SMOKE.task, group=True, nl=True, dyna=True, max_episode_steps=6)
)


def untrained(method="txt2pi", config=SMOKE):
    return team("rtfm_txt2pi", method, **vars(config))


@pytest.mark.parametrize("method", ["txt2pi", "cnn"])
def test_a_loaded_team_reads_the_worlds_texts_or_tokens_in_place_of_row_numbers(method):
    policy = untrained(method, FULL)
    policy.is_greedy = False
    world = make_world(FULL.task, 5)
    played = []
    for gives_tokens in (False, True):
        obs = world.reset(3)
        policy.reset(1, None if gives_tokens else world.texts)
        actions = []
        for _ in range(8):  # new episodes bring new texts
            tokens = {key: world.texts[key].look_up(obs[key]) for key in world.texts}
            actions.append(policy.act(obs | tokens if gives_tokens else obs))
            obs, *_ = world.step(actions[-1])
        played.append(actions)
    np.testing.assert_array_equal(*played)


def test_row_numbers_without_texts_are_refused():
    policy, world = untrained(), make_world(SMOKE.task, 2)
    with pytest.raises(ValueError, match="document"):
        policy.act(world.reset(0))


@pytest.mark.long
@pytest.mark.parametrize(
    ("method", "rows"),
    [
        ("txt2pi", ["goal", "layer 1", "layer 2"]),
        pytest.param("no_task_attn", ["layer 1", "layer 2"], marks=pytest.mark.slow),
        pytest.param("no_vis_attn", ["goal"], marks=pytest.mark.slow),
        ("film", []),
    ],
)
def test_an_episode_is_watched_with_all_that_attends(method, rows):
    policy = untrained(method, FULL)
    moments = watch_reading(policy)
    assert [moment.action != "" for moment in moments] == [True] * (len(moments) - 1) + [False]
    assert not policy.policy.network.shows_attention
    for moment in moments[:-1]:
        assert list(moment.attention) == rows
        for weights in moment.attention.values():
            assert weights.shape == (len(moment.words),)
            assert weights.sum() == pytest.approx(1, abs=1e-4)
    assert len(moments[0].things) == 4  # two items, two monsters, and the document speaks of all of them
    assert all(set(thing.split()) & set(moments[0].words) for thing in moments[0].things)
    assert any(team in moments[0].goal for team in TEAMS)
    assert moments[-1].reward in (-1.0, 1.0)
    plain = record_episode(untrained(method, FULL), captions=False)
    assert len(moments) == len(plain)
    frames = draw_frames(moments)
    assert len({frame.shape for frame in frames}) == 1
    for frame, picture in zip(frames, plain, strict=True):
        np.testing.assert_array_equal(frame[:, : picture.shape[1]], picture)
        assert (frame.shape[1] > picture.shape[1]) == bool(rows)
