"""SAMA's third game: two agents on a frozen lake with unobserved holes and targets (SAMA, appendix G.1, figure 14).

    python tune_experiments/sama_frozen_lake.py                              # laptop: 800,000 env steps a method
    python tune_experiments/sama_frozen_lake.py --map 8x8 --slippery --out runs/slippery
    python tune_experiments/sama_frozen_lake.py --map random-4x4 --map-seed 3 --seeds 0 1 2 --out runs/random
    python tune_experiments/sama_frozen_lake.py --methods walker --planner scored --model.name smollm2-135m-instruct
    python tune_experiments/sama_frozen_lake.py --preset smoke               # under 2 minutes, learns nothing

Good actions can only be found by trial and error, so a planner's common sense does not help; the figure shows this. The
team `sama` learns to go to its command's cell (commands are two numbers, and it memorises the holes); it is tested with
planners by rule: `blind` chooses far corners, `remembering` explores and avoids what has failed, `deps` and `plan4mc`
generate goals by their methods and decompose blindly, `random commands` are drawn, and `privileged` knows the map, a
check of the pipeline. Each is combined with the learned team and with a scripted `walker`. Another `--planner` is
tested too, blind and privileged. The team `mappo` learns the game without a planner: the control. Success means that
both agents are on targets.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rl_envs.core.metrics import COUNT, PROPORTION
from rl_envs.frozen_lake_spread.world import FrozenLakeSpread
from rl_models.networks.network_config import PartsConfig
from rl_models.rllib.workers import Workers
from tune_experiments.core.drawing import Drawn
from tune_experiments.core.lazy_module import LazyModule
from tune_experiments.experiment.plan import Tests, TrialPlan
from tune_experiments.launch.experiment import main
from tune_experiments.results.main_comparison import MainComparison
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperTable, make_table
from tune_experiments.sama.frozen_lake.config import LakeConfig
from tune_experiments.sama.planned_experiment import BY_RULE, MODEL_COSTS, QUESTIONS, PlannedExperiment

if TYPE_CHECKING:
    from rl_models.policy import TeamPolicy
    from tune_experiments.play.trial_figures import Trials
    from tune_experiments.sama.frozen_lake import trials as lake_trials
else:
    lake_trials = LazyModule("tune_experiments.sama.frozen_lake.trials")

LAPTOP = LakeConfig()
SMOKE = dataclasses.replace(
    LAPTOP,
    network=PartsConfig(hidden_sizes=(16,)),
    workers=Workers(worlds_per_runner=16, fragment_length=10),
    budget_env_steps=320,
    validate_every_env_steps=160,
    valid_episodes=8,
    checkpoint_every_env_steps=160,
    test_episodes=4,
)
PAPER = dataclasses.replace(LAPTOP, test_episodes=20)
"""The paper's 20 episodes; it gives no other constant."""
METRICS = ("success", "arrivals", "fell", "rounds", "undone_steps", *MODEL_COSTS, BY_RULE)


class SamaFrozenLake(PlannedExperiment[LakeConfig]):
    """Planners with and without a map, and a team that learns the game."""

    metric_ranges = (
        FrozenLakeSpread.metric_ranges
        | dict.fromkeys(("rounds", "undone_steps", QUESTIONS, *MODEL_COSTS), COUNT)
        | {BY_RULE: PROPORTION}
    )
    name = "sama_frozen_lake"
    caption = "Two-agent FrozenLake"
    is_greedy = True
    presets = {"smoke": SMOKE, "laptop": LAPTOP, "paper": PAPER}
    columns = {"success": "episode/success", "reached": "valid/reached"}

    def plan(self, config: LakeConfig, method: str, seed: int, trial_folder: Path | None = None) -> TrialPlan:
        """PPO."""
        return lake_trials.plan(config, method, seed)

    def evaluate_trial(self, config: LakeConfig, method: str, policy: TeamPolicy, trial_folder: Path | None) -> Tests:
        """Whole episodes with every planner, or without one."""
        return lake_trials.evaluate(config, method, policy, trial_folder)

    def figures(self, run_folder: Path, trials: Trials) -> Sequence[Drawn]:
        """Figures of teams that have a policy."""
        return super().figures(run_folder, _with_policies(trials))

    def page(self, run_folder: Path, trials: Trials) -> Sequence[Drawn]:
        """An episode of each team that has a policy."""
        return super().page(run_folder, _with_policies(trials))

    def main_comparisons(self, config: LakeConfig) -> Sequence[MainComparison]:
        """Learning the game against a planner that does not know the map."""
        pair = lake_trials.MAPPO, lake_trials.SAMA
        if not set(pair) <= set(config.methods):
            return ()
        blind = f"{lake_trials.PLANNERS[0]}{lake_trials.BY}learned"
        return (MainComparison(*pair, "success", lake_trials.GAME, against_condition=blind),)

    def evaluation_seeds(self, config: LakeConfig) -> Sequence[int]:
        """Seeds of validation and test."""
        return lake_trials.VALIDATION_SEED, lake_trials.TEST_SEED

    def tables(self, results: Sequence[Result]) -> Sequence[PaperTable]:
        """One row a planner and executor."""
        rows = [dataclasses.replace(line, method=line.condition or line.method, condition="") for line in results]
        return [make_table(rows, self.caption, METRICS)]

    def deviation_notes(self, config: LakeConfig) -> Sequence[str]:
        """Deviations from the paper."""
        others = "" if config.planner == "offline" else f" (beside them: {config.planner} {config.model.name})"
        planned = [
            f"planners are rules, not a language model{others}, and commands are two numbers, not a sentence",
            "an agent that has reached its sub-goal waits until the round is over; the game has no such action",
        ]
        ours = "the paper shows a map and gives no rules, size or horizon: these are ours"
        return [ours, *(planned if set(config.methods) - {lake_trials.MAPPO} else [])]

    def test_world(self, config: LakeConfig, num_worlds: int, method: str = "") -> FrozenLakeSpread:
        """Worlds in which the method, or the first one, learns."""
        return lake_trials.make_world(config, method or config.methods[0], num_worlds)


def _with_policies(trials: Trials) -> Trials:
    return {method: seeds for method, seeds in trials.items() if method != lake_trials.WALKER}


EXPERIMENT = SamaFrozenLake()

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
