"""Teams of this package in a foreign game: any PettingZoo parallel environment with discrete actions.

    python tune_experiments/train.py --env mpe2.simple_spread_v3                      # laptop: minutes
    python tune_experiments/train.py --methods ippo mappo sync_4 commnet tbone qmix --seeds 0 1 2
    python tune_experiments/train.py --env pettingzoo.sisl.pursuit_v5 \
        --env-arguments '{"max_cycles": 100, "n_pursuers": 4}' --methods ippo mappo sync_4
    python tune_experiments/train.py --preset smoke                                   # learns nothing

`pip install -e '.[envs]'` brings mpe2. Rows: `ippo` and `mappo` (agents with a value of their own observation,
or of all observations), `commnet` and `tbone` (agents that talk), `sync_M` (agents that talk and draw one of M product
policies together), `sync_M_cordial` where the game declares coordination sets, `qmix` and `vdn` (values of actions that
are mixed or added up). Games of texts that say what their actions are called have `lora`, too (a language model with an
adapter chooses among those phrases), and `lora_blind` (the same without the texts). Observations may be vectors,
images, texts, dicts of those, and masks of legal actions; what agents see and do is padded to the widest. Numbers are
of test episodes that training has not seen, with sampled actions; `random` is random play, tested beside the first row.
`return` is the sum over the agents.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rl_envs import World
from rl_envs.core.errors import ForeignEnvError
from rl_models.algorithms.learner_config import LearnerConfig
from rl_models.networks.network_config import PartsConfig, TboneConfig
from rl_models.rllib.workers import Workers
from tune_experiments.experiment.plan import RANDOM, Tested, Tests, TrialPlan
from tune_experiments.experiment.search_space import SearchSpace
from tune_experiments.launch.experiment import Experiment, main
from tune_experiments.results.main_comparison import MainComparison
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperTable, make_table
from tune_experiments.teams.config import LANGUAGE_ROWS, Config

if TYPE_CHECKING:
    from rl_models.policy import TeamPolicy

LAPTOP = Config()
SMOKE = dataclasses.replace(
    LAPTOP,
    methods=("ippo", "mappo", "sync_4"),
    network=PartsConfig(hidden_sizes=(16, 16), talk=TboneConfig(hidden_size=16)),
    learner=LearnerConfig(num_epochs=1, value_coef=0.01),
    workers=Workers(worlds_per_runner=8, fragment_length=25),
    budget_env_steps=800,
    validate_every_env_steps=400,
    valid_episodes=4,
    checkpoint_every_env_steps=400,
    test_episodes=8,
)
TOO_MANY = "too many joint actions"


class Train(Experiment[Config]):
    """Rows from independent agents to agents that draw their actions together, in a foreign game."""

    name = "train"
    caption = "Teams in a game of others"
    presets = {"smoke": SMOKE, "laptop": LAPTOP}
    columns = {"return": "episode/return", "valid return": "valid/return", "length": "episode/length"}

    def plan(self, config: Config, method: str, seed: int, trial_folder: Path | None = None) -> TrialPlan:
        """PPO, or QMIX and VDN."""
        from tune_experiments.teams.trials import plan

        return plan(config, method, seed, trial_folder)

    def evaluate(self, config: Config, method: str, policy: TeamPolicy) -> Tests:
        """Test episodes of the team, and with the first row of uniform legal actions."""
        from tune_experiments.teams.trials import TEST_SEED, play, random_team

        tested: Tests = {config.env: play(config, config.test_episodes, TEST_SEED, policy, method)}
        if method == config.methods[0]:
            random = play(config, config.test_episodes, TEST_SEED, random_team(config))
            tested[Tested(config.env, method=RANDOM)] = random
        return tested

    def evaluation_seeds(self, config: Config) -> Sequence[int]:
        """Those of validation and test."""
        from tune_experiments.teams.trials import TEST_SEED, VALIDATION_SEED

        return VALIDATION_SEED, TEST_SEED

    def tables(self, results: Sequence[Result]) -> Sequence[PaperTable]:
        """One table; a joint policy that is too large to be written down has no distance to its marginals."""
        table = make_table(results, self.caption, ("return", "episode_length", "tvd"), missing={"tvd": TOO_MANY})
        games = dict.fromkeys(one.world for one in results)
        return [dataclasses.replace(table, title=f"{self.caption}: {', '.join(games)}")]

    def main_comparisons(self, config: Config) -> Sequence[MainComparison]:
        """SYNC against agents that draw apart."""
        syncs = [method for method in config.methods if method.startswith("sync")]
        return (MainComparison(syncs[0], "mappo", "return", config.env),) if syncs and "mappo" in config.methods else ()

    def deviations(self, config: Config) -> Sequence[str]:
        """Deviations that a reader of the papers should know."""
        from tune_experiments.teams.trials import scaling_notes

        notes = [
            "no paper has these numbers: the game is not one of the papers'",
            f"the environment is built with {config.env_arguments}",
        ]
        if config.budget_env_steps < LAPTOP.budget_env_steps:
            notes.append(f"{config.budget_env_steps:,} env steps are too few to learn a game")
        if any(method not in LANGUAGE_ROWS for method in config.methods):
            notes += scaling_notes(config)
        return notes

    def check(self, config: Config) -> None:
        """Refuse a game that a row cannot read, or whose environment breaks its own declarations in random play.

        An environment that hangs there ends this process with a sentence that says where.
        """
        from rl_envs.wrappers import hangs
        from tune_experiments.teams.trials import check_row
        from tune_experiments.teams.worlds import try_out

        hangs.watch(lambda said: None)
        for method in config.methods:
            check_row(config, method)
        try_out(config)  # random play, which is tested beside the first row, reads the game as words

    def prepare(self, config: Config, method: str, trial_folder: Path) -> None:
        """Keep the small language model beside what is trained on it."""
        from tune_experiments.teams.language import keep_model

        keep_model(config, method, trial_folder)

    def test_world(self, config: Config, num_worlds: int, method: str = "") -> World:
        """Worlds that draw pictures, where the environment can."""
        from tune_experiments.teams.worlds import make_world

        try:
            return make_world(config, num_worlds, method=method, render_mode="rgb_array")
        except ForeignEnvError:  # it may draw nothing, and know no render_mode
            return make_world(config, num_worlds, method=method)

    def world_of(self, config: Config, method: str, num_worlds: int) -> World:
        """The same as the row reads them."""
        return self.test_world(config, num_worlds, method)

    def search_space(self) -> SearchSpace:
        """Constants of PPO, ranked by the return of validation."""
        from tune_experiments.run.ray_cluster import import_tune

        tune = import_tune()
        domains: dict[str, Any] = {
            "learner.learning_rate": tune.loguniform(2e-4, 5e-3),
            "learner.entropy_coef": tune.loguniform(1e-3, 5e-2),
            "learner.num_epochs": tune.choice([4, 8, 16]),
        }
        return SearchSpace(domains, objective="valid/return")


EXPERIMENT = Train()

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
