"""Train any team of this package in any environment.

    concord train --env overcooked-v0 --methods ippo mappo sync_4 qmix --seeds 0 1 2
    concord train --env mpe2.simple_spread_v3                    # a module of PettingZoo, parallel or turn-based
    concord train --env gymnasium:CartPole-v1 --methods ippo
    concord train --env my_env:parallel_env --env-arguments '{"max_cycles": 50}'          # a custom function

    from tune_experiments.train import train
    run = train(env=rescue.parallel_env, methods=["sync_4", "mappo"], seeds=[0, 1, 2])

`concord envs` lists the environments of this package, `concord methods` the methods and their requirements. Before
training, an episode of random play is checked and described. Observations may be
vectors, images, texts, dicts of those, and masks of legal actions; spaces of agents are padded to the largest. Results
are of test episodes that are not in training, with sampled actions, or without exploration (`qmix`, `vdn`); `random` is
random play, tested with the first method. `return` is the sum over the agents.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rl_envs import World
from rl_envs.core.errors import CustomEnvError
from rl_models.algorithms.learner_config import LearnerConfig
from rl_models.networks.network_config import PartsConfig, TboneConfig
from rl_models.rllib.workers import Workers
from tune_experiments.core.errors import UserError
from tune_experiments.core.lazy_module import LazyModule
from tune_experiments.endi.division import DIVISION_RANGES, division_table
from tune_experiments.experiment.finding import UNNAMED
from tune_experiments.experiment.plan import RANDOM, Tested, Tests, TrialPlan
from tune_experiments.experiment.search_space import SearchSpace
from tune_experiments.launch.experiment import Experiment, main
from tune_experiments.results.main_comparison import MainComparison
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperTable, make_table
from tune_experiments.teams.config import LANGUAGE_METHODS, Config, read_arguments
from tune_experiments.teams.environment_names import find_name, how_to_name, run_label

if TYPE_CHECKING:
    from rl_envs.wrappers import hangs
    from rl_models.policy import TeamPolicy
    from tune_experiments.launch.finished_run import Run
    from tune_experiments.teams import inspection, language, observations, trials, worlds
else:
    inspection = LazyModule("tune_experiments.teams.inspection")
    language = LazyModule("tune_experiments.teams.language")
    observations = LazyModule("tune_experiments.teams.observations")
    trials = LazyModule("tune_experiments.teams.trials")
    worlds = LazyModule("tune_experiments.teams.worlds")
    hangs = LazyModule("rl_envs.wrappers.hangs")

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
DEPENDENCE = ("tvd", "tvd_estimate", "mutual_information")
"""Metrics of the dependence between agents; the available ones depend on the action space."""
UNNAMED_FILE = "environment.txt"
"""File in a trial's folder that explains how to name an unnamed environment."""


