"""An experiment on Gridworld-FurnMove: its methods; presets and everything else are shared.

Presets: `laptop` (minutes on 2 cores), `smoke`, `authors` (the laptop's sizes with the constants of the authors'
optimiser) and `paper` (the paper's sizes with those constants). A Cordial Sync, section 6.1 and appendix A.3.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rl_envs import World
from rl_envs.furnmove.world import FurnMove
from rl_models.networks.network_config import TboneConfig
from rl_models.rllib.workers import Workers
from tune_experiments.cordial_sync.config import (
    AUTHORS_ENV_STEPS,
    AUTHORS_LEARNER,
    FAMILIES,
    METRICS,
    Config,
    CordialSettings,
    FamilySettings,
    MethodName,
    compare_with_authors,
)
from tune_experiments.cordial_sync.messages import TalkSpectator
from tune_experiments.core.drawing import Drawn
from tune_experiments.core.lazy_module import LazyModule
from tune_experiments.experiment.plan import Episodes, TrialPlan
from tune_experiments.experiment.search_space import SearchSpace
from tune_experiments.launch.experiment import Experiment
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperNumbers, PaperTable, make_table

if TYPE_CHECKING:
    from rl_models.policy import TeamPolicy
    from tune_experiments.cordial_sync import evaluation, figures, trials
    from tune_experiments.play.loading import LoadedPolicy
    from tune_experiments.play.trial_figures import Trials
else:
    evaluation = LazyModule("tune_experiments.cordial_sync.evaluation")
    figures = LazyModule("tune_experiments.cordial_sync.figures")
    trials = LazyModule("tune_experiments.cordial_sync.trials")

_PAPER_TEST_ROOMS = (*(f"test_room_0{number}" for number in range(1, 5)), "floorplan229")
"""Five rooms like the paper's; the last is one of them."""
_PAPER_WORLDS = 45
"""Number of worlds: one for each worker of the authors' A3C."""
_BALANCED = 288
"""Last convolution of the paper's marginal policies for two agents, which gives them as many parameters as SYNC."""

