"""What is written down while cooks play: distinct pairs, answers that exist, no cooking lessons unless asked for."""

import numpy as np

from rl_envs.salad.corpus import listen
from rl_envs.salad.teacher import all_messages
from rl_envs.salad.world import Salad


def kitchens():
    return Salad(8, layout="B", kitchen="one_plate", recipes=["tomato", "onion"])


def test_messages_are_the_teachers_and_actions_are_phrases():
    corpus = listen(kitchens(), 40)
    assert len(corpus.messages) > 100 and len(corpus.actions) > 100
    assert {message for _, message in corpus.messages} <= set(all_messages())
    assert {phrase for _, phrase in corpus.actions} <= set(kitchens().phrases)
    assert all(prompt.endswith((" Alice tells Bob:", " Bob tells Alice:")) for prompt, _ in corpus.messages)
    assert all(" says: " in prompt and prompt.endswith(" should") for prompt, _ in corpus.actions)


def test_pairs_are_distinct_and_the_same_for_the_same_seed():
    first, again, other = (listen(kitchens(), 20, seed=seed) for seed in (1, 1, 2))
    assert first == again != other
    assert len(set(first.pairs())) == len(first.pairs()) == len(first.messages) + len(first.actions)


def test_actions_teach_how_to_cook_only_when_asked_to():
    def spread(corpus):
        answers = {}
        for prompt, phrase in corpus.actions:
            answers.setdefault(prompt, set()).add(phrase)
        return np.mean([len(phrases) for phrases in answers.values()])

    shown, any_legal = (listen(kitchens(), 60, error=0.0, sense=sense) for sense in (1.0, 0.0))
    assert spread(shown) < 1.2 < spread(any_legal)
