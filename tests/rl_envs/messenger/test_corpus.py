"""A corpus numbers sentences by split, entity, role and movement, and refuses what is not of the form by key path."""

import copy
import json
import os

import numpy as np
import pytest

from rl_envs.messenger.corpus import STILL, TEXT_SPLITS, Corpus, CorpusError, split_words
from rl_envs.messenger.corpus_file import FOLDER_VARIABLE, build_corpus, load_documents
from rl_envs.messenger.games import GamesError, games_by_rule, pairs_of_games
from rl_envs.messenger.own_corpus import ADJECTIVES, ENTITY_WORDS, ROLE_WORDS
from rl_envs.messenger.symbols import ENEMY, ENTITIES, MOVEMENTS, ROLES, UNKNOWN
from rl_envs.messenger.world import Messenger
from tests.rl_envs.messenger.scenes import save_documents, tiny_documents

needs_published = pytest.mark.skipif(
    FOLDER_VARIABLE not in os.environ, reason=f"{FOLDER_VARIABLE} names no folder with the published corpus"
)


@pytest.fixture
def documents():
    return tiny_documents()


def test_ids_follow_split_entity_role_movement_and_place(documents):
    corpus = Corpus(documents)
    expected = [
        sentence
        for split in TEXT_SPLITS
        for entity in ENTITIES
        for role in ROLES
        for movement in MOVEMENTS
        for sentence in documents[split][entity][role][movement]
    ]
    assert list(corpus.sentences) == expected
    for split in TEXT_SPLITS:
        for entity, role, kind in np.argwhere(corpus.counts(split)[..., :STILL]):
            found = [corpus.sentences[number] for number in corpus.cell(split, entity, role, kind)]
            assert found == documents[split][ENTITIES[entity]][ROLES[role]][MOVEMENTS[kind]]


def test_sentences_of_stage_1_are_those_of_no_and_of_unknown_movement(documents):
    corpus = Corpus(documents)
    found = [corpus.sentences[number] for number in corpus.cell("train", ENTITIES.index("dog"), ENEMY, STILL)]
    assert found == [f"train dog enemy {kind} {n}" for kind in ("immovable", "unknown") for n in range(2)]


def test_every_sentence_of_a_cell_is_picked_equally_often(documents):
    corpus = Corpus(documents)
    uniforms = (np.arange(1000) + 0.5) / 1000
    dog = np.full(1000, ENTITIES.index("dog"))
    ids = corpus.pick("train", dog, np.full(1000, ENEMY), np.full(1000, STILL), uniforms)
    values, counts = np.unique(ids, return_counts=True)
    assert list(values) == list(corpus.cell("train", dog[0], ENEMY, STILL)) and (counts == 250).all()
    assert ids.dtype == corpus.id_dtype == np.uint16


def test_large_corpora_have_larger_ids(documents):
    documents["train"]["dog"]["enemy"]["chaser"] = [f"sentence number {number}" for number in range(2**16)]
    corpus = Corpus(documents)
    assert corpus.id_dtype == np.int32 and corpus.words.dtype == np.int32


def test_words_of_sentences_are_numbered_and_padded(documents):
    documents["train"]["dog"]["enemy"]["chaser"] = ["The dog, it's coming!", "a \u201cdog\u201d"]
    corpus = Corpus(documents)
    for number in corpus.cell("train", ENTITIES.index("dog"), ENEMY, 0):
        words = [corpus.vocabulary[word] for word in corpus.words[number] if word]
        assert words == split_words(corpus.sentences[number])
    assert split_words("The dog, it's coming!") == ["the", "dog", ",", "it's", "coming", "!"]
    assert corpus.vocabulary[0] == "<pad>" and len(set(corpus.vocabulary)) == len(corpus.vocabulary)


