"""Return, success and length of an episode: methods, ablations of messages, and baselines as rows."""

import dataclasses
from collections.abc import Sequence

from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperTable, make_table

COLUMNS = ("return", "success", "episode_length", "wrong_dishes")
DISTANCES = ("median_prompt_distance", "prompts_in_corpus", "prompts_met")
_NOTES = {
    "symbolic_imitation_ppo": "The env steps of symbolic_imitation_ppo include those of the small model's corpus, from "
    "which it learned the same experts' decisions; language models were trained on these rollouts besides their own "
    "env steps.",
    "base": "base is the language model without warm start and without PPO.",
    "lookup": "lookup has no network: it takes the answer of the nearest prompt in the small model's corpus.",
    "api": "api gives the answers of the endpoint or of the record; in docs/results/verco_api_record scripted cooks "
    "answered, and no model.",
} | dict.fromkeys(
    ("base_sum", "base_token", "base_word"),
    "base_sum, base_token and base_word are the language model without training and without messages: an action's "
    "score is the sum of its tokens' log-probabilities, or that sum divided by its tokens or its words.",
)
"""Method -> sentence below the tables that have it."""


def tables(results: Sequence[Result], caption: str) -> list[PaperTable]:
    """One table for each task that was tested, one by order if there are several, one of the costs of chat models."""
    from tune_experiments.verco.evaluation import OF_ORDER

    found = []
    for task in dict.fromkeys(line.world for line in results):
        mine = [line for line in results if line.world == task]
        found.append(_with_notes(_table(mine, f"{caption}: {task}", COLUMNS)))
        served = tuple(dict.fromkeys(line.metric for line in mine if line.metric.startswith(f"success{OF_ORDER}")))
        if served:
            found.append(_table(mine, f"{caption}: {task}, by order", served))
        if any(line.metric in DISTANCES for line in mine):
            apart = [line for line in mine if line.metric in DISTANCES]
            found.append(
                _table(apart, f"{caption}: {task}, distance of test prompts to the training corpus", DISTANCES)
            )
        spent = [line for line in mine if line.metric.startswith("chat_")]
        if spent:
            columns = tuple(dict.fromkeys(line.metric for line in spent))
            found.append(_table(spent, f"{caption}: {task}, chat models", columns))
    return found


def as_row(line: Result) -> Result:
    """A test in a condition as a row, named by team and condition."""
    return dataclasses.replace(line, method=f"{line.method} {line.condition}".strip(), condition="")


def _with_notes(table: PaperTable) -> PaperTable:
    labels = [label.split(" ")[0].rstrip(",") for label, _ in table.rows]
    notes = [note for method, note in _NOTES.items() if method in labels]
    return dataclasses.replace(table, caption=" ".join([table.caption, *dict.fromkeys(notes)]))


def _table(results: Sequence[Result], title: str, columns: Sequence[str]) -> PaperTable:
    from tune_experiments.verco.evaluation import ABLATIONS

    ablated_last = sorted(map(as_row, results), key=lambda line: any(ablation in line.method for ablation in ABLATIONS))
    return make_table(ablated_last, title, columns)
