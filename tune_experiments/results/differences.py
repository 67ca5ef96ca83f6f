"""Differences of two configurations in words, with which an experiment states its deviations from its paper.

This file must not know about any experiment.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tune_experiments.core.config_json import DataclassInstance
from tune_experiments.core.config_path import value_at


def differences(
    config: DataclassInstance, reference: DataclassInstance, names: Mapping[str, str], whose: str = "the paper has"
) -> dict[str, str]:
    """A sentence for each field in which a configuration is not as its reference.

    Args:
        config: ours.
        reference: the same kind with the paper's values; a field that it does not have is passed over.
        names: dotted path -> what the field is called.
        whose: what stands before the reference's value.

    Returns:
        path -> sentence, in the order of the names.
    """
    sentences = {}
    for path, name in names.items():
        if _has(reference, path) and (ours := value_at(config, path)) != (theirs := value_at(reference, path)):
            sentences[path] = f"{name}: {in_words(ours)}, {whose} {in_words(theirs)}"
    return sentences


def in_words(value: Any) -> str:
    """A value as a reader would write it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else str(value)


def _has(config: object, path: str) -> bool:
    group, _, field = path.rpartition(".")
    return hasattr(value_at(config, group) if group else config, field)
