"""A person in a team: what they choose is done, what they play is kept, and nobody else gets at the game."""

import asyncio
import contextlib
import json
from pathlib import Path

import aiohttp
import numpy as np
import pytest

from tests.tune_experiments.play.pages import read_data
from tests.tune_experiments.play.teams import untrained
from tests.tune_experiments.teams.games import Meeting
from tune_experiments import load_policy
from tune_experiments.__main__ import main as after_training
from tune_experiments.core.errors import UserError
from tune_experiments.play.game.human_data import load_episode
from tune_experiments.play.game.human_game import HumanGame, RefusedError, assign_keys
from tune_experiments.play.game.server import OCCUPIED, GameServer

SEED = 3
STAY = 4


@pytest.fixture
def game(tmp_path):
    """Two chefs, of whom a person is the second."""
    found = HumanGame(load_policy("pretrained/overcooked_selfplay"), "chef_1", SEED, tmp_path / "kept")
    yield found
    with contextlib.suppress(RuntimeError):
        found.close()


def messenger(tmp_path):
    return HumanGame(untrained("endi_messenger", "emma"), "agent_0", SEED, tmp_path / "kept")


def play_to_the_end(game, action=0):
    for _ in range(1000):
        game.act(action)
        if game.view()["ended"] is not None:
            return
    raise AssertionError("the episode does not end")


def test_a_direction_has_its_arrow_and_every_key_one_action():
    assert assign_keys(("north", "south", "east", "west", "stay", "interact")) == [
        "ArrowUp",
        "ArrowDown",
        "ArrowRight",
        "ArrowLeft",
        " ",
        "e",
    ]
    assert assign_keys(["7", "8", "-1", "0"]) == ["7", "8", "1", "0"]
    keys = assign_keys([*map(str, range(50)), "wait", "stay"])
    used = [key for key in keys if key]
    assert len(used) == len(set(used)) and keys[-2] == " " and keys[-1] != " "


def test_the_person_does_what_it_chooses_and_the_team_the_rest(game):
    for action in (0, 3, STAY, 5):
        game.act(action)
    with pytest.raises(RefusedError, match="6"):
        game.act(6)
    view = game.view()
    assert view["you"] == "agent_1" and view["step"] == 4 and view["done"]["agent_1"] == "interact"
    game.close()
    kept = load_episode(game.saved[0])
    assert kept.actions[:, 1].tolist() == [0, 3, STAY, 5]
    assert len(set(kept.actions[:, 0].tolist())) > 0 and kept.about["human_agent"] == 1


@pytest.mark.long
def test_a_kept_episode_is_played_again_from_its_start_with_the_same_rewards_and_observations(tmp_path):
    game = messenger(tmp_path)
    play_to_the_end(game, action=1)
    kept = load_episode(game.saved[0])
    world = untrained("endi_messenger", "emma").make_world(1)
    world.auto_resets = False
    obs = world.restore(kept.start)
    for step, actions in enumerate(kept.actions):
        for key, value in obs.items():
            np.testing.assert_array_equal(value[0], kept.obs[key][step])
        obs, reward, *_ = world.step(actions[None])
        np.testing.assert_array_equal(reward[0], kept.rewards[step])
    assert kept.about["metrics"]["length"] == len(kept.actions) == len(kept.about["messages"])


def test_another_episode_begins_elsewhere_and_an_unfinished_one_is_kept(tmp_path):
    game = messenger(tmp_path)
    game.act(0)
    game.new_episode()
    assert game.view()["step"] == 0 and len(game.saved) == 1
    assert load_episode(game.saved[0]).about["metrics"] == {}
    game.act(0)
    game.close()
    starts = [load_episode(path).start["entity_places"].tolist() for path in game.saved]
    assert len(starts) == 2 and starts[0] != starts[1]


def test_nothing_is_kept_of_a_game_that_nobody_played(game, tmp_path):
    game.close()
    assert not (tmp_path / "kept").exists()


def test_what_is_not_possible_is_refused_and_changes_nothing(tmp_path):
    game = HumanGame(untrained("rtfm_txt2pi", "txt2pi"), "agent_0", SEED, tmp_path)
    legal = [action["legal"] for action in game.view()["actions"]]
    assert not all(legal)
    with pytest.raises(RefusedError, match="available"):
        game.act(legal.index(False))
    assert game.view()["step"] == 0


