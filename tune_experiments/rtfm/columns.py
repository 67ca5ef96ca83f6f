"""Names of tests in RTFM's experiments: splits, columns of the tables, reference players."""

from __future__ import annotations

from tune_experiments.experiment.plan import RANDOM

TEST, UNSEEN, SHUFFLED = "test", "eval", "shuffled"
"""The split of the tests; the column with the right documents; and the column with wrong ones, also the condition of
these tests."""
NEW_NAMES, LARGER = "eval_new", "larger"
"""Columns of our own experiment: words that are not in training, and larger rooms."""
SPLIT_NAMES = {
    "train": "train",
    "valid": "valid",
    UNSEEN: "unseen",
    NEW_NAMES: "new_names",
    LARGER: "larger",
}
"""First word of a column -> split in results.jsonl."""
REFERENCES = (RANDOM, "without reading", "optimum")
"""Reference players: uniform moves; for letters, the optimum without and with reading."""


def get_split(world: str) -> str:
    """Split in results.jsonl of a test environment."""
    return SPLIT_NAMES[world.rpartition("_")[0]]


def column(split: str, size: int) -> str:
    """Name of a test in a room of some size."""
    return f"{split}_{size}x{size}"
