"""The stages and evaluations of multi-agent RTFM as arguments of the world (EnDi, 2023, sections 5.1 and 5.3).

Each stage adds one difficulty to the one before. The single-agent papers use the same flags one by one.
"""

from typing import Any

TRAINING_SIZE, LARGE_SIZE = 8, 10

_S1: dict[str, Any] = {"size": TRAINING_SIZE, "distractor_monster": False, "distractor_item": False}
_S2: dict[str, Any] = {"size": TRAINING_SIZE}
_S3 = _S2 | {"dyna": True}
_S4 = _S3 | {"group": True}
_S5 = _S4 | {"nl": True}

STAGES: dict[str, dict[str, Any]] = {"S1": _S1, "S2": _S2, "S3": _S3, "S4": _S4, "S5": _S5}
"""S1: N targets with their items, static monsters, one name per team and element, plain text. S2: with distractors. S3:
monsters move. S4: several names per team and element. S5: natural language."""

EVALUATIONS: dict[str, dict[str, Any]] = {
    "train": {},
    "eval": {"split": "test"},
    "eval_new": {"split": "test", "names": "new"},
    "eval_10x10": {"split": "test", "size": LARGE_SIZE},
}
"""Arguments of the evaluations, merged over a stage's: unseen assignments, with unseen words, in a larger room."""
