"""How an episode begins: games, movements and places are drawn uniformly (MESSENGER, section 3; EnDi, section 5.2)."""

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import chisquare

from rl_envs.messenger.symbols import FIRST_ENTITY, IMMOVABLE
from rl_envs.messenger.world import Messenger

COUNT = 6000
CELLS = {
    (1, 1): ((3, 5), (5, 3), (5, 7), (7, 5)),
    (1, 2): ((2, 2), (2, 7), (7, 2), (7, 7)),
    (1, 3): ((1, 2), (1, 8), (4, 5), (6, 1), (6, 9), (9, 5)),
    (2, 1): ((3, 5), (5, 3), (5, 7), (7, 4), (7, 6)),
}
KINDS = [(agents, stage) for agents in (1, 2) for stage in (1, 2, 3)]


def fresh(agents, stage, **arguments):
    world = Messenger(COUNT, num_agents=agents, stage=stage, **arguments)
    world.reset(3)
    return world


@pytest.mark.parametrize(("agents", "stage"), KINDS)
def test_everybody_stands_on_one_of_the_given_cells_every_arrangement_equally_often(agents, stage):
    world = fresh(agents, stage)
    cells = CELLS[agents, stage if agents == 1 else 1]
    entities, avatars = world.state["entity_places"] / 2, world.state["avatar_places"] / 2
    in_centre = agents == 2 or stage == 1
    if in_centre:
        assert (avatars == 5).all()
    drawn = entities if in_centre else np.concatenate([entities, avatars], axis=1)
    found, counts = np.unique(drawn.astype(int), axis=0, return_counts=True)
    expected = set(permutations(cells, drawn.shape[1]))
    assert {tuple(map(tuple, places)) for places in found.tolist()} == expected
    assert chisquare(counts).pvalue > 1e-4


@pytest.mark.parametrize(("agents", "stage"), KINDS)
def test_games_and_movements_are_drawn_independently_and_uniformly(agents, stage):
    world = fresh(agents, stage, split="train_mc")
    games, counts = np.unique(world.state["described"], axis=0, return_counts=True)
    assert len(games) == 40 and chisquare(counts).pvalue > 1e-4
    movements, counts = np.unique(world.state["entity_movements"], axis=0, return_counts=True)
    assert len(movements) == {1: 1, 2: 6, 3: 18 if agents == 1 else 6}[stage]
    assert len(movements) == 1 or chisquare(counts).pvalue > 1e-4
    if stage == 1:
        assert (movements == IMMOVABLE).all()


@pytest.mark.parametrize(("agents", "stage"), KINDS)
def test_symbols_are_those_of_the_game_and_decoys_have_those_of_message_and_goal(agents, stage):
    world = fresh(agents, stage)
    described = world.state["described"]
    columns = [0, 1, 1, 2, 2] if agents == 2 else [0, 1, 2, 1, 2][: 5 if stage == 3 else 3]
    np.testing.assert_array_equal(world.state["entity_symbols"], described[:, columns])
    assert described.min() >= FIRST_ENTITY and described.max() < FIRST_ENTITY + 12


@pytest.mark.parametrize(("agents", "stage"), KINDS)
def test_in_one_of_five_episodes_of_the_first_stages_avatars_begin_with_the_message(agents, stage):
    share = fresh(agents, stage).state["has_message"].mean()
    assert abs(share - 0.2) < 0.02 if stage == 1 or (agents, stage) == (2, 2) else share == 0


def test_a_start_is_enough_to_restore():
    world, other = Messenger(40, stage=3), Messenger(40, stage=3)
    world.reset(5)
    names = ("entity_places", "avatar_places", "entity_symbols", "entity_movements")
    seen = other.restore({name: world.state[name] for name in names})
    np.testing.assert_array_equal(other.state["described"], world.state["described"])
    for key, value in world.observe().items():
        if key != "manual":
            np.testing.assert_array_equal(seen[key], value)
    with pytest.raises(ValueError, match=r"missing \['entity_movements'\]"):
        other.restore({name: world.state[name] for name in names[:3]})
    first = Messenger(40)
    first.restore({name: world.state[name][:, :3] if "entity" in name else world.state[name] for name in names[:3]})
