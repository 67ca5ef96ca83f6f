"""TPE of Optuna (Bergstra et al. 2011), which judges a setting by the mean over its seeds.

Each method has a study in `DIR/optuna.jsonl`, Optuna's journal. The next setting depends on the journal and the
search's seed alone, so a killed search continues with the same settings. Nothing is pickled.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tune_experiments.core.config_json import DataclassInstance
from tune_experiments.core.config_path import with_overrides
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.search_space import SearchSpace
from tune_experiments.results.trial_log import finite, score
from tune_experiments.run.final_evaluation import read_test_results
from tune_experiments.run.request import Request
from tune_experiments.search.folder import complete_lines
from tune_experiments.search.settings import DRAWS_PER_SETTING, Setting, finite_choices, rounded

if TYPE_CHECKING:
    from optuna import Study, Trial


JOURNAL_FILE = "optuna.jsonl"
_SETTING = "setting"
"""Attribute of an Optuna trial: number of its setting, written after all its values."""


class OptunaSearch:
    """Settings drawn by TPE from the scores of earlier ones."""

    def __init__(
        self,
        space: SearchSpace,
        starts: Mapping[str, DataclassInstance],
        seeds: Sequence[int],
        count: int,
        search_seed: int,
        journal: Path,
        make_trial_request: Callable[[Setting, str, int], Request],
    ) -> None:
        self._space, self._starts, self._seeds, self._count = space, starts, seeds, count
        self._search_seed, self._request_of = search_seed, make_trial_request
        self._taken: set[str] = set()
        self._settings = {method: [Setting(0, one, space.values(one, method))] for method, one in starts.items()}
        try:
            self._studies = _studies(journal, list(starts))
            self._tell()
        except UserError:
            raise
        except Exception as error:  # any error of Optuna on another file
            raise UserError(
                f"{journal} is not a journal of this search ({error!r}); restore it or use another --out folder"
            ) from error

    def settings(self, method: str) -> list[Setting]:
        """Settings so far, by number."""
        found = self._settings[method]
        for trial in self._studies[method].get_trials(deepcopy=False):
            if trial.user_attrs.get(_SETTING) == len(found):
                drawn = self._config(method, trial.params.__getitem__)
                found.append(Setting(len(found), drawn, self._space.values(drawn, method)))
        return found[: self._count]

    def next_request(self) -> Request | None:
        """Next trial of a known setting, else of a new setting; None if there is none before another one has ended."""
        self._tell()
        for method in self._starts:
            for setting in self.settings(method):
                for seed in self._seeds:
                    request = self._request_of(setting, method, seed)
                    if request["name"] not in self._taken and read_test_results(Path(request["folder"])) is None:
                        self._taken.add(request["name"])
                        return request
            if len(self.settings(method)) < self._count and self._ask(method):
                return self.next_request()
        return None

    def _ask(self, method: str) -> bool:
        """Draw one more setting, different from all others; returns whether there is one."""
        from optuna.samplers import TPESampler
        from optuna.trial import TrialState

        study, known = self._studies[method], self.settings(method)
        for _ in range(DRAWS_PER_SETTING):
            entropy = [self._search_seed, len(study.get_trials(deepcopy=False)), *method.encode()]
            seed = int(np.random.SeedSequence(entropy).generate_state(1)[0])
            study.sampler = TPESampler(seed=seed, constant_liar=True)
            trial = study.ask()
            config = self._config(method, functools.partial(_suggest, trial, self._space.domains))
            same = [one for one in known if one.config == config]
            if not same:
                trial.set_user_attr(_SETTING, len(known))
                return True
            value = self._value(method, same[0])
            study.tell(trial, value, state=TrialState.FAIL if value is None else None)
        return False

    def _config(self, method: str, get_value: Callable[[str], Any]) -> Any:
        config = self._starts[method]
        for path, domain in self._space.domains.items():
            if self._space.uses(config, method, path):
                value, choices = get_value(path), finite_choices(domain)
                config = with_overrides(config, {path: choices[value] if choices else rounded(value, domain)})
        return config

    def _value(self, method: str, setting: Setting) -> float | None:
        """Mean over the seeds; None until all have finished."""
        folders = [Path(self._request_of(setting, method, seed)["folder"]) for seed in self._seeds]
        if any(read_test_results(folder) is None for folder in folders):
            return None
        return finite(float(np.mean([score(folder, self._space.objective) for folder in folders])))

    def _tell(self) -> None:
        """Report settings to the studies when all of their seeds have finished."""
        from optuna.trial import TrialState

        for method, study in self._studies.items():
            settings = {one.number: one for one in self.settings(method)}
            for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
                number = trial.user_attrs.get(_SETTING)
                if number is None:  # the process was killed during the draw
                    study.tell(trial.number, state=TrialState.FAIL)
                elif number in settings and (value := self._value(method, settings[number])) is not None:
                    study.tell(trial.number, value)


def _studies(journal: Path, methods: Sequence[str]) -> dict[str, Study]:
    """Studies in a journal; repairs an incomplete last line and removes the lock of a killed process."""
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    path = journal.resolve()
    path.with_name(f"{path.name}.lock").unlink(missing_ok=True)  # the run folder's own lock is held
    for line in complete_lines(path):
        json.loads(line)
    storage = JournalStorage(JournalFileBackend(str(path)))
    return {
        method: optuna.create_study(storage=storage, study_name=method, direction="maximize", load_if_exists=True)
        for method in methods
    }


def _suggest(trial: Trial, domains: Mapping[str, Any], path: str) -> Any:
    from ray.tune.search.sample import Integer, LogUniform

    domain = domains[path]
    if choices := finite_choices(domain):
        return trial.suggest_categorical(path, range(len(choices)))
    is_log = isinstance(domain.get_sampler(), LogUniform)
    if isinstance(domain, Integer):
        return trial.suggest_int(path, domain.lower, domain.upper - 1, log=is_log)
    return trial.suggest_float(path, domain.lower, domain.upper, log=is_log)
