"""SAMA's third game: two agents on a frozen lake whose holes and targets nobody sees (SAMA, appendix G.1, figure 14).

    python tune_experiments/sama_frozen_lake.py                              # laptop: 800,000 env steps a method
    python tune_experiments/sama_frozen_lake.py --map 8x8 --slippery --out runs/slippery
    python tune_experiments/sama_frozen_lake.py --map random-4x4 --map-seed 3 --seeds 0 1 2 --out runs/random
    python tune_experiments/sama_frozen_lake.py --methods walker --planner scored --model.name smollm2-135m-instruct
    python tune_experiments/sama_frozen_lake.py --preset smoke               # under 2 minutes, learns nothing

Good actions can only be found by trying, so common sense does not help a planner; the figure shows this. The team
`sama` learns to go where its command says (commands are two numbers, and it memorises the holes); it is tested under
planners by rule: `blind` sends agents to far corners, `remembering` looks around and avoids what has failed, `deps` and
`plan4mc` name goals their way and decompose blindly, `random commands` are drawn, and `privileged` is told the map,
which shows that the pipeline works. Each plans for the learned team, and for a `walker` that learns nothing. Another
`--planner` is tested beside them, blind and privileged. The team
`mappo` learns the game without a planner: the control. Success is that both agents stand on targets.
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
from tune_experiments.core.drawing import Drawn, attempt
from tune_experiments.experiment.plan import Tests, TrialPlan
from tune_experiments.launch.experiment import main
from tune_experiments.results.main_comparison import MainComparison
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperTable, make_table
from tune_experiments.sama.frozen_lake.config import LakeConfig
from tune_experiments.sama.planned_experiment import PlannedExperiment
from tune_experiments.sama.planning_metrics import BY_RULE, MODEL_COSTS, QUESTIONS, write_transcripts

if TYPE_CHECKING:
    from rl_models.policy import TeamPolicy
    from tune_experiments.play.trial_figures import Trials

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
    """Planners without a map, the same with one, and a team that learns the game."""

    metric_ranges = (
        FrozenLakeSpread.metric_ranges
        | dict.fromkeys(("rounds", "undone_steps", QUESTIONS, *MODEL_COSTS), COUNT)
        | {BY_RULE: PROPORTION}
    )
    name = "sama_frozen_lake"
    caption = "Two-agent FrozenLake"
    presets = {"smoke": SMOKE, "laptop": LAPTOP, "paper": PAPER}
    columns = {"success": "episode/success", "reached": "valid/reached"}

    def plan(self, config: LakeConfig, method: str, seed: int, trial_folder: Path | None = None) -> TrialPlan:
        """PPO."""
        from tune_experiments.sama.frozen_lake.trials import plan

        return plan(config, method, seed)

    def evaluate_trial(self, config: LakeConfig, method: str, policy: TeamPolicy, trial_folder: Path | None) -> Tests:
        """Whole episodes under every planner, or without one."""
        from tune_experiments.sama.frozen_lake.trials import evaluate

        return evaluate(config, method, policy, trial_folder)

    def figures(self, run_folder: Path, trials: Trials) -> Sequence[Drawn]:
        """Curves, and the transcripts of planners that are no rules."""
        transcripts = attempt("transcripts", lambda: write_transcripts(run_folder, trials))
        return [*super().figures(run_folder, _with_policies(trials)), *transcripts]

    def page(self, run_folder: Path, trials: Trials) -> Sequence[Drawn]:
        """An episode of each team that has a policy."""
        return super().page(run_folder, _with_policies(trials))

    def main_comparisons(self, config: LakeConfig) -> Sequence[MainComparison]:
        """Learning the game against a planner that does not know the map."""
        from tune_experiments.sama.frozen_lake.trials import BY, GAME, MAPPO, PLANNERS, SAMA

        both = {MAPPO, SAMA} <= set(config.methods)
        blind = f"{PLANNERS[0]}{BY}learned"
        return (MainComparison(MAPPO, SAMA, "success", GAME, against_condition=blind),) if both else ()

    def evaluation_seeds(self, config: LakeConfig) -> Sequence[int]:
        """Those of validation and test."""
        from tune_experiments.sama.frozen_lake.trials import TEST_SEED, VALIDATION_SEED

        return VALIDATION_SEED, TEST_SEED

    def tables(self, results: Sequence[Result]) -> Sequence[PaperTable]:
        """One row a planner and executor."""
        rows = [dataclasses.replace(line, method=line.condition or line.method, condition="") for line in results]
        return [make_table(rows, self.caption, METRICS)]

    def deviation_notes(self, config: LakeConfig) -> Sequence[str]:
        """Against the paper."""
        from tune_experiments.sama.frozen_lake.trials import MAPPO

        others = "" if config.planner == "offline" else f" (beside them: {config.planner} {config.model.name})"
        planned = [
            f"planners are rules, not a language model{others}, and commands are two numbers, not a sentence",
            "an agent that has reached its sub-goal rests until the round is over; the game has no such action",
        ]
        ours = "the paper draws a map and gives no rule, size or horizon: those here are ours"
        return [ours, *(planned if set(config.methods) - {MAPPO} else [])]

    def test_world(self, config: LakeConfig, num_worlds: int, method: str = "") -> FrozenLakeSpread:
        """Worlds in which the method, or the first one, learns."""
        from tune_experiments.sama.frozen_lake.trials import make_world

        return make_world(config, method or config.methods[0], num_worlds)


def _with_policies(trials: Trials) -> Trials:
    """Trials whose agents have a policy to show."""
    from tune_experiments.sama.frozen_lake.trials import WALKER

    return {method: seeds for method, seeds in trials.items() if method != WALKER}


EXPERIMENT = SamaFrozenLake()

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
