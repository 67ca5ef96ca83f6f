"""Replay of recordings of the authors' engines: places, messages, deaths, latches, rewards, ends, and entities' moves.

Recordings of one agent hold the rules as they are, those of two agents the release's, with all its named behaviours.
"""

import numpy as np
import pytest

from rl_envs.messenger.games import LISTS, games_by_rule
from rl_envs.messenger.movements import Walk, single_variants
from rl_envs.messenger.stages import SINGLE_PACE, TEAM_PACE, starts
from rl_envs.messenger.symbols import FIRST_ENTITY, STAY, STEPS, SYMBOLS, WITH_MESSAGE, WITHOUT_MESSAGE
from tests.golden.cases import own_or_golden
from tests.golden.messenger_replay import Replay, events, touched

RECORDINGS = own_or_golden("*_stage[123].npz", "messenger")


@pytest.mark.parametrize("path", RECORDINGS)
def test_every_recorded_step_is_reproduced_exactly(path):
    replay = Replay(path)
    for step in replay.steps():
        state = {name: value[step.rows] for name, value in step.after.items()}

        def same(ours, name, index=step.index):
            np.testing.assert_array_equal(ours, replay.recorded(name, index), err_msg=name)

        of_agents = slice(None) if replay.is_team else 0
        same(state["entity_places"], "npc_after")
        same(state["avatar_places"][:, of_agents], "avatar_after")
        same(state["has_message"][:, of_agents], "has_message")
        if replay.is_team:
            assert state["entity_here"].all() and state["avatar_alive"].all()
        elif replay.stage > 1:
            same(state["entity_here"], "npc_alive")
            same(state["avatar_alive"][:, 0], "avatar_alive")
        if "latch" in replay.data:
            same(state["reached"].reshape(len(step.rows), -1), "latch")
        np.testing.assert_allclose(step.reward[step.rows], replay.of_agents(rewards(replay, step.index)), atol=1e-6)
        same(step.terminated[step.rows], "done")
        assert not step.truncated.any()


def rewards(replay, index):
    reward = replay.data["reward"][index]
    return np.repeat(reward[:, None], 2, axis=1) if replay.is_team else reward


@pytest.mark.parametrize("path", RECORDINGS)
def test_every_recorded_touch_and_event_is_ours(path):
    replay = Replay(path)
    for step in replay.steps():
        after = {name: value[step.rows] for name, value in step.after.items()}
        before = {name: value[step.rows] for name, value in step.before.items()}
        if "touch" in replay.data:
            bits = touched(after)
            np.testing.assert_array_equal(bits if replay.is_team else bits[:, 0], replay.data["touch"][step.index])
        if "events" in replay.data:
            np.testing.assert_array_equal(events(before, after), replay.data["events"][step.index])


@pytest.mark.parametrize("path", RECORDINGS)
def test_every_recorded_move_of_an_entity_is_one_that_our_rule_could_choose(path):
    replay = Replay(path)
    walk = Walk(TEAM_PACE if replay.is_team else SINGLE_PACE)
    for step in replay.steps():
        before = {name: value[step.rows] for name, value in step.before.items()}
        places, moves = before["entity_places"], replay.moves(step.before["entity_places"], step.rows, step.index)
        moves = moves[step.rows]
        if not replay.world.recorded_draws:
            assert (moves == STAY).all()
            continue
        signs = np.sign(before["avatar_places"][:, :1] - places) + 1
        possible = walk.table[before["entity_movements"], signs[..., 0], signs[..., 1]]
        chosen = (possible == moves[..., None]).any(-1)
        # A chosen step that leads off the grid leaves the entity where it is.
        targets = places[:, :, None] + np.array(STEPS)[possible]
        reverted = (moves == STAY) & ((targets < 0) | (targets > 18)).any((2, 3))
        assert (chosen | reverted | ~before["entity_here"])[before["avatar_alive"].all(1)].all()


@pytest.mark.parametrize("path", RECORDINGS)
def test_starts_and_games_are_those_that_we_could_draw(path):
    replay = Replay(path)
    data = replay.data
    numbers = {name: {tuple(game) for game in games.tolist()} for name, games in games_by_rule().items()}
    lists = dict(zip(("train_mc", "train_sc", "val", "test"), LISTS, strict=True))
    for split, game in zip(data["splits"][data["ep_split"]], data["ep_game"] - FIRST_ENTITY, strict=True):
        assert tuple(game.tolist()) in numbers[lists[split]]
    known = {str(places.tolist()) for places in np.concatenate(starts(replay.stage, 1 + replay.is_team), axis=1)}
    entities, avatars = replay.places(data["ep_npc0"]), replay.of_agents(replay.places(data["ep_avatar0"]))
    assert {str(places.tolist()) for places in np.concatenate([entities, avatars], axis=1)} <= known
    if replay.stage == 1 or (replay.is_team and replay.stage == 2):
        assert not data["ep_with_message0"].all()
    if not replay.is_team:
        variants = {str(row) for split in ("train", "test") for row in single_variants(replay.stage, split).tolist()}
        assert {str(row) for row in data["ep_types"].tolist()} <= variants
        assert (data["ep_with_message0"].any()) == (replay.stage == 1)


@pytest.mark.parametrize("path", RECORDINGS)
def test_observations_show_the_recorded_sprites_where_they_are_drawn(path):
    replay = Replay(path)
    data = replay.data
    names = {"no_message": WITHOUT_MESSAGE, "with_message": WITH_MESSAGE}
    symbols = [names.get(str(name), SYMBOLS.index(name) if name in SYMBOLS else 0) for name in data["symbols"]]
    for step in replay.steps():
        newest = {name: value[step.rows, 0, -1] for name, value in step.obs.items() if name != "manual"}
        grid = np.zeros((len(step.rows), 100, 17), bool)
        world, place = np.nonzero(newest["symbols"])
        grid[world, newest["cells"][world, place], newest["symbols"][world, place]] = True
        expected = np.zeros_like(grid)
        here = data["npc_alive"][step.index] if "npc_alive" in data else np.ones(newest["symbols"].shape, bool)
        drawn = data["npc_after"][step.index].astype(int) // int(data["units_per_cell"])
        columns = np.array(symbols)[step.before["entity_symbols"][step.rows]]
        world, place = np.nonzero(here)
        expected[world, drawn[world, place, 1] * 10 + drawn[world, place, 0], columns[world, place]] = True
        np.testing.assert_array_equal(grid, expected)
        x, y = np.moveaxis(replay.of_agents(data["avatar_after"][step.index].astype(int)), -1, 0)
        alive = replay.of_agents(data["avatar_alive"][step.index]) if "avatar_alive" in data else np.ones_like(x)
        cells = (y // int(data["units_per_cell"]) * 10 + x // int(data["units_per_cell"])) * alive
        np.testing.assert_array_equal(newest["agent_cells"], cells)
