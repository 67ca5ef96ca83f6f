"""Fine-tuning on visited states: further training from the states that a team visits with the planner.

SAMA, section 3.3. Each round of fine-tuning is a stage: episodes with the run's planner, whose states are stored with
their plans, then PPO on rounds that start from visited and from generated states, about equally often. A checkpoint
contains the visited states of its stage, so a killed trial resumes with the same ones.
"""

import dataclasses
import functools
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rl_envs.core.spec import Array
from rl_models.planners.plans import Pair
from rl_models.policy import TeamPolicy
from rl_models.schedule import Progress
from rl_models.training.algorithm import Algorithm, Tensors
from tune_experiments.experiment.curriculum import Curriculum
from tune_experiments.experiment.plan import Stage, Tests, TrialPlan
from tune_experiments.sama.overcooked import trials
from tune_experiments.sama.overcooked.config import SCRIPTED, SamaConfig, split_method
from tune_experiments.sama.overcooked.evaluation import planned_episodes
from tune_experiments.sama.overcooked.play import play_under
from tune_experiments.sama.planning import make_planning_loop, warn_about_fallbacks
from tune_experiments.sama.play import learned_executor

MEETING_SEED = 600
"""Added to the stage's seed for the episodes that collect states, which differ from tests and validation."""
_MET, _PAIRS, _STEPS = "met", "pairs", "steps"


def plan(config: SamaConfig, method: str, seed: int, trial_folder: Path | None = None) -> TrialPlan | Curriculum:
    """Plan of a trial, with its rounds of fine-tuning if there are any; arguments and errors of `Experiment.plan`."""
    first = trials.plan(config, method, seed, trial_folder)
    row, _ = split_method(method)
    if not config.fine_tuning.rounds or row in (*trials.UNPLANNED, SCRIPTED):
        return first
    config = trials.configure_method(config, row)
    again = dataclasses.replace(
        trials.plan(fine_tuning_settings(config), method, seed, trial_folder),
        make_algorithm=functools.partial(FineTuning, config, method, seed, trial_folder),
    )
    met = (
        Stage(name=f"met_{number + 1}", plan=again, keeps_optimiser=True) for number in range(config.fine_tuning.rounds)
    )
    evaluation = functools.partial(_evaluate, config, method, trial_folder)
    return Curriculum((Stage(name="made_up", plan=first, evaluate=evaluation), *met))


def _evaluate(config: SamaConfig, method: str, trial_folder: Path | None, policy: TeamPolicy) -> Tests:
    layout = split_method(method)[1]
    return {layout: planned_episodes(config, method, policy, config.test_episodes, trial_folder)}


def fine_tuning_settings(config: SamaConfig) -> SamaConfig:
    """Settings of a round of fine-tuning: a share of the budget, with the last learning rate and entropy bonus."""
    share, learner = config.fine_tuning.share, config.learner
    learned = dataclasses.replace(
        learner,
        learning_rate=learner.learning_rate * learner.final_learning_rate_share,
        final_learning_rate_share=1.0,
        entropy_coef=learner.entropy_coef if learner.final_entropy_coef is None else learner.final_entropy_coef,
    )
    return dataclasses.replace(config, learner=learned, budget_env_steps=math.ceil(share * config.budget_env_steps))


def met_pairs(
    config: SamaConfig, method: str, team: TeamPolicy, seed: int, trial_folder: Path | None = None
) -> tuple[list[Pair], int]:
    """Visited states with the commands in them, and the env steps of these episodes; equal seeds give equal ones."""
    met: dict[Pair, None] = {}
    loop = make_planning_loop(config, split_method(method)[1], seed, trial_folder, met)
    chefs = learned_executor(team)  # sampled, because equal episodes visit the same states
    played = play_under(loop, config, method, chefs, config.fine_tuning.episodes, seed=seed)
    warn_about_fallbacks(loop.question_counts, config)
    steps = config.fine_tuning.episodes * config.max_episode_steps + int(played["wasted_steps"].sum())
    return list(met), steps


class FineTuning:
    """RLlib's algorithm of a fine-tuning stage; its states need the transferred weights, so `restore` makes it."""

    def __init__(self, config: SamaConfig, method: str, seed: int, trial_folder: Path | None, plan: TrialPlan) -> None:
        self._config, self._method, self._seed, self._plan = config, method, seed, plan
        self._trial_folder = trial_folder
        self._met: list[Pair] = []
        self._played = 0
        self._algorithm: Algorithm | None = None

    def restore(self, tensors: Tensors, progress: Progress) -> None:
        """Load weights, collect visited states unless the checkpoint holds those of this stage, and continue."""
        if _MET in tensors:
            self._met, self._played = unpack_pairs(tensors[_MET][_PAIRS]), int(tensors[_MET][_STEPS])
        else:
            team = self._plan.new_policy().eval()
            team.load_state_dict(tensors["weights"])
            seed = MEETING_SEED + self._plan.seed
            self._met, self._played = met_pairs(self._config, self._method, team, seed, self._trial_folder)
        layout = split_method(self._method)[1]
        # Recorded answers of a model are reused.
        self._algorithm = trials.prepare_algorithm(
            self._config, layout, self._seed, self._trial_folder, self._plan, self._met
        )
        self._algorithm.restore(tensors, progress)

    def train(self) -> dict[str, float]:
        """Train the algorithm, and log the collected states."""
        counted = {"met_states": len(self._met), "played_env_steps": self._played}
        return self._inner.train() | {f"fine_tuning/{name}": float(number) for name, number in counted.items()}

    def progress(self) -> Progress:
        """Progress of this stage."""
        return self._inner.progress()

    def policy(self, weights: dict[str, Any] | None = None) -> TeamPolicy:
        """The algorithm's policy."""
        return self._inner.policy(weights)

    def checkpoint(self) -> tuple[Tensors, Progress]:
        """The algorithm's checkpoint, with the visited states."""
        tensors, progress = self._inner.checkpoint()
        return tensors | {_MET: {_PAIRS: pack_pairs(self._met), _STEPS: np.array(self._played)}}, progress

    def close(self) -> None:
        """Stop the algorithm, if it was started."""
        if self._algorithm is not None:
            self._algorithm.close()

    @property
    def _inner(self) -> Algorithm:
        assert self._algorithm is not None, "restore comes first"
        return self._algorithm


def pack_pairs(pairs: Sequence[Pair]) -> Array:
    """JSON as [K] uint8, because checkpoints hold arrays."""
    return np.frombuffer(json.dumps(pairs).encode(), np.uint8).copy()


def unpack_pairs(array: Any) -> list[Pair]:
    """Pairs from the array of `pack_pairs`."""
    return [(state, tuple(commands)) for state, commands in json.loads(bytes(np.asarray(array)))]
