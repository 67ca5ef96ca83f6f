"""A game with a person in a real browser: load, keys, an episode to its end, and who is kept out."""

import asyncio
import contextlib
import threading

import pytest

from cluster.testing.local_cluster import wait_until
from tests.browser import chromium, tab  # noqa: F401 (fixtures)
from tests.timeouts import TIMEOUT_SECONDS
from tests.tune_experiments.play.teams import untrained
from tune_experiments import load_policy
from tune_experiments.play.game.human_data import load_episode
from tune_experiments.play.game.human_game import HumanGame
from tune_experiments.play.game.server import GameServer

pytestmark = pytest.mark.browser


@contextlib.contextmanager
def serving(game):
    """A server of the game in a thread of its own."""
    loop, server = asyncio.new_event_loop(), GameServer(game)
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(server.start(), loop).result(TIMEOUT_SECONDS)
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result(TIMEOUT_SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(TIMEOUT_SECONDS)
        loop.close()


@pytest.fixture
def kitchen(tmp_path):
    with serving(HumanGame(load_policy("pretrained/overcooked_selfplay"), "chef_0", 3, tmp_path)) as server:
        yield server


def until_step(page, step):
    wait_until(lambda: page.get_attribute("body", "data-step") == str(step), 60, f"step {step} is not shown")


def test_the_page_shows_the_world_and_every_key_is_written_on_its_action(kitchen, tab):  # noqa: F811
    tab.goto(kitchen.address)
    until_step(tab, 0)
    assert "You are agent_0" in tab.inner_text("#who")
    said = [button.replace("\n", " ") for button in tab.locator("#actions button").all_inner_texts()]
    assert "north\u2191" in said and "stayspace" in said and "interacte" in said
    wait_until(lambda: tab.evaluate("document.getElementById('world').width") > 100, 60, "there is no picture")
    assert tab.complaints == []


def test_a_key_is_an_action_and_the_score_stands_there(kitchen, tab):  # noqa: F811
    tab.goto(kitchen.address)
    until_step(tab, 0)
    for step, key in enumerate(("ArrowUp", "ArrowLeft", " ", "e"), start=1):
        tab.keyboard.press(key)
        until_step(tab, step)
    assert "agent_0: interact" in tab.inner_text("#last") and tab.inner_text("#score") == "0"
    tab.keyboard.press("q")
    tab.locator("#actions button").first.click()
    until_step(tab, 5)
    tab.keyboard.press("E")  # with Caps Lock
    until_step(tab, 6)
    assert tab.is_visible("#clock") and tab.complaints == []


def test_no_clock_is_offered_where_no_action_waits(tmp_path, tab):  # noqa: F811
    with serving(HumanGame(untrained("sama_frozen_lake", "mappo"), "0", 3, tmp_path)) as server:
        tab.goto(server.address)
        until_step(tab, 0)
        assert not tab.is_visible("#clock") and tab.complaints == []


def test_two_episodes_are_played_to_their_ends_with_a_packaged_team(tmp_path, tab):  # noqa: F811
    game = HumanGame(load_policy("pretrained/endi_rtfm_matching"), "agent_0", 3, tmp_path)
    with serving(game) as server:
        tab.goto(server.address)
        for played in range(2):
            until_step(tab, 0)
            assert tab.inner_text("#story") == game.world.story and not tab.is_visible("#end")
            while not tab.is_visible("#end"):  # the team goes on by itself when the person's agent is out of the game
                before = tab.get_attribute("body", "data-step")
                tab.keyboard.press(" ")
                wait_until(lambda: tab.get_attribute("body", "data-step") != before, 60, "the game stands")  # noqa: B023
            steps = len(load_episode(game.saved[played]).actions)
            assert str(steps) in tab.inner_text("#ending") and "win_rate" in tab.inner_text("#metrics")
            tab.keyboard.press("Backspace")
