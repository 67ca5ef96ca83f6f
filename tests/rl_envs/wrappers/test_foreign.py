"""Environments of others as worlds: padding, masks, agents that leave, seeds, resume, processes, bad input."""

import functools
import logging
import os
import threading
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import parallel_api_test, parallel_seed_test

from rl_envs.core.errors import CustomEnvError
from rl_envs.testing import check_world
from rl_envs.wrappers import from_gymnasium, from_pettingzoo
from rl_envs.wrappers.custom.build import named_env
from rl_envs.wrappers.custom.layout import Layout
from rl_envs.wrappers.custom.word_ids import WordIds
from rl_envs.wrappers.gymnasium import TeamEnv
from rl_envs.wrappers.pettingzoo import TeamParallelEnv
from tests.rl_envs.wrappers.foreign_envs import IMAGE, Careless, Counter, Sudden, Unlike
from tests.rl_envs.wrappers.odd_games import Signal, at, put
from tests.rl_envs.wrappers.turn_based_games import TICTACTOE, Relay

SPREAD = named_env("mpe2.simple_spread_v3", {"max_cycles": 6})


def children():
    """Ids of the running child processes of this process."""
    return set(Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text().split())


def team(first=0, second=0, worlds=1):
    return np.tile([first, second], (worlds, 1))


@pytest.mark.parametrize("make_env", [Unlike, SPREAD, named_env("mpe2.simple_speaker_listener_v4", {"max_cycles": 6})])
def test_a_foreign_environment_keeps_every_worlds_contract(make_env):
    check_world(functools.partial(from_pettingzoo, make_env))


def test_a_gymnasium_environment_is_a_team_of_one():
    check_world(functools.partial(from_gymnasium, Counter, max_episode_steps=20))
    world = from_gymnasium(Counter)
    assert world.agents == ("agent_0",)
    assert set(world.observation_spec) == {"observation", "agent"}


def test_unlike_agents_are_padded_to_the_widest():
    world = from_pettingzoo(Unlike, 2)
    seen = world.reset(0)
    assert world.action_spec == 4
    assert seen["vector"].shape == (2, 2, 5)
    assert seen["vector"].dtype == np.float32
    assert (seen["vector"][:, 0, 3:] == 0).all()
    assert seen["vector"][:, 1].tolist() == [[0, 1, 2, 3, 4]] * 2
    assert (world.observation_spec["vector"].low, world.observation_spec["vector"].high) == (-2, 9)
    assert seen["image"].shape == (2, 2, 6, 5, 3)
    assert seen["image"].dtype == np.uint8
    assert not seen["image"][:, 1].any()
    assert seen["kind"][:, 0].tolist() == [[1, 0, 0, 0]] * 2
    assert seen["inner/flags"][:, 0].tolist() == [[1, 0]] * 2
    assert seen["agent"].tolist() == [[[1, 0], [0, 1]]] * 2


def test_the_mask_hides_illegal_and_padded_actions():
    world = from_pettingzoo(Unlike)
    assert world.reset(0)["legal"][0].tolist() == [[True, True, False, False], [True, True, False, False]]
    assert world.step(team())[0]["legal"][0, 0].tolist() == [True, True, True, False]


def test_a_padded_action_is_played_as_the_agents_first_and_a_first_action_has_its_own_number():
    env = Unlike()
    world = from_pettingzoo(lambda: env)
    world.reset(0)
    world.step(team(3, 1))
    world.step(team(0, 3))
    assert env.taken == [{"first": 3, "second": 6}, {"first": 0, "second": 5}]


def test_an_agent_that_left_is_not_alive_gets_no_reward_and_does_not_act():
    env = Unlike()
    world = from_pettingzoo(lambda: env)
    world.reset(0)
    for _ in range(3):
        seen, reward, terminated, truncated, _ = world.step(team(1, 1))
    assert seen["alive"].tolist() == [[True, False]]
    assert not (terminated | truncated).any()
    _, reward, *_ = world.step(team(1, 1))
    assert reward.tolist() == [[1.0, 0.0]]
    assert env.taken[-1] == {"first": 1}


