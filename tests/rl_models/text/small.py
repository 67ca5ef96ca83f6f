"""A small BERT with its tokenizer in a folder of the form that the hub uses."""

import torch
from transformers import BertConfig, BertModel, BertTokenizerFast

SENTENCES = (
    "the dog is the enemy.",
    "a message came with the jet",
    "run",
    "the goal is the orb, and it never moves.",
    "the dog runs.",
)
WORDS = ("the", "dog", "is", "enemy", "a", "message", "came", "with", "jet", "run", "goal", "orb", "and", "it", "never")
PIECES = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, "move", "##s", ".", ",")


def save_bert(folder, seed=0, width=16, positions=24, more_words=()):
    """Write config, weights and tokenizer; returns the folder's name."""
    pieces = tuple(dict.fromkeys((*PIECES, *more_words)))
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = BertTokenizerFast(vocab={piece: number for number, piece in enumerate(pieces)})
    assert len(tokenizer) == len(pieces), "it has ignored the vocabulary, and every word would be [UNK]"
    tokenizer.save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(pieces),
        hidden_size=width,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=2 * width,
        max_position_embeddings=positions,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        BertModel(config).save_pretrained(folder)
    return str(folder)
