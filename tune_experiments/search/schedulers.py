"""Ray Tune's `ASHAScheduler` and `PopulationBasedTraining`, for the trials of a search; both judge single trials.

Tune's state of a killed session is pickled, so a continued search is a new session: ASHA judges the recorded
validations again, and members of a population continue with the values of their checkpoints.
"""

import json
import math
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from ray.tune.schedulers import ASHAScheduler, PopulationBasedTraining, TrialScheduler

from rl_models.rllib.private_ray import PrivatePopulation
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.base_experiment import BaseExperiment
from tune_experiments.experiment.finding import read_configuration
from tune_experiments.experiment.search_space import SearchSpace
from tune_experiments.results.trial_log import SCORE
from tune_experiments.run.population import GENERATION, GENERATIONS, generation_ends, member_values
from tune_experiments.run.request import Request, trained_env_steps
from tune_experiments.search.folder import complete_lines
from tune_experiments.search.settings import finite_choices, rounded

_FACTOR = 3


class Asha(ASHAScheduler):  # type: ignore[misc]
    """Tune's ASHA with rungs at a ninth and a third of the budget; reported validations are recorded in a file.

    Trials that pass both rungs train to their end; `stopped` names those that it has stopped.
    """

    def __init__(self, trials: Iterable[str], budget: int, file: Path) -> None:
        rung = math.ceil(budget / _FACTOR**2)
        super().__init__(
            time_attr="env_steps",
            metric=SCORE,
            mode="max",
            grace_period=rung,
            max_t=_FACTOR * rung,
            reduction_factor=_FACTOR,
            stop_last_trials=False,
        )
        self.stopped: set[str] = set()
        self._file = file
        for name in trials:
            super().on_trial_add(None, _named(name))
        for line in complete_lines(file):
            try:
                record = json.loads(line)
                self._judge(str(record["trial"]), int(record["env_steps"]), float(record[SCORE]))
            except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
                raise UserError(
                    f"{file} is not of an ASHA search ({error!r}); restore it or use another --out folder"
                ) from error

    def on_trial_add(self, tune_controller: Any, trial: Any) -> None:
        """No-op: trials are known by name."""

    def on_trial_result(self, tune_controller: Any, trial: Any, result: dict[str, Any]) -> str:
        """Record a validation, and judge it."""
        if SCORE not in result:
            return str(TrialScheduler.CONTINUE)
        record = {"trial": str(trial), "env_steps": result["env_steps"], SCORE: result[SCORE]}
        with self._file.open("ab") as file:
            file.write(json.dumps(record).encode() + b"\n")
        return self._judge(record["trial"], record["env_steps"], record[SCORE])

    def on_trial_complete(self, tune_controller: Any, trial: Any, result: dict[str, Any]) -> None:
        """No-op: its last validation has been judged."""

    def on_trial_remove(self, tune_controller: Any, trial: Any) -> None:
        """No-op."""

    def _judge(self, trial: str, env_steps: int, value: float) -> str:
        decision = super().on_trial_result(None, _named(trial), {"env_steps": env_steps, SCORE: value})
        if decision == TrialScheduler.STOP:
            self.stopped.add(trial)
        return str(decision)


def _named(name: str) -> Any:
    return SimpleNamespace(trial_id=name)


class Pbt(PrivatePopulation, PopulationBasedTraining):  # type: ignore[misc]
    """Tune's PBT, which draws from global generators, with draws that depend on a seed and the generation alone."""

    def __init__(self, seed: Sequence[int], **settings: Any) -> None:
        super().__init__(**settings)
        self._seed = seed

    def on_trial_result(self, tune_controller: Any, trial: Any, result: dict[str, Any]) -> str:
        """Judge a member; the last one of a generation lets the others exploit and explore."""
        states, generation = (random.getstate(), np.random.get_state()), result.get(GENERATION, 0)
        (number,) = np.random.SeedSequence([*self._seed, generation]).generate_state(1)
        random.seed(int(number))
        np.random.seed(number)
        awaited = self.awaited_generation
        try:
            return str(super().on_trial_result(tune_controller, trial, result))
        finally:
            if self.awaited_generation > awaited:  # Tune sets it to this one where an update passed over others
                self.awaited_generation = max(self.awaited_generation, generation + 1)
            random.setstate(states[0])
            np.random.set_state(states[1])


def population(
    experiment: BaseExperiment,
    requests: Sequence[Request],
    space: SearchSpace,
    paths: Sequence[str],
    budget: int,
    seed: Sequence[int],
) -> tuple[list[Request], Any]:
    """Members for the remaining generations, and Tune's scheduler, whose draws depend on the seed."""
    least = min(map(trained_env_steps, requests), default=0)
    ends = generation_ends(budget)
    first = next((generation for generation, end in ends.items() if end > least), GENERATIONS)
    judged = {"objective": space.objective, "ends": ends, "first": first}
    members = []
    for request in requests:
        config = read_configuration(experiment, request["config"])
        values = member_values(experiment, Path(request["folder"]), config, paths)
        members.append(request | judged | {"values": values})
    domains = {path: space.domains[path] for path in paths}

    def within_domains(config: dict[str, Any]) -> dict[str, Any]:
        values = config["request"]["values"]
        for path, domain in domains.items():
            if finite_choices(domain) is None:
                top = domain.upper - isinstance(values[path], int)  # Tune excludes the upper bound of integers
                values[path] = rounded(min(max(values[path], domain.lower), top), domain)
        return config

    scheduler = Pbt(
        seed,
        time_attr=GENERATION,
        metric=SCORE,
        mode="max",
        perturbation_interval=1,
        burn_in_period=first,
        hyperparam_mutations={
            "request": {"values": {path: finite_choices(domain) or domain for path, domain in domains.items()}}
        },
        custom_explore_fn=within_domains,
        log_config=False,
        require_attrs=False,
        synch=True,
    )
    return members, scheduler