def test_zeros_of_an_agent_that_left_lie_in_the_declared_bounds_and_those_of_one_in_the_game_do_not():
    def change(env, answer, given=3.0):
        answer[0] = dict.fromkeys(answer[0], np.array([given]))
        if env.steps == 2:
            env.agents, answer[2] = ["right"], {"left": True, "right": False}
        return answer

    space = spaces.Box(1, 5, (1,))
    env = TeamEnv(from_pettingzoo(functools.partial(Signal, change, observation=space)))
    env.reset(seed=0)
    seen = [env.step([0, 0])[0] for _ in range(4)]
    assert seen[3]["observation"].tolist() == [[0], [3]]
    assert all(env.observation_space.contains(one) for one in seen)
    with pytest.raises(CustomEnvError, match="'left'"):
        from_pettingzoo(functools.partial(Signal, functools.partial(change, given=0.0), observation=space)).reset(0)


def test_who_says_that_nobody_leaves_is_told_who_did():
    with pytest.raises(ValueError, match="agents_leave must be True or False"):
        from_pettingzoo(Unlike, agents_leave="False")
    world = from_pettingzoo(Unlike, agents_leave=False)
    assert "alive" not in world.reset(0)
    with pytest.raises(ValueError, match=r"second.*env step 3.*--agents-leave"):
        for _ in range(3):
            world.step(team())


@pytest.mark.parametrize("is_attribute", [True, False])
def test_texts_are_the_numbers_of_their_words(is_attribute, monkeypatch):
    if is_attribute:
        monkeypatch.setattr(Unlike, "vocabulary", ["step"], raising=False)
    world = from_pettingzoo(Unlike, vocabulary=[] if is_attribute else ["step"])
    seen = world.reset(0)
    tokens = world.texts["note"].look_up(seen["note"])[0, 1]
    assert tokens[0] == 1
    assert (tokens[1:6] > 1).all() and not tokens[6:].any()
    assert world.words.decode(tokens) == "step 0 of six by now"


WORDS = ["left", "Right"]


@pytest.mark.parametrize("given", [WORDS, set(WORDS), np.array(WORDS), dict.fromkeys(WORDS)], ids=type)
def test_a_vocabulary_may_be_any_iterable_of_words(given, caplog):
    world = from_pettingzoo(lambda: Signal(observation=spaces.Text(9), vocabulary=given))
    assert world.declaration.vocabulary == ("left", "right")
    assert world.words.vocabulary == WordIds(WORDS).vocabulary
    assert caplog.text == ""


@pytest.mark.parametrize("given", ["left", ["left", 7], 40, np.array(7), iter(WORDS)], ids=type)
def test_a_vocabulary_of_something_else_is_named_once_where_texts_are_observed(given, caplog):
    def build(space):
        return lambda: Signal(observation=space, vocabulary=given)

    assert from_pettingzoo(build(spaces.Discrete(2))).declaration.vocabulary == ()
    assert caplog.text == ""
    assert [from_pettingzoo(build(spaces.Text(9)), 2).declaration.vocabulary for _ in "ab"] == [(), ()]
    assert caplog.text.count("vocabulary") == 1
    with pytest.raises(CustomEnvError, match=r"vocabulary is .*list of words"):
        from_pettingzoo(Signal, vocabulary=given)


def test_word_ids_are_the_same_in_every_process_and_long_texts_are_refused():
    assert WordIds(["go"]).tokens("Go north!", 5).tolist() == [1, 196, 4053, 0, 0]
    with pytest.raises(ValueError, match="max_words"):
        WordIds().tokens("a b c", 2)


def test_the_memory_of_texts_is_bounded_and_their_ids_stay_the_same(monkeypatch):
    monkeypatch.setattr("rl_envs.wrappers.custom.word_ids.MAX_TEXTS", 3)
    words = WordIds()
    rows = [words.tokens(f"step {number}", 2).tolist() for number in range(8)]
    assert [words.decode(row) for row in rows] == [""] * 3 + [f"step {number}" for number in range(3, 8)]
    assert words.tokens("step 0", 2).tolist() == rows[0]


def test_two_words_of_one_id_are_named_and_listed_words_have_their_own(caplog):
    first, second = WordIds().tokens("egret guillemot", 2)
    assert first == second
    assert "egret" in caplog.text and "guillemot" in caplog.text
    assert len(set(WordIds(["egret"]).tokens("egret guillemot", 2))) == 2


