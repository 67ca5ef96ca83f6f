"""How an episode begins: who is there, what they are called, and where (RTFM, section 3; EnDi, section 5.1)."""

import numpy as np
import pytest
from scipy.stats import chisquare

from rl_envs.rtfm.assignments import assignments
from rl_envs.rtfm.lexicon import KIND_ITEM, KIND_MONSTER
from rl_envs.rtfm.stages import EVALUATIONS, STAGES
from rl_envs.rtfm.words import ELEMENTS, NAME_SETS, TEAMS
from rl_envs.rtfm.world import Rtfm
from tests.rl_envs.rtfm.scenes import splits

VARIANTS = [
    {"num_agents": agents, "group": group, "size": 8, "names": names}
    for agents in (1, 2, 3)
    for group in (False, True)
    for names in NAME_SETS
]


class Texts:
    """A world's start in words: names of monsters and items, and what the assignment makes of them."""

    def __init__(self, world, row, group, names):
        own, known = NAME_SETS[names], assignments(group)
        teams, elements = known.ranks(world.state["assignment"][row : row + 1])
        strings = np.array(world.lexicon.names)
        self.elements, monsters = zip(*(s.split() for s in strings[world.state["monster_names"][row]]), strict=True)
        modifiers, self.nouns = zip(*(s.split() for s in strings[world.state["item_names"][row]]), strict=True)
        self.monsters = monsters
        self.teams = [TEAMS[known.teams.labels[teams[0], own.monsters.index(monster)]] for monster in monsters]
        self.beaten = [ELEMENTS[known.elements.labels[elements[0], own.modifiers.index(m)]] for m in modifiers]
        self.goal = TEAMS[world.state["goal_team"][row]]


@pytest.mark.parametrize("arguments", VARIANTS, ids=str)
def test_targets_belong_to_the_goals_team_and_each_item_beats_its_monsters_element(arguments):
    world = Rtfm(300, **arguments)
    world.reset(0)
    agents, group = arguments["num_agents"], arguments["group"]
    for row in range(300):
        texts = Texts(world, row, group, arguments["names"])
        assert texts.teams[:agents] == [texts.goal] * agents and texts.teams[agents] != texts.goal
        assert texts.beaten == list(texts.elements) and len(set(texts.elements)) == agents + 1
        different = len(set(texts.monsters[:agents]))
        assert different == (agents if group else 1)
        assert set(texts.nouns) <= set(NAME_SETS[arguments["names"]].nouns)


@pytest.mark.parametrize("group", [False, True])
def test_everything_is_drawn_uniformly(group):
    world = Rtfm(3000, group=group)
    world.reset(3)
    texts = [Texts(world, row, group, "paper") for row in range(3000)]
    for counted in (
        [one.goal for one in texts],
        [one.teams[1] for one in texts],
        [one.elements for one in texts],
        [one.monsters[0] for one in texts],
        [one.nouns for one in texts],
        [one.nouns[1] for one in texts],
    ):
        counts = np.unique(np.array(counted), axis=0, return_counts=True)[1]
        assert chisquare(counts).pvalue > 1e-4
    cells = np.concatenate([world.state[f"{kind}_cells"] for kind in ("agent", "monster", "item")], axis=1)
    assert (np.sort(cells, 1)[:, 1:] != np.sort(cells, 1)[:, :-1]).all()
    for column in cells.T:
        places, counts = np.unique(column, return_counts=True)
        assert len(places) == 16 and chisquare(counts).pvalue > 1e-4


def test_each_stage_of_endi_adds_one_difficulty_and_the_evaluations_change_only_what_they_name():
    worlds = {name: Rtfm(num_agents=2, **arguments) for name, arguments in STAGES.items()}
    for world in worlds.values():
        assert world.observation_spec["grid"].shape == (8, 8, 1)
        world.reset(0)
    assert worlds["S1"].state["monster_cells"].shape[1] == worlds["S1"].state["item_cells"].shape[1] == 2
    assert all(worlds[name].state["monster_cells"].shape[1] == 3 for name in ("S2", "S3", "S4", "S5"))
    assert [len(worlds[name].recorded_draws) for name in STAGES] == [1, 1, 3, 3, 3]
    lengths = [worlds[name].text_spec["document"].length for name in STAGES]
    assert lengths == [33, 33, 33, 53, 80]
    for name, changes in EVALUATIONS.items():
        world = Rtfm(64, num_agents=2, **STAGES["S5"] | changes)
        world.reset(0)
        split = "train" if name == "train" else "eval"
        assert np.isin(world.state["assignment"], splits(True)[split]).all()
        assert world.observation_spec["grid"].shape[0] == (10 if name == "eval_10x10" else 8)
        words = {word for row in world.texts["document"].table for word in world.lexicon.decode(row).split()}
        assert words.isdisjoint(NAME_SETS["paper"].monsters) == (name == "eval_new")
        assert worlds["S5"].vocabulary == world.vocabulary


def test_names_know_their_kind():
    world = Rtfm()
    kinds = dict(zip(world.lexicon.names, world.tables["name_kinds"].tolist(), strict=True))
    assert {kinds["fire wolf"], kinds["poison robot"]} == {KIND_MONSTER}
    assert {kinds["arcane axe"], kinds["shiny sunglow"]} == {KIND_ITEM}
    assert [kinds[name] for name in ("empty", "wall", "you", "agent", "nothing")] == [0, 1, 2, 2, 0]
    for name, words in zip(world.lexicon.names, world.tables["name_words"], strict=True):
        assert world.lexicon.decode(words) == name
