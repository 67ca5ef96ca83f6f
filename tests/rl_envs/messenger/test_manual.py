"""What a manual says of a game (MESSENGER, section 3): read back sentence by sentence from the cells they come from."""

import numpy as np
import pytest

from rl_envs.messenger.corpus import STILL, TEXT_SPLITS, CorpusError
from rl_envs.messenger.corpus_file import build_corpus, load_documents
from rl_envs.messenger.games import SPLITS, games_by_rule
from rl_envs.messenger.stages import TEAM_ENTITIES
from rl_envs.messenger.symbols import ENEMY, ENTITIES, FIRST_ENTITY, GOAL, IMMOVABLE, MESSAGE, ROLES, UNKNOWN
from rl_envs.messenger.world import Messenger
from tests.rl_envs.messenger.scenes import save_documents, tiny_documents

COUNT = 1500


def statements():
    """[D, 4] int64: text split, entity, role and movement of every sentence of our corpus."""
    corpus, _ = build_corpus("own", False, None)
    table = np.zeros((len(corpus.sentences), 4), np.int64)
    for number, split in enumerate(TEXT_SPLITS):
        for entity, role, kind in np.argwhere(corpus.counts(split)[..., :STILL]):
            table[list(corpus.cell(split, entity, role, kind))] = number, entity, role, kind
    return table


@pytest.fixture(scope="module")
def manuals():
    """A callable: what the manuals of a fresh world say, [B, S, 4], and the world."""
    table = statements()

    def read(**arguments):
        world = Messenger(COUNT, **arguments)
        world.reset(0)
        return table[world.state["manual"].astype(int)], world

    return read


def said(sentences, role):
    """[B, 3] entity, role, movement of the one sentence about a role, of manuals that have one for each."""
    place = (sentences[..., 2] == role).argmax(1)
    return np.take_along_axis(sentences, place[:, None, None], 1)[:, 0, 1:]


def symbols_and_movements(world, role):
    first = TEAM_ENTITIES.index(role) if world.num_agents == 2 else role
    return world.state["entity_symbols"][:, first] - FIRST_ENTITY, world.state["entity_movements"][:, first]


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize(("agents", "stage"), [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)])
def test_a_manual_tells_each_role_truly_in_sentences_of_its_split(manuals, split, agents, stage):
    sentences, world = manuals(split=split, num_agents=agents, stage=stage)
    assert (sentences[..., 0] == TEXT_SPLITS.index(split.split("_")[0])).all()
    for role in range(len(ROLES)):
        symbols, _ = symbols_and_movements(world, role)
        is_true = (sentences[..., 1] == symbols[:, None]) & (sentences[..., 2] == role)
        assert (is_true.sum(1) == 1).all()


@pytest.mark.parametrize("agents", [1, 2])
def test_in_stage_1_sentences_tell_no_movement_or_none_at_all(manuals, agents):
    sentences, _ = manuals(num_agents=agents, stage=1)
    kinds = sentences[..., 3]
    assert set(kinds.ravel().tolist()) == {IMMOVABLE, UNKNOWN}
    # 14 of 19 templates tell that it does not move.
    assert abs((kinds == IMMOVABLE).mean() - 14 / 19) < 0.03


@pytest.mark.parametrize(("agents", "stage"), [(1, 2), (2, 2), (2, 3)])
def test_in_stage_2_sentences_tell_the_true_movement_or_now_and_then_none(manuals, agents, stage):
    sentences, world = manuals(num_agents=agents, stage=stage)
    vague = 0
    for role in range(len(ROLES)):
        symbols, movements = symbols_and_movements(world, role)
        entity, _, kind = said(sentences, role).T
        assert (entity == symbols).all() and ((kind == movements) | (kind == UNKNOWN)).all()
        vague += (kind == UNKNOWN).mean() / len(ROLES)
    assert abs(vague - 0.15) < 0.02


@pytest.mark.parametrize("stage", [2, 3])
def test_a_manual_of_wandering_entities_gives_no_movement(manuals, stage):
    sentences, _ = manuals(num_agents=2, stage=stage, released=["random_walk"])
    assert (sentences[..., 3] == UNKNOWN).all()


@pytest.mark.parametrize("split", ["train", "val", "test"])
def test_in_stage_3_decoys_are_told_as_enemies_and_the_enemy_as_something_that_it_is_not(manuals, split):
    sentences, world = manuals(stage=3, split=split)
    assert sentences.shape == (COUNT, 6, 4)
    movements = world.state["entity_movements"]
    symbols = world.state["entity_symbols"].astype(int) - FIRST_ENTITY
    false_roles = set()
    for row in range(COUNT):
        left = [tuple(sentence) for sentence in sentences[row, :, 1:].tolist()]
        for entity, role in enumerate((ENEMY, MESSAGE, GOAL, ENEMY, ENEMY)):
            left.remove((symbols[row, entity], role, movements[row, entity]))
        ((entity, role, movement),) = left
        assert entity == symbols[row, 0] and role != ENEMY and movement not in (movements[row, 0], UNKNOWN)
        false_roles.add((entity, role))
    enemies = set(symbols[:, 0].tolist())
    assert len(false_roles) == len(enemies) * (1 if split == "train" else 2)


