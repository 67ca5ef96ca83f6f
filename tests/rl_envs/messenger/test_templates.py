"""Our sentences are what EnDi's appendix counts, and tell no more than they should."""

import re
from string import Formatter

from rl_envs.messenger.corpus import split_words
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


def own_words(text):
    """Words of a template outside its blanks."""
    return [word for word in split_words(text.format(entity="", role="", adjective="")) if word.isalpha()]


def test_a_template_has_each_of_its_three_blanks_once():
    for *_, text in EVERY:
        blanks = [name for _, name, *_ in Formatter().parse(text) if name is not None]
        assert sorted(blanks) == sorted(BLANKS), text


def test_the_words_of_blanks_never_occur_outside_them():
    filling = {word for words in (ENTITY_WORDS, ROLE_WORDS, ADJECTIVES) for three in words.values() for word in three}
    assert len(filling) == 3 * (len(ENTITIES) + 2 * len(ROLES))
    for *_, text in EVERY:
        assert filling.isdisjoint(own_words(text)), text


def test_sentences_of_unknown_movement_say_nothing_of_movement_and_all_others_do():
    for _, movement, text in EVERY:
        tells = [word for word in own_words(text) if MOTION.match(word)] or "not" in own_words(text)
        assert bool(tells) == (movement != "unknown"), text
