"""Base of the experiments with a planner in their tests."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tune_experiments.core.drawing import Drawn, attempt
from tune_experiments.core.lazy_module import LazyModule
from tune_experiments.experiment.plan import Tests
from tune_experiments.launch.experiment import Experiment
from tune_experiments.sama.planner_config import Planned, as_loaded
from tune_experiments.sama.planning_metrics import write_transcripts

if TYPE_CHECKING:
    from rl_models.policy import TeamPolicy
    from tune_experiments.play.trial_figures import Trials
    from tune_experiments.sama import planning
else:
    planning = LazyModule("tune_experiments.sama.planning")


class PlannedExperiment(Experiment[Planned]):
    """One endpoint for all trials, checked before the run; tests read the manual of their trial."""

    def evaluate(self, config: Planned, method: str, policy: TeamPolicy) -> Tests:
        """Tests of a team without a trial's folder."""
        return self.evaluate_trial(config, method, policy, None)

    def evaluate_trial(self, config: Planned, method: str, policy: TeamPolicy, trial_folder: Path | None) -> Tests:
        """Whole episodes with the planner."""
        raise NotImplementedError

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
