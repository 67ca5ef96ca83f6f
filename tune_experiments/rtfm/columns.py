"""Names of what is tested in RTFM's experiments: splits, columns of the tables, players beside the methods."""

from __future__ import annotations

from tune_experiments.experiment.plan import RANDOM

TEST, UNSEEN, SHUFFLED = "test", "eval", "shuffled"
"""The split of the worlds that are tested; the names of its columns with the right documents, and with wrong ones, also
the condition of these tests."""
NEW_NAMES, LARGER = "eval_new", "larger"
"""Columns of our own experiment: words that training never showed, and rooms larger than those of training."""
SPLIT_NAMES = {
    "train": "train",
    "valid": "valid",
    UNSEEN: "unseen",
    NEW_NAMES: "new_names",
    LARGER: "larger",
}
"""First word of a column -> split in results.jsonl."""
REFERENCES = (RANDOM, "without reading", "optimum")
"""Players beside the methods: uniform moves; for letters, the best that can be done without reading and with."""


def get_split(world: str) -> str:
    """Split in results.jsonl of what was measured in a world."""
    return SPLIT_NAMES[world.rpartition("_")[0]]


def column(split: str, size: int) -> str:
    """Name of what is measured in a room of some size."""
    return f"{split}_{size}x{size}"