def test_an_episode_that_cannot_be_kept_is_over_all_the_same(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="--record"):
        HumanGame(untrained("endi_messenger", "emma"), "agent_0", SEED, tmp_path / "file" / "kept")
    game = messenger(tmp_path)

    def keep(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tune_experiments.play.game.human_game.save_episode", keep)
    with pytest.raises(RefusedError, match="saved"):
        play_to_the_end(game)
    assert game.view()["ended"] is not None and game.view()["saved"] == ""
    with pytest.raises(RefusedError, match="is over"):
        game.act(0)
    game.close()


@pytest.mark.parametrize("row", ["sama", "selfplay"])
def test_a_team_of_any_kitchen_is_played_with_in_its_own(row, tmp_path):
    tasks = ("cramped_room", "coordination_ring")
    found = HumanGame(untrained("sama_overcooked", f"{row}-{tasks[1]}", methods=(row,), tasks=tasks), "0", 0, tmp_path)
    found.act(next(number for number, action in enumerate(found.view()["actions"]) if action["legal"]))
    assert found.view()["step"] == 1 and found.world.kitchen.height == 5


def test_an_agent_that_is_not_there_is_refused(tmp_path, capsys):
    with pytest.raises(UserError, match=r"chef_2.*--human"):
        HumanGame(untrained("overcooked_selfplay", "selfplay"), "chef_2", 0, tmp_path)
    assert after_training(["play", "pretrained/overcooked_selfplay", "--human", "cook"]) != 0
    assert "cook" in capsys.readouterr().err


def test_a_damaged_episode_is_refused_with_one_sentence(tmp_path):
    (tmp_path / "one.safetensors").write_bytes(b"\0" * 40)
    (tmp_path / "one.json").write_text("{}")
    with pytest.raises(UserError, match="one"):
        load_episode(tmp_path / "one")


def served(game, visit):
    """What `visit(server, session)` returns, with a server of the game on a free port."""

    async def run():
        server = GameServer(game)
        await server.start()
        try:
            async with aiohttp.ClientSession() as session:
                return await asyncio.wait_for(visit(server, session), 120)
        finally:
            await server.stop()

    return asyncio.run(run())


def open_socket(server, session, **headers):
    headers = {"Origin": f"http://127.0.0.1:{server.port}"} | headers
    return session.ws_connect(f"{server.address}socket", headers=headers)


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("", {}, 200),
        ("", {"Host": "localhost:{port}"}, 200),
        ("", {"Host": "evil.example"}, 403),
        ("", {"Host": "127.0.0.1:1"}, 403),
        ("", {"Origin": "http://evil.example"}, 403),
        ("", {"Origin": "null"}, 403),
        ("socket", {}, 403),
        ("socket", {"Origin": "http://127.0.0.1:1"}, 403),
        ("../wrong/", {}, 404),
        ("../", {}, 404),
        ("other", {}, 404),
    ],
)
def test_only_the_whole_address_on_this_machine_is_answered(path, headers, status, game):
    async def visit(server, session):
        sent = {name: value.format(port=server.port) for name, value in headers.items()}
        async with session.get(server.address + path, headers=sent) as answer:
            return answer.status, await answer.text()

    found, text = served(game, visit)
    assert found == status
    assert ("<canvas" in text) == (status == 200)


def test_the_server_listens_on_this_machine_alone_and_its_address_cannot_be_guessed(game):
    async def visit(server, session):
        with pytest.raises(OSError):
            await asyncio.open_connection("127.0.0.2", server.port)  # where a server of all interfaces answers, too
        return server.token, GameServer(game).token

    one, other = served(game, visit)
    assert one != other and len(one) >= 43


def test_the_second_player_is_refused_and_the_first_plays_on(game):
    async def visit(server, session):
        async with open_socket(server, session) as first:
            await first.receive_json()
            async with open_socket(server, session) as second:
                refused = await second.receive()
            await first.send_json({"action": 0})
            return refused.type, second.close_code, (await first.receive_json())["view"]["step"]

    kind, code, step = served(game, visit)
    assert kind == aiohttp.WSMsgType.CLOSE and code == OCCUPIED and step == 1


def test_a_closed_tab_may_come_back_to_the_game_as_it_was(game):
    async def visit(server, session):
        async with open_socket(server, session) as first:
            await first.receive_json()
            await first.send_json({"action": 0})
            await first.receive_json()
        while server.player is not None:
            await asyncio.sleep(0.01)
        async with open_socket(server, session) as again:
            return (await again.receive_json())["view"]["step"]

    assert served(game, visit) == 1
    assert len(load_episode(game.saved[0]).actions) == 1


