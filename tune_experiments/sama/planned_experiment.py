"""Base of the experiments with a planner in their tests, and the planner's part of their results."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rl_models.planners.rounds import PlanningLoop
from tune_experiments.core.drawing import Drawn, attempt
from tune_experiments.core.files import read_arrays, write_atomically
from tune_experiments.core.lazy_module import LazyModule
from tune_experiments.experiment.plan import Episodes, Tests
from tune_experiments.launch.experiment import Experiment
from tune_experiments.results.rows import Result
from tune_experiments.sama.planner_config import RULES, Planned, PlannerConfig, as_loaded

if TYPE_CHECKING:
    from rl_models.policy import TeamPolicy
    from tune_experiments.play.trial_figures import Trials
    from tune_experiments.sama import planning
else:
    planning = LazyModule("tune_experiments.sama.planning")


TRANSCRIPT = "_transcript"
"""Key of a test's transcript, one text; stored with the results."""
QUESTIONS, BY_RULE = "questions", "answered_by_rule"
"""Metrics of a test, one number of all its episodes: questions to the planner an episode, and the share of them that
rules answered and no language model."""

MODEL_COSTS = ("calls", "tokens", "refused", "recorded")
"""Metrics of a test with a language model, per episode: calls that were sent, repeated ones included; tokens that they
read and wrote; rejected replies; outcomes without a call: answers of a record, or that it holds none."""


def planning_metrics(loop: PlanningLoop, config: PlannerConfig, episodes: int) -> Episodes:
    """The transcript, `QUESTIONS` and `BY_RULE` of a test with a planning loop; warns about answers by rule."""
    counts = loop.question_counts
    planning.warn_about_fallbacks(counts, config)
    by_rule, costs = 1.0, Episodes()
    if config.planner not in RULES:
        by_rule = counts["fallback"] / max(1, counts["asked"])
        calls = counts["answered"] + counts["rejected"] + counts["failed"] - counts["recorded"]
        tokens = counts["prompt_tokens"] + counts["completion_tokens"]
        spent = (calls, tokens, counts["rejected"], counts["recorded"])
        costs = {name: np.array([number / episodes]) for name, number in zip(MODEL_COSTS, spent, strict=True)}
    return costs | {
        TRANSCRIPT: np.array(format_transcript(loop)),
        QUESTIONS: np.array([counts["asked"] / episodes]),
        BY_RULE: np.array([by_rule]),
    }


def planner_note(lines: Sequence[Result], by_hand: str, ruled: Sequence[str], unit: str) -> str:
    """Sentence on the planner of tests and its questions; the `ruled` methods or conditions may use rules alone."""
    asked = [line.value for line in lines if line.metric == QUESTIONS]
    by_rule = [line for line in lines if line.metric == BY_RULE]
    if not asked or not by_rule:
        return ""
    questions = f"{min(asked):.0f} to {max(asked):.0f} questions {unit}."
    with_model = {line.method for line in lines if line.metric == MODEL_COSTS[0]}
    shares = [100 * line.value for line in by_rule if line.method in with_model]
    if not shares:
        return f"{by_hand} {questions}"
    without = [line.method for line in by_rule if line.method not in with_model]
    others = ", ".join(f"`{name}`" for name in ruled if any(name in method for method in without))
    return (
        f"Planner: a language model, except in {others or 'no method'}; rules written by hand answered "
        f"{min(shares):.1f} to {max(shares):.1f} % of the questions. {questions}"
    )


def format_transcript(loop: PlanningLoop) -> str:
    """Every call, goal and reflection in Markdown, with totals at the top."""
    sums = ", ".join(f"{name} {number}" for name, number in loop.counts.items())
    calls = ", ".join(f"{how} {number}" for how, number in loop.question_counts.items())
    title, _, rest = loop.planner.caller.transcript.text.partition("\n")
    return f"{title}\n\nRounds: {sums}.\n\nQuestions: {calls}.\n{rest}"


def write_transcripts(out: Path, trials: Trials) -> Iterable[Path]:
    """Write the transcripts in the trials' folders as Markdown."""
    from tune_experiments.run.final_evaluation import figure_data_files

    for method, seeds in trials.items():
        for seed, folder in sorted(seeds.items()):
            for name, path in figure_data_files(folder).items():
                if text := str(read_arrays(path).get(TRANSCRIPT, "")):
                    yield write_transcript(out, method, seed, name, text)


def write_transcript(out: Path, method: str, seed: int, test: str, text: str) -> Path:
    """Write the transcript of one test of a trial."""
    path = out / f"transcripts/{method}-seed{seed}/{test.replace(',', '')}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text)
    return path


class PlannedExperiment(Experiment[Planned]):
    """One endpoint for all trials, checked before the run; tests read the manual of their trial."""

    def evaluate(self, config: Planned, method: str, policy: TeamPolicy) -> Tests:
        """Tests of a team without a trial's folder."""
        return self.evaluate_trial(config, method, policy, None)

    def as_loaded(self, config: Planned) -> Planned:
        """See `planner_config.as_loaded`."""
        return as_loaded(config)

    def check(self, config: Planned) -> None:
        """Check the planner."""
        planning.check_planner(config)

    def figures(self, run_folder: Path, trials: Trials) -> Sequence[Drawn]:
        """The figures of the base class, and the planner's transcripts."""
        transcripts = attempt("transcripts", lambda: write_transcripts(run_folder, trials))
        return [*super().figures(run_folder, trials), *transcripts]

    def shared(self, config: Planned) -> contextlib.AbstractContextManager[None]:
        """One endpoint for all trials of a run."""
        return planning.shared_endpoint(config)