class Train(Experiment[Config]):
    """Methods from independent agents to agents that draw their actions together, in any environment."""

    name = "train"
    caption = "Teams in any environment"
    presets = {"smoke": SMOKE, "laptop": LAPTOP}
    metric_ranges = DIVISION_RANGES
    columns = {"return": "episode/return", "valid return": "valid/return", "length": "episode/length"}

    def plan(self, config: Config, method: str, seed: int, trial_folder: Path | None = None) -> TrialPlan:
        """PPO, or QMIX and VDN."""
        return trials.plan(config, method, seed, trial_folder)

    def evaluate(self, config: Config, method: str, policy: TeamPolicy) -> Tests:
        """Test episodes of the team; for the first method also of uniform legal actions."""
        tested: Tests = {config.env: trials.play(config, config.test_episodes, trials.TEST_SEED, policy, method)}
        if method == config.methods[0]:
            random = trials.play(config, config.test_episodes, trials.TEST_SEED, trials.random_team(config))
            tested[Tested(config.env, method=RANDOM)] = random
        return tested

    def evaluation_seeds(self, config: Config) -> Sequence[int]:
        """Seeds of validation and test."""
        return trials.VALIDATION_SEED, trials.TEST_SEED

    def tables(self, results: Sequence[Result]) -> Sequence[PaperTable]:
        """Returns; dependence between agents (exact, or an estimate); division of entities."""
        known = {one.metric for one in results}
        found = [metric for metric in DEPENDENCE if metric in known] or ["tvd"]
        games = {one.world: one.world for one in results}
        title = f"{self.caption}: {', '.join(games)}"
        table = make_table(results, title, ("return", "episode_length", *found), missing={"tvd": TOO_MANY})
        return [table, *division_table(results, self.caption, games)]

    def page_title(self, config: Config) -> str:
        """The environment."""
        return config.env

    def run_name(self, config: Config) -> str:
        """Run folders are named after the environment."""
        return run_label(config.env)

    def main_comparisons(self, config: Config) -> Sequence[MainComparison]:
        """SYNC against independently sampling agents."""
        syncs = [method for method in config.methods if method.startswith("sync")]
        return (MainComparison(syncs[0], "mappo", "return", config.env),) if syncs and "mappo" in config.methods else ()

    def deviation_notes(self, config: Config) -> Sequence[str]:
        """Notes for readers of the results."""
        notes = []
        if config.budget_env_steps < LAPTOP.budget_env_steps:
            notes.append(f"{config.budget_env_steps:,} env steps are too few to learn a game")
        if any(method not in LANGUAGE_METHODS for method in config.methods):
            notes += observations.scaling_notes(config) + observations.unread_texts(config)
        return notes

    def inspect(
        self, config: Config, print_fn: Callable[[str], None], stored: Mapping[str, Any] | None = None
    ) -> Config:
        """Print what an episode of random play shows, and adapt the configuration.

        If the environment hangs, this process exits with a message.
        """
        hangs.watch(lambda message: None)
        return inspection.inspect_environment(config, print_fn, bool((stored or {}).get("agents_leave")))

    def check(self, config: Config) -> None:
        """Check that all methods support the environment, and that it keeps its own spaces in random play."""
        hangs.watch(lambda message: None)
        for method in config.methods:
            trials.check_method(config, method)
        inspection.probe_environment(config)

    def prepare(self, config: Config, method: str, trial_folder: Path) -> None:
        """Keep the environment's declaration and the small language model; explain how to name an environment."""
        if config.env.startswith(UNNAMED):
            (trial_folder / UNNAMED_FILE).write_text(_about_unnamed(config.env))
        observations.keep_declaration(config, trial_folder)
        language.save_model(config, method, trial_folder)

    def test_world(self, config: Config, num_worlds: int, method: str = "") -> World:
        """Test worlds, which render if the environment can."""
        try:
            return worlds.make_world(config, num_worlds, method=method, render_mode="rgb_array")
        except CustomEnvError:  # it may not support render_mode
            return worlds.make_world(config, num_worlds, method=method)

    def search_space(self) -> SearchSpace:
        """Constants of PPO, and other methods' learning rates, ranked by the return of validation."""
        from tune_experiments.run.ray_cluster import import_tune

        tune = import_tune()
        domains: dict[str, Any] = {
            "learner.learning_rate": tune.loguniform(2e-4, 5e-3),
            "learner.entropy_coef": tune.loguniform(1e-3, 5e-2),
            "learner.num_epochs": tune.choice([4, 8, 16]),
            "qmix.learning_rate": tune.loguniform(2e-4, 5e-3),
            "language.learning_rate": tune.loguniform(2e-4, 5e-3),
        }
        return SearchSpace(domains, objective="valid/return")


EXPERIMENT = Train()


def train(
    env: str | Callable[..., Any] | Any,
    methods: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
    preset: str | None = None,
    **options: Any,
) -> Run[Config]:
    """Train methods in an environment, test them, and write tables, figures and videos.

    Args:
        env: value of `--env`; or a module, a class or a function that builds an environment. One that no other
            process could import by its name trains in this process.
        methods: methods of the table; by default those of the preset.
        seeds: seeds of the trials; by default 0.
        preset: `smoke` or `laptop`, by default `laptop`.
        options: other arguments of `Experiment.run`, and fields of the configuration; `env_arguments` may be a dict,
            and `network` a name.

    Returns:
        results, tables, paths and trained teams.

    Raises:
        UserError: what is wrong, where, and how to fix it.
    """
    named = find_name(env)
    arguments = options.pop("env_arguments", {})
    if named.arguments or not isinstance(arguments, str):
        given = read_arguments(arguments) if isinstance(arguments, str) else dict(arguments)
        try:
            arguments = json.dumps({**named.arguments, **given})
        except (TypeError, ValueError) as error:
            raise UserError(
                f"env_arguments is {given}, which JSON cannot hold ({error}): let it have numbers, texts, lists and "
                "dicts of Python, or let a function of your own build the environment"
            ) from error
    if named.why_unnamed:
        if not options.get("local", True):
            raise UserError(f"local=False: workers import the environment, and {named.why_unnamed}")
        print(f"{named.why_unnamed}, so all trials run one after another in this process: {how_to_name()}")
        options["local"] = True
    if methods is not None:
        options["methods"] = (methods,) if isinstance(methods, str) else tuple(methods)
    return EXPERIMENT.run(preset, seeds=seeds, env=named.name, env_arguments=arguments, **options)


def _about_unnamed(env: str) -> str:
    return (
        f"The environment of this run, {env}, was a function without a name that another process could import. "
        f"Its trials can only be opened in the process that trained them. To train one that can be opened anywhere, "
        f"{how_to_name()}\n"
    )


if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