@pytest.mark.parametrize("text", ["\0", "[]", "[" * 10_000, "{}", '{"action": "0"}', '{"action": true}'])
def test_what_cannot_be_understood_changes_nothing(text, game):
    async def visit(server, session):
        async with open_socket(server, session) as player:
            await player.receive_json()
            await player.send_str(text)
            return await player.receive_json(), (await player.receive_json())["view"]["step"]

    refused, step = served(game, visit)
    assert set(refused) == {"refused"} and step == 0


class Stalling(Meeting):
    """It raises at the second env step of an episode."""

    def step(self, actions):
        if self.steps == 1:
            raise RuntimeError("out of fuel")
        return super().step(actions)


def test_a_game_that_raises_says_so_to_the_player_and_keeps_the_steps_that_were_played(tmp_path):
    async def visit(server, session):
        async with open_socket(server, session) as player:
            await player.receive_json()
            for _ in range(3):
                await player.send_json({"action": 0})
            return [await player.receive_json() for _ in range(5)]

    game = HumanGame(untrained("train", "ippo", env=f"{__name__}:Stalling"), "left", SEED, tmp_path)
    refused = [one["refused"] for one in served(game, visit) if "refused" in one]
    assert len(refused) == 2 and all("out of fuel" in one for one in refused)
    kept = load_episode(game.saved[0])
    assert {len(kept.actions), len(kept.rewards), *map(len, kept.obs.values()), len(kept.about["messages"])} == {1}


def test_a_request_that_is_too_large_ends_the_connection_and_not_the_game(game):
    async def visit(server, session):
        async with open_socket(server, session) as player:
            await player.receive_json()
            await player.send_str(json.dumps({"action": 0, "message": "x" * 100_000}))
            closed = await player.receive()
        async with open_socket(server, session) as player:
            return closed.type, (await player.receive_json())["view"]["step"]

    kind, step = served(game, visit)
    assert kind == aiohttp.WSMsgType.CLOSE and step == 0


def test_a_port_that_is_taken_is_refused_with_one_sentence(game):
    async def visit(server, session):
        with pytest.raises(UserError, match="--port"):
            await GameServer(game).start(server.port)

    served(game, visit)


def test_the_game_names_no_folder_to_the_player(game, tmp_path):
    game.act(0)
    game.new_episode()  # ends and saves the episode
    assert str(Path(tmp_path)) not in json.dumps(game.view())


def test_the_team_does_what_a_typed_message_asks_for_and_the_message_is_kept(tmp_path):
    game = HumanGame(load_policy("pretrained/verco_secret_order"), "agent_0", SEED, tmp_path)
    likely = {}
    for food in ("tomato", "lettuce"):
        heard = game.view()["heard"]
        game.act(0, f"Bob, please bring the {food}.")
        game.new_episode()
        kept = load_episode(game.saved[-1])
        assert kept.about["messages"] == [f"Bob, please bring the {food}."] and kept.obs["messages"].shape[:2] == (1, 2)
        (episode,) = read_data(game.saved[-1].with_suffix(".html").read_text())["teams"][0]["episodes"]
        said = [episode["texts"][agent["message"]] for agent in episode["steps"][0]["agents"]]
        assert said == [f"Bob, please bring the {food}.", heard["agent_1"]]
        likely[food] = dict(map(tuple, episode["steps"][0]["agents"][1]["likely"]))
    game.close()
    for food, other in (("tomato", "lettuce"), ("lettuce", "tomato")):
        assert likely[food][f"get_{food}"] > likely[other].get(f"get_{food}", 0)


def test_a_person_is_shown_the_order_only_where_its_cook_knows_it(tmp_path):
    team = load_policy("pretrained/verco_secret_order")
    for name, knows in (("agent_0", True), ("agent_1", False)):
        game, pictures = HumanGame(team, name, SEED, tmp_path), []
        for recipe in (0, 1):
            game.world.state["recipe"][:] = recipe
            pictures.append(game.view()["picture"])
        assert pictures[0] is not None and (pictures[0] != pictures[1]) == knows, name


def test_a_team_that_does_not_write_asks_for_no_message(game):
    assert game.view()["reads"] is False and game.view()["heard"] == {}