def test_a_text_that_does_not_fit_is_refused_with_its_key_while_it_is_played():
    with pytest.raises(CustomEnvError, match=r"second.*--max-words"):
        from_pettingzoo(Unlike, max_words=1).reset(0)


def test_keys_of_several_dimensions_part_and_own_names_are_kept_free():
    own = spaces.Dict(dict.fromkeys(("alive", "messages", "noise"), spaces.Discrete(2)))
    layout = Layout({"a": spaces.Box(0, 1, (2,)), "b": IMAGE, "c": own})
    assert set(layout.spec) == {"observation_1d", "observation_3d", "alive_", "messages_", "noise_"}


def test_what_cannot_be_sent_to_another_process_is_one_sentence():
    lock = threading.Lock()
    with pytest.raises(CustomEnvError, match=r"TypeError.*num_processes"):
        from_pettingzoo(lambda: Signal(lock=lock), num_processes=1)


@pytest.mark.processes
def test_worker_processes_play_the_same_games_and_end_with_the_world():
    worlds = [from_pettingzoo(SPREAD, 3, num_processes=number) for number in (0, 2)]
    first, second = (world.reset(5) for world in worlds)
    for _ in range(8):
        np.testing.assert_equal(first, second)
        actions = (worlds[0].chance.policy_uniforms(3) * 5).astype(int)
        (first, reward, *_), (second, again, *_) = (world.step(actions) for world in worlds)
        np.testing.assert_array_equal(reward, again)
    started = children()
    worlds[1].close()
    assert len(started - children()) == 2


def test_a_game_whose_chance_no_seed_fixes_begins_anew_and_says_so(caplog):
    world = from_pettingzoo(Careless, 2)
    world.reset(0)
    world.step(team(worlds=2))
    snapshot = world.snapshot()
    with caplog.at_level(logging.WARNING):
        world.restore(snapshot)
    assert world.restarted.tolist() == [True, True]
    assert world.state["episode_length"].tolist() == [0, 0]
    assert "2 of 2" in caplog.text


@pytest.mark.processes
@pytest.mark.parametrize("processes", [0, 1])
def test_games_that_all_end_early_when_they_are_replayed_begin_anew(processes):
    world = from_pettingzoo(Sudden, 2, num_processes=processes)
    world.reset(0)
    for _ in range(3):
        world.step(team(worlds=2))
    world.restore(world.snapshot())
    assert world.restarted.tolist() == [True, True]
    world.close()


@pytest.mark.processes
def test_an_error_in_one_of_two_processes_leaves_no_answer_for_the_next_request():
    world = from_pettingzoo(functools.partial(Signal, at(1, put(1, "left", None))), 2, num_processes=2)
    world.reset(0)
    with pytest.raises(CustomEnvError, match="reward of 'left'"):
        world.step(team(worlds=2))
    assert set(world.reset(0)) == set(world.observation_spec)
    world.close()


def test_a_package_that_is_not_installed_is_named():
    with pytest.raises(CustomEnvError, match="'no_such_games'") as refused:
        named_env("no_such_games.chess_v9")
    assert "pip install" not in str(refused.value), "anybody may register a name that somebody has mistyped"
    with pytest.raises(CustomEnvError, match=r"mpe2.*parallel_env"):
        named_env("mpe2")
    with pytest.raises(CustomEnvError, match="possible_agents"):
        from_pettingzoo(functools.partial(gymnasium.make, "CartPole-v1"))


A_NUMBER = 3


def broken():
    return open("no_such_folder/no_such_file").read()


def nothing():
    """A forgotten return."""


WRONG = {
    "broken": r"broken.*FileNotFoundError.*test_foreign.py, line \d+",
    "nothing": "possible_agents",
    "A_NUMBER": "A_NUMBER",
}


@pytest.mark.parametrize("function", WRONG)
def test_a_function_of_ones_own_that_gives_no_environment_is_one_sentence(function):
    with pytest.raises(CustomEnvError, match=WRONG[function]):
        from_pettingzoo(named_env(f"{__name__}:{function}"))


