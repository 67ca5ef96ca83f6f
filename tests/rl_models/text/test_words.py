"""Built-in word vectors: words of the training sentences are known, others are left out, padding is ignored."""

import torch

from rl_models.text.words import Vocabulary, WordEncoder, split_words


def test_words_are_lower_case_and_without_marks():
    found = split_words("The dog's \"Memo\", 2nd try; it's NOT.")
    assert found == ["the", "dog's", "memo", "2nd", "try", "it's", "not"]
    assert split_words("Das läuft_über 2 Brücken, мост.") == ["das", "läuft", "über", "2", "brücken", "мост"]


def test_a_vocabulary_does_not_depend_on_the_order_of_sentences():
    sentences = ["the dog runs", "a cat is the enemy"]
    assert Vocabulary.of(sentences) == Vocabulary.of(reversed(sentences))
    assert len(Vocabulary.of(sentences)) == 8


def test_unknown_words_are_left_out():
    vocabulary = Vocabulary.of(["the dog is here"])
    tokens = vocabulary.tokens(["the sly dog", "the dog", "unheard of", "here, the dog is."])
    assert tokens.shape == (4, 4)
    assert tokens[0].tolist() == tokens[1].tolist()
    assert not tokens[2].any()
    assert [vocabulary.words[token - 1] for token in tokens[3]] == ["here", "the", "dog", "is"]


def test_sentences_become_their_words_vectors_whatever_stands_around_them():
    sentences = ["the dog is here", "dog", "unheard of"]
    encoder = WordEncoder(sentences, Vocabulary.of(sentences[:2]), 5)
    states, lengths = encoder(torch.tensor([1, 0, 1, 2], dtype=torch.int16))
    assert lengths.tolist() == [1, 4, 1, 1]
    assert (encoder.num_sentences, encoder.length, encoder.features) == (3, 4, 5)
    torch.testing.assert_close(states[0, 0], states[1, 1])
    torch.testing.assert_close(states[0], states[2])
    assert not states[3].any()


def test_only_as_many_tokens_are_laid_out_as_the_longest_of_the_sentences_has():
    encoder = WordEncoder(["one two three", "one", "one two"], Vocabulary.of(["one two three"]), 2)
    assert encoder(torch.tensor([1, 2]))[0].shape == (2, 2, 2)
