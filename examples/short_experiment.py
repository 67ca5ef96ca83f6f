"""A whole experiment in 15 lines: SYNC against marginal policies in the corridor, with defaults for all else.

    python -m examples.short_experiment --seeds 0 1 2
    python -m examples.short_experiment --budget-env-steps 20000 --methods sync

Validation, the test of `--test-episodes` episodes, the table of all metrics, curves, videos and checkpoints follow from
`plan`. `corridor_experiment.py` shows what can be overridden.
"""

import sys
from functools import partial
from pathlib import Path

from examples.corridor import LENGTH
from examples.talking_network import TalkingConfig, talking_team
from rl_envs import make
from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.algorithms.ppo import Ppo
from tune_experiments import Experiment, ExperimentConfig, TrialPlan, main


class ShortExperiment(Experiment[ExperimentConfig]):
    """PPO with two methods."""

    name, caption = "short", "Two agents carry a sofa out of a corridor"
    presets = {"laptop": ExperimentConfig(methods=("sync", "marginal"))}

    def plan(self, config: ExperimentConfig, method: str, seed: int, trial_folder: Path | None = None) -> TrialPlan:
        """Environments, team and learner of a method."""
        return TrialPlan(
            make_world=partial(make, "examples.corridor:Corridor"),
            build_policy=partial(talking_team, TalkingConfig(), 3 if method == "sync" else 1, 2, LENGTH + 2, 3, seed),
            objective=Ppo(),
            optimiser=OptimiserSettings(),
            seed=seed,
            **config.plan_arguments(),
        )


EXPERIMENT = ShortExperiment()

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
