"""Captions that name the pretrained models of a run, from the manifest of its sessions."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from tune_experiments.results.tables import PaperTable

MODELS = "pretrained_models"
"""Key of a session in the manifest: the pretrained weights that it trains with."""


def describe_models(sessions: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Each pretrained model of a run's sessions once: its name, with its revision where that is known."""
    models = [model for session in sessions for model in session.get(MODELS, ())]
    return tuple(dict.fromkeys(_described(model) for model in models))


def with_model_notes(tables: Sequence[PaperTable], models: Sequence[str]) -> list[PaperTable]:
    """The tables, with captions that name these models."""
    note = f" Pretrained model: {', '.join(models)}." if models else ""
    return [dataclasses.replace(table, caption=table.caption + note) for table in tables]


def _described(model: Mapping[str, str | None]) -> str:
    revision = model.get("revision")
    return f"{model['name']} ({revision})" if revision else str(model["name"])
