"""Deviations of a run from the published agents that no flag shows, one sentence each."""

from __future__ import annotations

from tune_experiments.verco.config import VercoConfig
from tune_experiments.verco.trials import METHODS

_READ = (
    "the small model was trained on scripted cooks in generated kitchens, and the tested kitchens are held "
    "out as wholes; the paper's model was trained on the internet, without texts for this game"
)


def deviation_notes(config: VercoConfig) -> list[str]:
    """Deviations from the base method; the paper states no constants of its own."""
    notes = [
        "advantages are standardised over the decisions of an update, the base method's over 4 at a time; one norm "
        "clips the gradients of actor and critic, each has its own there",
        "actions without effect are illegal, in the base method all are legal; a food is rewarded once an episode",
    ]
    rows = [METHODS[method] for method in config.methods if method in METHODS]
    if any(row.has_warm_start for row in rows) and config.teacher == "scripted":
        notes.append("the teacher is scripted, the paper's is GPT-4")
    if any(row.has_language_model for row in rows) and not config.model:
        notes.append(_READ)
    return notes
