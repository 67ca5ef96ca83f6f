"""Which episode is shown of a team, one that it solves or does not, of middle length; and how it is told in words."""

import itertools
from typing import ClassVar

import numpy as np
import pytest
from gymnasium import spaces

from rl_envs import World
from rl_envs.two_step_game.world import TwoStepGame
from tests.rl_envs.wrappers.odd_games import LIMIT, Signal
from tests.tune_experiments.play.teams import untrained
from tune_experiments.cordial_sync import camera_video
from tune_experiments.endi import episode_video
from tune_experiments.messenger import figures as messenger_figures
from tune_experiments.play import recording
from tune_experiments.play.episode import record_episodes
from tune_experiments.play.game.human_game import HumanGame
from tune_experiments.play.loading import load_policy
from tune_experiments.play.pretrained import first_actions
from tune_experiments.play.recording import CANDIDATES, SEED
from tune_experiments.rtfm import attention
from tune_experiments.verco import replay

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
    monkeypatch.setattr(recording, "play_candidates", lambda *_: (LENGTHS, np.array(solved, bool)))
    assert recording.chosen_episode(None, 0) == won
    assert recording.failed_episode(None, 0) == failed


class Won(TwoStepGame):
    """The team wins where it earns something, and calls this as MiniRTS does."""

    metric_names = ("win",)

    def _episode_metrics(self, rows):
        return {"win": self.state["episode_return"][rows, 0] > 0}


def test_a_won_episode_is_solved_whatever_its_environment_calls_winning():
    team = untrained("train", "ippo", env=f"{__name__}:Won")
    _, solved = recording.play_candidates(team, SEED)
    returns = [sum(sum(step.rewards) for step in one.steps) for one in record_episodes(team, SEED, CANDIDATES)]
    assert solved.tolist() == [earned > 0 for earned in returns] and solved.any()


def test_every_game_that_is_opened_to_show_an_episode_is_closed():
    Signal.opened = Signal.closed = 0
    team = untrained("train", "sync_4", env="tests.rl_envs.wrappers.odd_games:Signal")
    assert len(recording.record_episode(team)) == LIMIT + 1
    assert len(list(recording.describe_episode(team))) == LIMIT + 1
    first_actions(team)
    assert Signal.opened == Signal.closed > 0


@pytest.mark.parametrize(
    ("drawing", "experiment", "method"),
    [
        (lambda team: attention.watch_reading(team), "rtfm_rock_paper_scissors", "matching"),
        (lambda team: messenger_figures.watch_reading(team, 0), "messenger_emma", "emma"),
        (lambda team: replay.replay(team), "verco_salad", "verco"),
        (lambda team: camera_video.record_cameras(team, pixels=42), "furnmove_visual", "sync_13_cordial"),
        (lambda team: episode_video.video(team, episode_video.MESSENGER), "endi_messenger", "emma"),
    ],
)
def test_every_world_is_closed_when_drawing_fails(monkeypatch, drawing, experiment, method):
    def fail(*_):
        raise ArithmeticError

    team, opened, closed = untrained(experiment, method), [], []
    monkeypatch.setattr(World, "reset", lambda world, seed: opened.append(world) or fail())
    monkeypatch.setattr(World, "close", lambda world: closed.append(world))
    monkeypatch.setattr(recording, "chosen_episode", lambda *_: 0)
    with pytest.raises(ArithmeticError):
        drawing(team)
    assert opened and all(any(one is world for one in closed) for world in opened)


class Counted(Signal):
    """Each agent counts the choices of each part of its action from a number of its own."""

    games: ClassVar = []

    def __init__(self, left, right):
        super().__init__(action={"left": left, "right": right})
        self.games.append(self)

    def pay(self, name, action):
        assert self.action[name].contains(action)
        return 0.0


def counted():
    return Counted(spaces.Discrete(3, start=5), spaces.Discrete(2, start=-1))


def counted_parts():
    left = spaces.Tuple([spaces.Discrete(3, start=5), spaces.MultiDiscrete([2, 3], start=[4, 7])])
    return Counted(left, spaces.Tuple([spaces.Discrete(4, start=2), spaces.Box(0, 1, (1,))]))


def numbers(told):
    """The numbers of an action, told in words or as the environment took it."""
    if isinstance(told, str):
        return [float(part.split()[-1]) for part in told.split(", ")]
    return np.concatenate([np.ravel(part) for part in (told if isinstance(told, tuple) else (told,))]).tolist()


@pytest.mark.parametrize("game", [counted, counted_parts])
def test_a_person_sees_the_numbers_of_actions_that_the_environment_gets(game, tmp_path):
    Counted.games.clear()
    team = untrained("train", "sync_4", env=f"{__name__}:{game.__name__}")
    (episode,) = record_episodes(team)
    taken = max((one.taken for one in Counted.games), key=len)
    assert len(taken) == len(episode.steps) == LIMIT
    for actions, step in zip(taken, episode.steps, strict=True):
        for agent, name in enumerate(episode.agents):
            assert numbers(step.agents[agent].action) == pytest.approx(numbers(actions[name]), abs=0.005)
    if game is counted:
        assert episode.actions == (("5", "6", "7"), ("-1", "0", "1"))
        assert {name for name, _ in episode.steps[0].agents[1].likely} == {"-1", "0", "1"}
        played = HumanGame(team, "right", SEED, tmp_path)
        played.act(1)
        assert [one["name"] for one in played.view()["actions"] if one["legal"]] == ["-1", "0"]
        assert Counted.games[-1].taken[0]["right"] == int(played.view()["done"]["right"]) == 0


class Told:
    """A world whose second agent reads under `sign` what it is told."""

    agents, action_names, num_agents, vocabulary = ("one", "two"), ("stay",), 2, ("", "stop", "go")
    text_spec, text_tables, tables = {}, {"sign": "signs"}, {"signs": np.array([[1], [2]])}
    sign = 0

    def observe(self):
        return {"sign": np.array([[[0], [self.sign]]])}


def in_words(world, signs):
    """Lines of an episode in which a world shows one sign after another."""

    def steps():
        for sign in signs:
            world.sign = sign
            info = {"done_worlds": [0], "episode": {"return": [0.0]}}
            yield recording.PlayedStep(np.zeros((1, 2), int), np.array([[-0.0, -0.5]]), info, ["stay"] * 2, [""] * 2)

    return list(recording.describe_steps(world, steps(), 0))


def test_a_text_is_told_again_when_it_comes_back():
    lines = [line.strip() for line in in_words(Told(), [1, 0, 0, 0]) if "rewards" not in line]
    assert lines[:-1] == ["sign: stop", "one sign: stop", "two sign: go", "sign: stop"]


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
