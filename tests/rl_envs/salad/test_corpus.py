"""Recorded prompts and answers: legal answers, scripted actions only on request, and messages that are followed."""

import numpy as np

from rl_envs.salad.corpus import collect_corpus
from rl_envs.salad.teacher import all_messages
from rl_envs.salad.world import Salad


def kitchens():
    return Salad(8, layout="B", kitchen="one_plate", recipes=["tomato", "onion"])


def test_messages_are_the_teachers_and_actions_are_phrases():
    corpus = collect_corpus(kitchens(), 40)
    assert len(corpus.messages) > 100 and len(corpus.actions) > 100
    assert {message for _, message in corpus.messages} <= set(all_messages())
    assert {phrase for _, phrase in corpus.actions} <= set(kitchens().phrases)
    assert all(prompt.endswith((" Alice tells Bob:", " Bob tells Alice:")) for prompt, _ in corpus.messages)
    assert all(prompt.endswith(" should") for prompt, _ in corpus.actions)


def test_each_decision_is_told_behind_a_message_and_in_silence():
    prompts = [prompt for prompt, _ in collect_corpus(kitchens(), 20).actions]
    assert all(" says: " in prompt for prompt in prompts[::2])
    assert not any(" says: " in prompt for prompt in prompts[1::2])


def test_the_same_seed_gives_the_same_pairs_and_messages_once():
    first, again, other = (collect_corpus(kitchens(), 20, seed=seed) for seed in (1, 1, 2))
    assert first == again != other
    assert len(set(first.messages)) == len(first.messages)
    assert len(set(first.actions)) < len(first.actions), "what happens often is there often"


def test_a_cook_that_follows_messages_fetches_what_was_asked_for():
    """Bob does not know the order; without messages he guesses."""

    def fetched_as_asked(follow_share):
        secret = Salad(8, layout="D", recipes=["tomato", "lettuce", "onion"], order_known_by="Alice")
        heard = [
            pair
            for pair in collect_corpus(secret, 40, error=0.0, expert_share=1.0, follow_share=follow_share).actions
            if "Bob says" not in pair[0]
        ]
        asked = [
            (food, phrase)
            for prompt, phrase in heard
            for food in ("tomato", "lettuce", "onion")
            if f"Bob, please bring the {food}" in prompt and phrase.startswith("fetch the ")
        ]
        return np.mean([phrase.endswith(food) for food, phrase in asked])

    assert fetched_as_asked(0.0) < 0.6 < 0.95 < fetched_as_asked(1.0)


def test_actions_teach_how_to_cook_only_when_asked_to():
    def spread(corpus):
        answers = {}
        for prompt, phrase in corpus.actions:
            answers.setdefault(prompt, set()).add(phrase)
        return np.mean([len(phrases) for phrases in answers.values()])

    shown, any_legal = (collect_corpus(kitchens(), 60, error=0.0, expert_share=share) for share in (1.0, 0.0))
    assert spread(shown) < 1.2 < spread(any_legal)
