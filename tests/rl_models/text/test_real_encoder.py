"""MiniLM as it is fetched: sentences that mean the same are nearer than others of the same form."""

import torch

from rl_models.text.pretrained import PretrainedEncoder


def test_minilm_knows_words_that_no_training_sentence_has(real_model):
    near, same, other = (
        states.mean(0)
        for states in PretrainedEncoder(real_model("minilm")).encode(
            ["the plane carries the message", "the aircraft holds the secret note", "the dog is a deadly enemy"]
        )
    )
    assert near.shape == (384,)
    assert torch.cosine_similarity(near, same, 0) > torch.cosine_similarity(near, other, 0) + 0.2