def test_a_module_that_raises_is_named_with_its_line(tmp_path, monkeypatch):
    (tmp_path / "half_written_game.py").write_text("x = 1\ny = x /\n")
    (tmp_path / "raising_game.py").write_text("\nraise OSError('no data')\n")
    (tmp_path / "game_with_flags.py").write_text("import sys\nsys.exit(2)\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(CustomEnvError, match=r"half_written_game.*SyntaxError.*line 2"):
        named_env("half_written_game")
    with pytest.raises(CustomEnvError, match=r"OSError.*raising_game.py, line 2"):
        named_env("raising_game")
    with pytest.raises(CustomEnvError, match=r"game_with_flags.*SystemExit: 2"):
        named_env("game_with_flags")


@pytest.mark.parametrize("processes", [0, pytest.param(1, marks=pytest.mark.processes)])
def test_an_environment_that_raises_while_it_is_played_is_one_sentence_with_the_line(processes):
    def step(actions):
        raise KeyError("no such key")

    world = from_pettingzoo(functools.partial(Signal, step=step), num_processes=processes)
    world.reset(0)
    with pytest.raises(CustomEnvError, match=r"Signal.*step.*KeyError.*test_foreign.py, line"):
        world.step(team())
    world.close()


SETTINGS = {
    "working directory": (lambda: os.chdir("/"), os.getcwd),
    "seterr": (lambda: np.seterr(all="raise"), np.geterr),
    "logging": (lambda: logging.disable(logging.CRITICAL), lambda: logging.root.manager.disable),
    "dtype": (lambda: torch.set_default_dtype(torch.float64), torch.get_default_dtype),
    "gradient": (lambda: torch.set_grad_enabled(False), torch.is_grad_enabled),
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_settings_of_the_process_that_an_environment_changes_are_undone_and_named(setting, caplog):
    change, read = SETTINGS[setting]

    def build():
        change()
        return Signal()

    def changed(env, answer):
        if env.steps == env.at:
            change()
        return answer

    kept = read()
    from_pettingzoo(build)
    assert read() == kept and setting in caplog.text
    caplog.clear()
    for step in (0, 2):
        world = from_pettingzoo(functools.partial(type(setting, (Signal,), {}), changed, at=step), 2)
        for _ in range(3):  # also after the fully checked episodes
            world.reset(0)
            assert read() == kept
            world.step(team(worlds=2))
            world.step(team(worlds=2))
            assert read() == kept
    assert setting in caplog.text.partition("changes")[2]


def test_pictures_are_the_environments_own():
    world = from_pettingzoo(functools.partial(Unlike, "rgb_array"))
    world.reset(0)
    world.step(team())
    assert (world.render() == 1).all()
    with pytest.raises(NotImplementedError):
        from_pettingzoo(Unlike).render()


CHECKED = {
    "alike": functools.partial(from_pettingzoo, SPREAD),
    "masks, texts and a leaver": functools.partial(from_pettingzoo, Unlike),
    "texts that name actions": functools.partial(from_pettingzoo, named_env("examples.errands:parallel_env")),
    "a turn-based game": functools.partial(from_pettingzoo, Relay),
    "a turn-based game with masks": functools.partial(from_pettingzoo, TICTACTOE),
    "one agent": functools.partial(from_gymnasium, functools.partial(gymnasium.make, "CartPole-v1")),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", CHECKED)
def test_foreign_worlds_pass_the_public_checks_of_pettingzoo_and_gymnasium(name, capsys):
    make_world = CHECKED[name]
    parallel_api_test(TeamParallelEnv(make_world()), num_cycles=40)
    parallel_seed_test(lambda: TeamParallelEnv(make_world()), num_cycles=10)
    check_env(TeamEnv(make_world(), episode_statistics=False), skip_render_check=True)


def test_the_next_episodes_of_all_games_may_begin_in_any_order():
    one, other = (from_gymnasium(Counter, 3) for _ in "ab")
    one.reset(0)
    other.reset(0)
    expected, seen = one.next_episode(), other.next_episode(np.array([2, 0, 1]))
    assert len(np.unique(expected["observation"])) > 1
    np.testing.assert_array_equal(seen["observation"], expected["observation"])