def test_sentences_come_in_any_order(manuals):
    sentences, _ = manuals(stage=2)
    orders, counts = np.unique(sentences[..., 2], axis=0, return_counts=True)
    assert len(orders) == 6 and counts.min() > COUNT / 6 * 0.7


def test_both_agents_read_the_same_manual():
    seen = Messenger(50, num_agents=2, stage=3).reset(0)["manual"]
    assert (seen[:, 0] == seen[:, 1]).all() and len(np.unique(seen)) > 50


@pytest.mark.parametrize(("agents", "stage"), [(1, 1), (1, 2), (1, 3), (2, 1), (2, 3)])
def test_a_permuted_manual_tells_of_another_game_with_the_same_entities(manuals, agents, stage):
    sentences, world = manuals(num_agents=agents, stage=stage, permuted_roles=True, shows_roles=True)
    true = np.stack([symbols_and_movements(world, role)[0] for role in range(3)], axis=1)
    claimed = world.observe()["roles"][:, 0].astype(int) - FIRST_ENTITY
    assert (np.sort(true, 1) == np.sort(claimed, 1)).all() and (true != claimed).any(1).all()
    for role in range(3):
        is_told = (sentences[..., 1] == claimed[:, role, None]) & (sentences[..., 2] == role)
        assert (is_told.sum(1) == 1).all()
    known = {tuple(game) for name in SPLITS["train"] for game in games_by_rule()[name].tolist()}
    assert {tuple(game) for game in claimed.tolist()} <= known
    orders = np.unique((true[:, :, None] == claimed[:, None]).argmax(2), axis=0)
    assert len(orders) == 5


def test_roles_are_shown_only_on_demand_and_are_those_that_the_manual_tells():
    assert "roles" not in Messenger().reset(0)
    world = Messenger(100, shows_roles=True)
    roles = world.reset(0)["roles"]
    assert roles.dtype == np.uint8
    np.testing.assert_array_equal(roles[:, 0], world.state["entity_symbols"])


NEEDED = [
    ({"stage": 1}, ("dog", "enemy", ("immovable", "unknown")), "train > dog > enemy > immovable or unknown"),
    ({"stage": 2}, ("dog", "enemy", ("chaser",)), "train > dog > enemy > chaser"),
    ({"stage": 2}, ("dog", "enemy", ("unknown",)), "train > dog > enemy > unknown"),
    ({"stage": 3}, ("fish", "enemy", ("fleeing",)), "train > fish > enemy > fleeing"),
    ({"stage": 3}, ("airplane", "enemy", ("immovable",)), "train > airplane > enemy > immovable"),
    ({"stage": 3}, ("robot", "goal", ("chaser",)), "train > robot > goal > chaser"),
    ({"stage": 3, "split": "val"}, ("mage", "*", ("chaser",)), "val > mage > message > chaser"),
    (
        {"stage": 2, "num_agents": 2, "released": ("random_walk",)},
        ("dog", "goal", ("unknown",)),
        "train > dog > goal > unknown",
    ),
]


@pytest.mark.parametrize(("arguments", "cell", "path"), NEEDED, ids=str)
def test_a_sentence_that_the_splits_games_need_is_missed_before_the_first_episode(tmp_path, arguments, cell, path):
    documents, split = tiny_documents(), arguments.get("split", "train")
    entity, role, kinds = cell
    for one in ("message", "goal") if role == "*" else (role,):
        for kind in kinds:
            documents[split][entity][one][kind] = []
    save_documents(tmp_path, documents)
    with pytest.raises(CorpusError, match=path):
        Messenger(texts=str(tmp_path), **arguments)
    other = "test" if split == "train" else "train"
    Messenger(texts=str(tmp_path), **{**arguments, "split": other}).reset(0)


def test_stage_1_needs_only_one_of_the_two_kinds(tmp_path):
    documents = tiny_documents()
    for entity in ENTITIES:
        for role in ROLES:
            documents["train"][entity][role]["unknown"] = []
    save_documents(tmp_path, documents)
    assert load_documents(tmp_path) == documents
    Messenger(8, texts=str(tmp_path)).reset(0)
    Messenger(8, texts=str(tmp_path), stage=3).reset(0)


def test_a_restored_game_outside_the_split_has_typed_sentences_where_unknown_ones_are_missing():
    world = Messenger(64, stage=2)
    names = ("airplane", "ship", "thief")  # the airplane is nobody's enemy in training, but decoys need it manuals
    symbols = np.tile([FIRST_ENTITY + ENTITIES.index(name) for name in ("airplane", "ship", "queen")], (64, 1))
    places = np.tile([[0, 0], [0, 8], [8, 0]], (64, 1, 1))
    start = {"entity_places": places, "avatar_places": np.full((64, 1, 2), 8), "entity_symbols": symbols}
    world.restore(start | {"entity_movements": np.tile([0, 1, 2], (64, 1))})
    kinds = said(statements()[world.state["manual"].astype(int)], ENEMY)[:, 2]
    assert (kinds == 0).all()
    before = world.snapshot()
    symbols = np.tile([FIRST_ENTITY + ENTITIES.index(name) for name in (names[0], "dog", "fish")], (64, 1))
    with pytest.raises(CorpusError, match="train > dog > message"):
        world.restore(start | {"entity_symbols": symbols, "entity_movements": np.tile([0, 1, 2], (64, 1))})
    assert all(np.array_equal(value, before[name]) for name, value in world.snapshot().items())