def test_a_corpus_can_be_thinned(documents):
    full = documents["train"]["dog"]["enemy"]["chaser"] = [f"number {number:03}" for number in range(200)]
    corpora = [Corpus(documents, max_per_cell=5), Corpus(documents, max_per_cell=50)]
    few, more = (
        [corpus.sentences[number] for number in corpus.cell("train", ENTITIES.index("dog"), ENEMY, 0)]
        for corpus in corpora
    )
    assert (len(few), len(more)) == (5, 50) and set(few) | set(more) < set(full)
    assert [int(sentence[-3:]) // 40 for sentence in few] == [0, 1, 2, 3, 4]
    assert more == sorted(set(more))
    corpus = corpora[0]
    assert len(corpus.cell("train", ENTITIES.index("dog"), ENEMY, 1)) == 2


@pytest.mark.long
def test_thinned_cells_of_our_corpus_keep_all_words():
    corpus, full = build_corpus("own", False, 27)[0], build_corpus("own", False, None)[0]
    assert set(corpus.vocabulary) == set(full.vocabulary)
    for split in TEXT_SPLITS:
        for entity, role, kind in np.argwhere(corpus.counts(split)[..., :STILL]):
            cell = corpus.cell(split, entity, role, kind)
            found = {word for number in cell for word in split_words(corpus.sentences[number])}
            blanks = ENTITY_WORDS[ENTITIES[entity]] + ROLE_WORDS[ROLES[role]] + ADJECTIVES[ROLES[role]]
            assert len(cell) == 27 and set(blanks) <= found


FAULTS = [
    (lambda d: d.pop("dog"), "train: .*'dog'"),
    (lambda d: d.update(cat={}), "train: .*'cat'"),
    (lambda d: d.update(dog=[]), "train > dog:"),
    (lambda d: d["dog"].update(friend={}), "train > dog: .*'friend'"),
    (lambda d: d["dog"].pop("goal"), "train > dog: .*'goal'"),
    (lambda d: d["dog"]["enemy"].pop("unknown"), "train > dog > enemy: .*'unknown'"),
    (lambda d: d["dog"]["enemy"].update(flying=[]), "train > dog > enemy: .*'flying'"),
    (lambda d: d["dog"]["enemy"].update(chaser="x"), "train > dog > enemy > chaser:"),
    (lambda d: d["dog"]["enemy"].update(chaser=["a", 3]), r"train > dog > enemy > chaser\[1\]:"),
    (lambda d: d["dog"]["enemy"].update(chaser=["a", " "]), r"train > dog > enemy > chaser\[1\]:"),
    (
        lambda d: d["dog"]["enemy"].update(chaser=["train bird goal chaser 0"]),
        r"train > bird > goal > chaser\[0\]: .*train > dog > enemy > chaser\[0\]",
    ),
]


@pytest.mark.parametrize(("spoil", "sentence"), FAULTS)
def test_faults_are_told_with_their_key_path(tmp_path, documents, spoil, sentence):
    spoil(documents["train"])
    with pytest.raises(CorpusError, match=sentence):
        Corpus(documents)
    save_documents(tmp_path, documents)
    with pytest.raises(CorpusError, match=f"texts in {tmp_path}: ({sentence})"):
        build_corpus(str(tmp_path), False, None)


def test_a_sentence_in_two_splits_is_refused(documents):
    documents["test"]["dog"]["enemy"]["chaser"] = ["train dog goal fleeing 1"]
    with pytest.raises(CorpusError, match=r"test > dog > enemy > chaser\[0\].*train > dog > goal > fleeing\[1\]"):
        Corpus(documents)


def test_documents_are_read_as_they_were_written(tmp_path, documents):
    save_documents(tmp_path, documents)
    assert load_documents(tmp_path) == documents
    world = Messenger(2, texts=str(tmp_path))
    assert world.sentences == Corpus(documents).sentences


def test_a_broken_file_is_named(tmp_path, documents):
    save_documents(tmp_path, documents)
    (tmp_path / "text_val.json").write_text("{")
    with pytest.raises(CorpusError, match=r"text_val\.json"):
        load_documents(tmp_path)


def test_misread_quotes_are_kept_unless_they_are_to_be_repaired(tmp_path, documents):
    misread = "it\u00e2\u20ac\u2122s the enemy"
    documents["val"]["dog"]["enemy"]["chaser"] = [misread]
    save_documents(tmp_path, documents)
    for repair, found in ((False, misread), (True, "it's the enemy")):
        assert load_documents(tmp_path, repair)["val"]["dog"]["enemy"]["chaser"] == [found]


def test_the_published_corpus_is_looked_for_where_the_environment_says_now(tmp_path, documents, monkeypatch):
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    with pytest.raises(CorpusError, match=FOLDER_VARIABLE):
        Messenger(texts="published")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("one", "other"):
        documents["train"]["dog"]["enemy"]["chaser"] = [f"the dog of {name} corpus."]
        (tmp_path / name).mkdir()
        save_documents(tmp_path / name, documents)
        monkeypatch.setenv(FOLDER_VARIABLE, f"~/{name}")
        assert Messenger(texts="published").sentences == Corpus(documents).sentences
    monkeypatch.setenv(FOLDER_VARIABLE, "~/neither")
    with pytest.raises(CorpusError, match=f"'~/neither' in {FOLDER_VARIABLE}"):
        Messenger(texts="published")


def test_a_sentence_that_would_take_too_much_room_is_named(documents):
    documents["test"]["dog"]["enemy"]["chaser"][0] = "dog " * 1000
    with pytest.raises(CorpusError, match=r"test > dog > enemy > chaser\[0\]: .*4,000"):
        Corpus(documents)


def test_games_beside_the_texts_are_used(tmp_path, documents):
    save_documents(tmp_path, documents)
    names = {
        name: [[ENTITIES[e] for e in game] for game in games[:1].tolist()] for name, games in games_by_rule().items()
    }
    (tmp_path / "games.json").write_text(json.dumps(names))
    world = Messenger(50, texts=str(tmp_path), split="val")
    world.reset(0)
    assert len(np.unique(world.state["described"], axis=0)) == 1
    broken = copy.deepcopy(names) | {"val": "none"}
    other = tmp_path / "other"
    other.mkdir()
    save_documents(other, documents)
    (other / "games.json").write_text(json.dumps(broken))
    with pytest.raises(GamesError, match="val:"):
        Messenger(texts=str(other))


def test_our_corpus_has_27_sentences_for_each_template_and_fills_what_the_games_need():
    corpus, _ = build_corpus("own", False, None)
    shapes = {"train": (13, 12, 14, 5), "val": (6, 6, 5, 2), "test": (6, 5, 6, 2)}
    for split in TEXT_SPLITS:
        counts = corpus.counts(split)[..., :STILL]
        assert {tuple(row) for row in counts.reshape(-1, STILL).tolist()} == {
            (0, 0, 0, 0),
            tuple(27 * count for count in shapes[split]),
            (*(27 * count for count in shapes[split][:UNKNOWN]), 0),
        }
        known = {tuple(pair) for pair in np.argwhere(counts[..., UNKNOWN]).tolist()}
        assert known == pairs_of_games(games_by_rule(), split)
    assert len(corpus.sentences) == 59_724


@needs_published
def test_the_published_corpus_loads_and_ours_fills_the_same_cells():
    published, ours = build_corpus("published", False, None)[0], build_corpus("own", False, None)[0]
    assert [published.counts(split)[..., :STILL].sum() for split in TEXT_SPLITS] == [2863, 1227, 1226]
    for split in TEXT_SPLITS:
        np.testing.assert_array_equal(published.counts(split) > 0, ours.counts(split) > 0)


@needs_published
def test_fifteen_published_sentences_have_misread_quotes():
    verbatim, repaired = (build_corpus("published", repair, None)[0].sentences for repair in (False, True))
    changed = [(one, other) for one, other in zip(verbatim, repaired, strict=True) if one != other]
    assert len(changed) == 15 and all("\u20ac" in one and "\u20ac" not in other for one, other in changed)


def test_every_sentence_is_known_to_be_about_what_its_cell_says():
    corpus, _ = build_corpus("own", False, 2)
    assert len(corpus.about) == len(corpus.sentences)
    for sentence, (entity, role, _) in zip(corpus.sentences, corpus.about, strict=True):
        assert set(split_words(sentence)) & set(ENTITY_WORDS[ENTITIES[entity]]), sentence
        assert set(split_words(sentence)) & set(ROLE_WORDS[ROLES[role]]), sentence
    for split in TEXT_SPLITS:
        for place in np.ndindex(len(ENTITIES), len(ROLES), len(MOVEMENTS)):
            assert (corpus.about[corpus.cell(split, *place)] == place).all()
