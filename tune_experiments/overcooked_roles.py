"""Role methods in Overcooked: QMIX, ROMA, LDSA and MASER, the weak rows of SAMA's figures, beside self-play.

    python tune_experiments/overcooked_roles.py                              # laptop: 200,000 env steps a method
    python tune_experiments/overcooked_roles.py --task forced_coordination --methods qmix roma --seeds 0 1 2
    python tune_experiments/overcooked_roles.py --methods maser --roles.team.maser.form released --out runs/released
    python tune_experiments/overcooked_roles.py --methods qmix selfplay cole --out runs/beside
    python tune_experiments/overcooked_roles.py --preset smoke               # under 2 minutes, learns nothing

`qmix` (Rashid et al., 2018), `roma` (each chef's role generates its last layer; Wang et al., 2020), `ldsa` (a chef
chooses sub-tasks; Yang et al., 2022) and `maser` (sub-goals from the replay; Jeon et al., 2022) are also rewarded for
onions in pots, useful dishes and soups taken; those that end in `_sparse` only for served soups, as SAMA's rows seem to
be. They take greedy actions in tests; a kitchen is deterministic, so all episodes of a team are then equal, and the
column `reward_sampled` has 5 % of random actions. `selfplay`, `selfplay_sparse`, `fcp` and `cole` are those of
`overcooked_selfplay.py` with this budget; they are tested with sampled actions. Results are of whole episodes of 400
env steps without shaping; a soup is 20. SAMA's figures raise the question whether role methods are worse than
self-play.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rl_models.networks.network_config import GridCnnConfig
from rl_models.networks.role_team_config import MaserConfig, RoleConfig, RoleTeamConfig, SubtaskConfig
from rl_models.rllib.workers import Workers
from tune_experiments.core.lazy_module import LazyModule
from tune_experiments.experiment.plan import Tests, TrialPlan
from tune_experiments.launch.experiment import main
from tune_experiments.overcooked.config import (
    ALL_Q_METHODS,
    COLE,
    Q_METHODS,
    ColeSettings,
    OvercookedRolesConfig,
    RoleSettings,
)
from tune_experiments.overcooked.overcooked_experiment import COLUMNS, OvercookedExperiment, cole_notes, tables
from tune_experiments.results.main_comparison import MainComparison
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperTable

if TYPE_CHECKING:
    from rl_models.policy import TeamPolicy
    from tune_experiments.overcooked import trials
else:
    trials = LazyModule("tune_experiments.overcooked.trials")

LAPTOP = OvercookedRolesConfig()
SMOKE = dataclasses.replace(
    LAPTOP,
    methods=(*Q_METHODS, COLE),
    network=GridCnnConfig(channels=(4, 4), first_kernel=3, hidden_sizes=(16,)),
    roles=RoleSettings(
        worlds_per_runner=4,
        buffer_size=64,
        batch_size=8,
        train_every_env_steps=80,
        exploration_env_steps=400,
        update_target_every_updates=5,
        team=RoleTeamConfig(
            hidden_size=8,
            mixing_hidden_size=4,
            ldsa_hypernetwork_hidden_size=4,
            roma=RoleConfig(hidden_size=4),
            ldsa=SubtaskConfig(num_subtasks=2, vector_size=4),
            maser=MaserConfig(representation_hidden_size=8),
        ),
    ),
    workers=Workers(worlds_per_runner=4, fragment_length=20),
    max_episode_steps=40,
    budget_env_steps=400,
    validate_every_env_steps=200,
    valid_episodes=4,
    checkpoint_every_env_steps=200,
    test_episodes=4,
    cole=ColeSettings(generations=2, initial_generations=1, payoff_episodes=2),
)
PAPER = dataclasses.replace(
    LAPTOP,
    roles=RoleSettings(
        buffer_size=5000,
        batch_size=32,
        train_every_env_steps=400,
        update_target_every_updates=200,
        td_lambda=0.0,
        optimiser="rmsprop",
        learning_rate=5e-4,
        final_learning_rate_share=1.0,
        exploration_env_steps=50_000,
    ),
    workers=Workers(worlds_per_runner=8, fragment_length=400),
    budget_env_steps=5_000_000,
    validate_every_env_steps=100_000,
    checkpoint_every_env_steps=100_000,
)
"""The releases' constants; the budget is ours, SAMA gives none, and the replay takes 2 GB and more."""

CURVES = {
    "valid/reward": "reward per episode, without shaping",
    "episode/shaped_return": "shaped points per episode",
    "loss/td": "squared error of the joint value",
    "subtask/usage_entropy": "entropy of the sub-tasks in use (nats, ldsa)",
    "role/spread": "spread of the chefs' roles (roma)",
    "maser/intrinsic_reward": "reward for distance to the sub-goal (maser)",
}


class OvercookedRoles(OvercookedExperiment[OvercookedRolesConfig]):
    """Role methods by Q-learning, and self-play."""

    name = "overcooked_roles"
    caption = "Overcooked, role methods"
    presets = {"smoke": SMOKE, "laptop": LAPTOP, "paper": PAPER}
    curves = CURVES

    def plan(
        self, config: OvercookedRolesConfig, method: str, seed: int, trial_folder: Path | None = None
    ) -> TrialPlan:
        """Q-learning of a role method, or PPO."""
        return trials.plan_roles(config, method, seed)

    def draws_noise(self, config: OvercookedRolesConfig) -> bool:
        """Tests take an agent's mean role, or its most probable sub-task."""
        return False

    def evaluate(self, config: OvercookedRolesConfig, method: str, policy: TeamPolicy) -> Tests:
        """Whole episodes without shaping: greedy for Q-learners, sampled for others."""
        test = trials.evaluate_greedy if method in ALL_Q_METHODS else trials.evaluate_sampled
        return test(config, policy)

    def tables(self, results: Sequence[Result]) -> Sequence[PaperTable]:
        """One table a kitchen."""
        return tables(results, self.caption, (*COLUMNS, trials.SAMPLED))

    def main_comparisons(self, config: OvercookedRolesConfig) -> Sequence[MainComparison]:
        """Self-play against QMIX at equal env steps; SAMA's figures show such methods as weak."""
        return (MainComparison("selfplay", "qmix", "reward", config.task, table=f"{self.caption}: {config.task}"),)

    def deviation_notes(self, config: OvercookedRolesConfig) -> Sequence[str]:
        """Deviations that no flag shows."""
        notes, rows = cole_notes(config), config.methods
        if any(row in ALL_Q_METHODS for row in rows):
            notes += [
                "Q-learning: a team's reward is the mean of its chefs', so an event's shaped points count half, and "
                "keep their weight, which falls to 0 in self-play",
                "the previous action is no input; acting and learning use the same noise; tests take the mean role",
            ]
        if any(row not in ALL_Q_METHODS for row in rows):
            notes.append("other methods: learner, network and shaping of overcooked_selfplay's laptop, in every preset")
        if any(row.startswith("roma") for row in rows):
            notes.append("layer normalisation replaces ROMA's batch normalisation")
        return notes


EXPERIMENT = OvercookedRoles()

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
