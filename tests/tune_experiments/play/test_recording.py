"""Which episode is shown of a team, one that it solves or does not, of middle length; and how it is told in words."""

import itertools

import numpy as np
import pytest

from tune_experiments.play import recording
from tune_experiments.play.loading import load_policy

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
        agents, action_names, num_agents = ("one", "two"), ("stay",), 2
        text_spec, text_tables = {}, {}

        def step(self, actions):
            over, info = np.array([True]), {"done_worlds": [0], "episode": {"return": [0.0]}}
            return {}, np.array([[-0.0, -0.5]]), over, ~over, info

    told = recording._in_words(World(), lambda obs: np.zeros((1, 2), int), {}, 0)
    assert next(told).endswith("(rewards +0.00, -0.50)")


def test_an_episode_in_words_has_each_text_when_agents_first_read_it():
    told = list(recording.describe_episode(load_policy("pretrained/endi_rtfm_matching")))
    shown = [line.split(":")[0].strip() for line in itertools.takewhile(lambda line: "rewards" not in line, told)]
    assert shown == ["document", "goal", "inventory"]
    assert sum("document:" in line for line in told) == 1, "it does not change"
    (found,) = [line for line in told if line.startswith("      agent_1 inventory: nothing | ")]
    item = found.rpartition("| ")[2]
    assert any(line.startswith(f"      agent_0 inventory: {item} | ") for line in told), "the other sees what one holds"


def test_an_episode_in_words_has_the_messages_that_agents_write():
    told = list(itertools.islice(recording.describe_episode(load_policy("pretrained/verco_secret_order")), 3))
    assert told[0].startswith("      agent_0 writes: ")
    assert told[1].startswith("      agent_1 writes: ")
    assert "rewards" in told[2]
