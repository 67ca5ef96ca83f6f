"""Notes on a run in the captions of its tables: pretrained models, verdicts, changed flags, trials without results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tune_experiments.results.main_comparison import MainComparison, with_verdicts
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperTable, with_note

MODELS = "pretrained_models"
"""Key of a session in the manifest: the pretrained weights that it trains with."""
CHANGED = "changed"
"""Key of a session in the manifest: changed flags, with their former values."""


def describe_models(sessions: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Each pretrained model of a run's sessions once: its name, with its revision where that is known."""
    models = [model for session in sessions for model in session.get(MODELS, ())]
    return tuple(dict.fromkeys(_described(model) for model in models))


def with_model_notes(tables: Sequence[PaperTable], models: Sequence[str]) -> list[PaperTable]:
    """The tables, with captions that name these models."""
    return with_note(tables, f"Pretrained model: {', '.join(models)}." if models else "")


def changed_flags(sessions: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Flags that changed between the sessions of a run, each once, with their former values."""
    lists = (session.get(CHANGED) for session in sessions)
    return tuple(dict.fromkeys(str(flag) for one in lists if isinstance(one, list) for flag in one))


def with_run_notes(
    tables: Sequence[PaperTable],
    results: Sequence[Result],
    comparisons: Sequence[MainComparison],
    models: Sequence[str],
    changed: Sequence[str],
    untested: Sequence[str],
) -> list[PaperTable]:
    """The tables of a run, with its models, verdicts, changed flags and trials without results in their captions."""
    tables = with_verdicts(with_model_notes(tables, models), comparisons, results)
    tables = with_note(tables, f"Continued with other flags: {'; '.join(changed)}." if changed else "")
    return with_note(tables, f"Not tested, and so left out: {', '.join(untested)}." if untested else "")


def _described(model: Mapping[str, str | None]) -> str:
    revision = model.get("revision")
    return f"{model['name']} ({revision})" if revision else str(model["name"])
