"""Which episode is shown of a team: one that it solves, and one that it does not, each of middle length."""

import numpy as np
import pytest

from tune_experiments.play import recording

LENGTHS = np.array([9.0, 2, 7, 4, 30, 5])


@pytest.mark.parametrize(
    ("solved", "won", "failed"),
    [
        ([1, 0, 1, 0, 1, 0], 0, 3),
        ([1, 1, 1, 1, 1, 1], 2, None),
        ([0, 0, 0, 0, 0, 0], 0, 2),
    ],
)
def test_of_solved_and_of_failed_episodes_the_one_of_middle_length_is_shown(monkeypatch, solved, won, failed):
    monkeypatch.setattr(recording, "candidate_worlds", lambda policy: None)
    monkeypatch.setattr(recording, "_play", lambda *_: (LENGTHS, np.array(solved, bool)))
    assert recording.chosen_episode(None, 0) == won
    assert recording.failed_episode(None, 0) == failed


def test_no_reward_in_words_is_minus_zero():
    class World:
        agents, action_names = ("one", "two"), ("stay",)

    info = {"done_worlds": [0], "episode": {"return": [0.0]}}
    steps = [(np.zeros((1, 2), int), np.array([[-0.0, -0.5]]), None, info)]
    assert next(recording._in_words(World(), iter(steps), 0)).endswith("(rewards +0.00, -0.50)")