_DECLINE_OPTIMISER_STEPS, _STEPS_OF_TEXT = (episodes * 250 // AUTHORS_ENV_STEPS for episodes in (4_950, 5_000))
"""Optimiser steps of the authors in the 4,950 episodes, each of at most 250 env steps, in which beta falls."""

_TASK = re.compile(r"(-\d+_pixel_frames)?(?:-(\d+)_agents)?$")
"""End of a test environment's name (`evaluation.world_name`): whether agents see frames, and their number if not 2."""
PAPER_NUMBERS: dict[tuple[bool, int], PaperNumbers] = {
    (True, 2): {
        "sync_13_cordial": {"success": 0.58, "invalid_probability": 0.31, "tvd": 0.474},
        "sync_2_cordial": {"tvd": 0.206},
        "marginal": {"invalid_probability": 0.647},
        "no_communication": {"invalid_probability": 0.815},
    },
    (True, 3): {
        "sync_13_cordial": {"success": 0.232, "md_spl": 0.029, "invalid_probability": 0.336},
        "marginal": {"success": 0.0, "md_spl": 0.0, "invalid_probability": 0.854},
        "central_cordial": {"success": 0.124, "md_spl": 0.012, "invalid_probability": 0.132},
    },
    (False, 3): {"marginal": {"success": 0.0}, "sync_13_cordial": {"success": 0.578}},
}
"""Whether agents see frames, and their number -> method -> metric -> value that the paper's text prints."""


class GridworldExperiment(Experiment[Config]):
    """One table on FurnMove with N agents; `rows` are its methods, `smoke_rows` those of the preset `smoke`."""

    rows: tuple[MethodName, ...]
    smoke_rows: tuple[MethodName, ...] = ()
    num_agents: int = 2
    metric_ranges = FurnMove.metric_ranges
    columns = {
        "return": "episode/return",
        "success": "episode/success",
        "invalid": "policy/invalid_probability",
    }

    def __init__(self) -> None:
        laptop = Config(methods=self.rows, num_agents=self.num_agents)
        smoke = dataclasses.replace(_smoke(laptop), methods=self.smoke_rows or self.rows)
        self.presets = {"smoke": smoke, "laptop": laptop, "authors": _authors(laptop), "paper": paper_preset(laptop)}

    def plan(self, config: Config, method: str, seed: int, trial_folder: Path | None = None) -> TrialPlan:
        """PPO or IMPALA in the training rooms."""
        return trials.plan(config, method, seed)

    def evaluate(self, config: Config, method: str, policy: TeamPolicy) -> dict[str, Episodes]:
        """Fixed starts in rooms that no method has seen."""
        return evaluation.evaluate(config, policy)

    def tables(self, results: Sequence[Result]) -> Sequence[PaperTable]:
        """The paper's six metrics, and its numbers for the same observations and number of agents."""
        tasks = {paper_task(result.world) for result in results}
        paper = PAPER_NUMBERS.get(tasks.pop()) if len(tasks) == 1 else None
        return [make_table(results, self.caption, METRICS, paper, names_world=True)]

    def deviation_notes(self, config: Config) -> list[str]:
        """Rooms, the learning algorithm, and how long CORDIAL's weight falls."""
        notes = [
            _rooms_folder(config),
            f"{config.learner.algorithm.upper()} replaces the paper's A3C",
        ]
        if steps := config.cordial.decline_optimiser_steps:
            notes.append(
                f"CORDIAL's weight falls over {steps:,} optimiser steps; the authors' A3C makes "
                f"{_DECLINE_OPTIMISER_STEPS:,} in 4,950 episodes of their code, {_STEPS_OF_TEXT:,} in 5,000 of the text"
            )
        elif config.cordial.decline_episodes:
            episodes = f"{config.cordial.decline_episodes:,}"
            notes.append(
                f"CORDIAL's weight falls over {episodes} episodes, as in the authors' code; the text has 5,000"
            )
        return notes

    def optimiser_steps(self, config: Config) -> str:
        """Compared with those of the authors' asynchronous workers."""
        return compare_with_authors(
            config.learner, config.workers, config.budget_env_steps, self.presets["paper"].budget_env_steps
        )

    def figures(self, run_folder: Path, trials: Trials) -> Sequence[Drawn]:
        """Curves, joint policies and an episode of each method."""
        return figures.draw(run_folder, trials)

    def spectator(self, loaded: LoadedPolicy) -> TalkSpectator:
        """Shows the agents' message weights."""
        return TalkSpectator(loaded)

    def test_world(self, config: Config, num_worlds: int, method: str = "") -> World:
        """Worlds that draw a start in the test's rooms, for videos and `play`."""
        return evaluation.shown_world(config, num_worlds)

    def valid_world(self, config: Config, num_worlds: int) -> World:
        """Worlds at the validation starts, in held-out rooms."""
        evaluation.check_rooms_apart(config)
        return evaluation.world_from(config, evaluation.valid_starts(config), num_worlds)

    def search_space(self) -> SearchSpace:
        """One space for all methods, ranked by success in validation rooms.

        It holds what the paper leaves open or states in two ways, and PPO's own constants. Ranges include the authors'
        constants and the laptop's.
        """
        from tune_experiments.run.ray_cluster import import_tune

        tune = import_tune()
        domains: dict[str, Any] = {
            "learner.algorithm": tune.grid_search(["ppo", "impala"]),
            "learner.joint_ratio": tune.grid_search([True, False]),
            "learner.gamma": tune.choice([0.9, 0.95, 0.99]),
            "learner.gae_lambda": tune.choice([0.9, 0.95, 1.0]),
            "learner.num_epochs": tune.choice([1, 2, 4]),
            "learner.value_coef": tune.loguniform(0.05, 0.5),
            "cordial.form": tune.choice(["code", "paper"]),
            "cordial.floor": tune.loguniform(0.005, 0.1),
            "cordial.decline": tune.uniform(0.1, 0.6),
        }
        for family in FAMILIES:
            domains[f"{family}.learning_rate"] = tune.loguniform(1e-4, 1e-2)
            domains[f"{family}.entropy_coef"] = tune.loguniform(5e-4, 2e-2)
        return SearchSpace(domains)


def paper_task(world: str) -> tuple[bool, int]:
    """Whether agents see frames in a test environment, and their number, by its name."""
    frames, agents = _TASK.search(world).groups()  # type: ignore[union-attr]  # an empty end fits
    return frames is not None, int(agents or 2)


def _smoke(laptop: Config) -> Config:
    return dataclasses.replace(
        laptop,
        network=TboneConfig(channels=(8, 8, 16, 16), hidden_size=32),
        workers=Workers(worlds_per_runner=16, fragment_length=10),
        max_episode_steps=40,
        budget_env_steps=2_000,
        validate_every_env_steps=1_000,
        valid_starts_per_room=4,
        checkpoint_every_env_steps=500,
        test_starts_per_room=6,
    )


def _authors(laptop: Config) -> Config:
    """The laptop's rooms and network with the authors' optimiser, in ten times the laptop's budget: 2,500 steps."""
    return dataclasses.replace(
        laptop,
        bootstrap_at_limit=False,
        no_communication=FamilySettings(1e-4, 0.01),
        marginal=FamilySettings(1e-4, 0.01),
        sync=FamilySettings(1e-4, 0.01),
        central=FamilySettings(1e-4, 0.01),
        cordial=CordialSettings(floor=0.01, decline_episodes=4_950),
        learner=AUTHORS_LEARNER,
        workers=dataclasses.replace(laptop.workers, worlds_per_runner=8, fragment_length=50),
        budget_env_steps=1_000_000,
        validate_every_env_steps=100_000,
    )


def paper_preset(laptop: Config) -> Config:
    """The paper's sizes too, and as many worlds as it has workers. Parameters are balanced for two agents only.

    A minibatch is the fragment of one world, as for a worker of the authors. CORDIAL's weight falls in
    as many optimiser steps as these workers make in 4,950 episodes, whatever the number of worlds and minibatches.
    """
    authors = _authors(laptop)
    widen = _BALANCED if laptop.num_agents == 2 else 0
    return dataclasses.replace(
        authors,
        room_size="full",
        train_rooms="train",
        max_episode_steps=250,
        network=TboneConfig(),
        no_communication=dataclasses.replace(authors.no_communication, last_convolution=widen),
        marginal=dataclasses.replace(authors.marginal, last_convolution=widen),
        cordial=CordialSettings(floor=0.01, decline_optimiser_steps=_DECLINE_OPTIMISER_STEPS),
        learner=dataclasses.replace(authors.learner, num_minibatches=_PAPER_WORLDS),
        workers=Workers(runners=15, worlds_per_runner=3, fragment_length=50, learners=1, gpus_per_learner=1.0),
        budget_env_steps=120_000_000,
        validate_every_env_steps=2_000_000,
        valid_starts_per_room=100,
        checkpoint_every_env_steps=1_000_000,
        test_rooms=_PAPER_TEST_ROOMS,
    )


def _rooms_folder(config: Config) -> str:
    """Sentence about generated rooms and rooms with iTHOR's floors and inferred television masks."""
    used = {
        "training": evaluation.named_rooms(config.room_size, (config.train_rooms,)),
        "validation": evaluation.named_rooms(config.room_size, config.valid_rooms),
        "test": evaluation.test_starts(config).rooms,
    }
    inferred = [name for name, rooms in used.items() if evaluation.has_inferred_masks(rooms)]
    context = ": the paper's numbers are context, not a target"
    if len(inferred) == len(used):
        return f"rooms have iTHOR's floors and inferred television masks{context}"
    if inferred:
        masks = "iTHOR's floors and inferred television masks"
        return f"rooms of {' and '.join(inferred)} have {masks}, the others are generated{context}"
    return f"rooms are generated, not AI2-THOR's{context}"
