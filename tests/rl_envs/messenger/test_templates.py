"""Our sentences are what EnDi's appendix counts, and tell no more than they should."""

import re
from string import Formatter

import pytest

from rl_envs.messenger.corpus import TEXT_SPLITS, split_words
from rl_envs.messenger.corpus_file import corpus_of
from rl_envs.messenger.own_corpus import ADJECTIVES, ENTITY_WORDS, ROLE_WORDS, TEMPLATES
from rl_envs.messenger.symbols import ENTITIES, MOVEMENTS, ROLES

EVERY = [
    (split, movement, text) for split in TEMPLATES for movement in MOVEMENTS for text in TEMPLATES[split][movement]
]
BLANKS = {"entity", "role", "adjective"}
MOTION = re.compile(
    r"mov|motion|follow|chas|run|rush|rac|flee|fle|escap|away|stay|still|stand|fixed|rest|sit|wait|com(e|ing)|clos(e|ing)|near|"
    r"approach|toward|after|trail|track|hunt|catch|distance|retreat|corner|off|place|spot|stationary|frozen|budge|stuck|"
    r"idle|rooted|parked|creep|shadow|charg|pounc|stalk|dodg|evad|slip|bolt|linger|put|leav|avoid|heel|pursu|heading|draw|hold|position|back"
)
MAX_WORD_PIECES = 34


def own_words(text):
    """Words of a template outside its blanks."""
    return [word for word in split_words(text.format(entity="", role="", adjective="")) if word.isalpha()]


def test_there_are_82_templates_split_by_movement():
    counts = {split: [len(TEMPLATES[split][movement]) for movement in MOVEMENTS] for split in TEMPLATES}
    assert counts == {"train": [13, 12, 14, 5], "val": [6, 6, 5, 2], "test": [6, 5, 6, 2]}
    assert len({text for *_, text in EVERY}) == len(EVERY) == 82


@pytest.mark.parametrize("text", [text for *_, text in EVERY])
def test_a_template_has_each_of_its_three_blanks_once_and_ends_properly(text):
    blanks = [name for _, name, *_ in Formatter().parse(text) if name is not None]
    assert sorted(blanks) == sorted(BLANKS)
    assert text == text.lower() == text.strip() and text.endswith(".") and "  " not in text


@pytest.mark.parametrize(("words", "names"), [(ENTITY_WORDS, ENTITIES), (ROLE_WORDS, ROLES), (ADJECTIVES, ROLES)])
def test_every_entity_role_and_adjective_has_three_words_of_its_own(words, names):
    assert tuple(words) == tuple(names) and {len(three) for three in words.values()} == {3}
    every = [word for three in words.values() for word in three]
    assert len(set(every)) == len(every)


def test_the_words_of_blanks_never_occur_outside_them():
    filling = {word for words in (ENTITY_WORDS, ROLE_WORDS, ADJECTIVES) for three in words.values() for word in three}
    assert len(filling) == 3 * (len(ENTITIES) + 2 * len(ROLES))
    for *_, text in EVERY:
        assert filling.isdisjoint(own_words(text)), text


def test_no_article_before_a_blank_depends_on_what_fills_it():
    assert not [text for *_, text in EVERY if re.search(r"\b(a|an) \{", text)]


def test_sentences_of_unknown_movement_say_nothing_of_movement_and_all_others_do():
    for _, movement, text in EVERY:
        tells = [word for word in own_words(text) if MOTION.match(word)] or "not" in own_words(text)
        assert bool(tells) == (movement != "unknown"), text


def test_no_two_templates_differ_by_their_blanks_alone():
    bare = [(*own_words(text), text.index("{entity}") < text.index("{role}")) for *_, text in EVERY]
    assert len(set(bare)) == len(bare)


def test_held_out_splits_have_words_of_their_own_but_share_most_with_training():
    words = {
        split: {word for one, _, text in EVERY if one == split for word in own_words(text)} for split in TEXT_SPLITS
    }
    for split in ("val", "test"):
        new = words[split] - words["train"]
        assert 0.3 < len(new) / len(words[split]) < 0.6
    assert words["test"] - words["train"] - words["val"]


def test_sentences_are_as_long_as_the_published_ones():
    lengths = [len([word for word in split_words(sentence) if word.isalpha()]) for sentence in sentences_of_own()]
    assert 8 < sum(lengths) / len(lengths) < 13
    # A word here has at most two word pieces, and marks count, too.
    assert 2 * max(lengths) + 2 <= MAX_WORD_PIECES


def sentences_of_own():
    return corpus_of("own", False, None)[0].sentences
