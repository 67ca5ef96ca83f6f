"""Records of the planner in a test: number of questions, share answered by rules, and transcript."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rl_models.planners.rounds import PlanningLoop
from tune_experiments.core.files import read_arrays, write_atomically
from tune_experiments.experiment.plan import Episodes
from tune_experiments.results.rows import Result
from tune_experiments.sama.planner_config import RULES, PlannerConfig

if TYPE_CHECKING:
    from tune_experiments.play.trial_figures import Trials

TRANSCRIPT = "_transcript"
"""Key of a test's transcript, one text; stored with the results."""
QUESTIONS, BY_RULE = "questions", "answered_by_rule"
"""Metrics of a test, one number of all its episodes: questions to the planner an episode, and the share of them that
rules answered and no language model."""

MODEL_COSTS = ("calls", "tokens", "refused")
"""Metrics of a test with a language model, per episode: calls, repeated ones included;
tokens read and written; rejected replies."""


def planning_metrics(loop: PlanningLoop, config: PlannerConfig, episodes: int) -> Episodes:
    """The transcript, `QUESTIONS` and `BY_RULE` of a test with a planning loop."""
    counts = loop.question_counts
    by_rule, costs = 1.0, Episodes()
    if config.planner not in RULES:
        by_rule = counts["fallback"] / max(1, counts["asked"])
        calls = counts["answered"] + counts["rejected"] + counts["failed"]
        spent = (calls, counts["prompt_tokens"] + counts["completion_tokens"], counts["rejected"])
        costs = {name: np.array([number / episodes]) for name, number in zip(MODEL_COSTS, spent, strict=True)}
    return costs | {
        TRANSCRIPT: np.array(format_transcript(loop)),
        QUESTIONS: np.array([counts["asked"] / episodes]),
        BY_RULE: np.array([by_rule]),
    }


def planner_note(lines: Sequence[Result], by_hand: str, ruled: Sequence[str], unit: str) -> str:
    """Sentence on the planner of tests and its questions; the `ruled` methods or conditions always use rules."""
    asked = [line.value for line in lines if line.metric == QUESTIONS]
    by_rule = [line for line in lines if line.metric == BY_RULE]
    if not asked or not by_rule:
        return ""
    questions = f"{min(asked):.0f} to {max(asked):.0f} questions {unit}."
    shares = [100 * line.value for line in by_rule if not any(name in line.method for name in ruled)]
    if min(line.value for line in by_rule) == 1.0:
        return f"{by_hand} {questions}"
    others = ", ".join(f"`{name}`" for name in ruled if any(name in line.method for line in lines))
    return (
        f"Planner: a language model, except in {others or 'no method'}; rules written by hand answered "
        f"{min(shares):.1f} to {max(shares):.1f} % of the questions. {questions}"
    )


def format_transcript(loop: PlanningLoop) -> str:
    """Every call, goal and reflection in Markdown, with totals at the top."""
    sums = ", ".join(f"{name} {number}" for name, number in vars(loop.counts).items())
    calls = ", ".join(f"{how} {number}" for how, number in loop.question_counts.items())
    title, _, rest = loop.planner.caller.transcript.text.partition("\n")
    return f"{title}\n\nRounds: {sums}.\n\nQuestions: {calls}.\n{rest}"


def write_transcripts(out: Path, trials: Trials) -> Iterable[Path]:
    """Write the transcripts in the trials' folders as Markdown."""
    from tune_experiments.run.final_evaluation import figure_data_files

    for method, seeds in trials.items():
        for seed, folder in sorted(seeds.items()):
            for name, path in figure_data_files(folder).items():
                text = str(read_arrays(path).get(TRANSCRIPT, ""))
                if text:
                    written = out / f"transcripts/{method}-seed{seed}/{name.replace(',', '')}.md"
                    written.parent.mkdir(parents=True, exist_ok=True)
                    write_atomically(written, text)
                    yield written
