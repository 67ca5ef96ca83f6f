"""Search of an experiment, `--search 12`: its trials and its report.

All methods have the same number of settings. Trials that are compared during training share a session of Ray Tune.
"""

import dataclasses
import functools
import itertools
import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from tune_experiments.core.config_json import DataclassInstance, config_to_json
from tune_experiments.core.config_path import flags_between
from tune_experiments.core.drawing import attempt, describe_drawings, with_older
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.base_experiment import BaseExperiment, Config
from tune_experiments.experiment.command_line import RunOptions
from tune_experiments.experiment.search_space import DEFAULT_OBJECTIVE, SearchSpace
from tune_experiments.experiment.unread_flags import unread_flags
from tune_experiments.results.intervals import NONE
from tune_experiments.results.rows import Result, write
from tune_experiments.results.trial_log import score
from tune_experiments.run.final_evaluation import read_test_results
from tune_experiments.run.population import EXPLOITS_FILE, generation_ends, member_values
from tune_experiments.run.ray_cluster import check_this_machine
from tune_experiments.run.request import Request, as_searcher, make_request
from tune_experiments.run.run_folder import RunFolder
from tune_experiments.search.folder import (
    Ranked,
    Ranking,
    claim_for_search,
    command,
    draw_scores,
    has_best,
    rank,
    write_hparams,
    write_ranking,
)
from tune_experiments.search.settings import KINDS, Setting, all_settings, draw_settings, parse_search_space

RUNGS_FILE = "asha.jsonl"
_SEEDS_OF_A_FULL_RUN = 3
_JUDGED = {
    "all": "A score is the mean over the validations in the last quarter of training, then over seeds. Setting 0 is "
    "the configuration that the search started from. The best of many is partly luck, so each command trains its "
    "winner again, with other seeds.",
    "asha": "ASHA judges single trials: a row is a setting with one seed, and a lucky seed passes a rung where an "
    "unlucky one is stopped. Only trials that reached their end are ranked, by the mean over the validations in the "
    "last quarter of training. Setting 0 is the configuration that the search started from. Each command trains its "
    "winner again, with other seeds.",
    "pbt": "Each seed is a population, in which setting 0 began with the configuration that the search started from. A "
    "score is the mean over the validations of the last generation; values are those of the end. Each "
    f"exploit is in {EXPLOITS_FILE} of its trial.",
}


@dataclasses.dataclass(frozen=True)
class TuneSession:
    """Trials of one session of Ray Tune, with its searcher and scheduler, if any."""

    requests: Sequence[Request]
    searcher: Any = None
    tune_scheduler: Any = None


class Search:
    """A search and its settings; UserError if the experiment has no search space, or one with fewer settings."""

    def __init__(self, experiment: BaseExperiment, config: DataclassInstance, options: RunOptions) -> None:
        self._experiment, self._config, self._options = experiment, config, options
        self.by, self.space = options.search_by, _space(experiment, config, options)
        self._methods = experiment.methods(config)
        self.drawn = {method: self._draw(method) for method in self._methods}
        self._get_settings: Callable[[str], Sequence[Setting]] = self.drawn.__getitem__
        self._check_given_space()
        self._check_processes()

    def _draw(self, method: str) -> list[Setting]:
        if self.by == "grid":
            return all_settings(self.space, self._config, method)[: self._options.search]
        count = 1 if self.by == "optuna" else self._options.search or 1
        return draw_settings(self.space, self._config, method, count, self._options.search_seed)

    def _check_given_space(self) -> None:
        """Check that some setting reads each field of `--search-over`; TPE and PBT draw settings later."""
        if not self._options.search_over or self.by in ("optuna", "pbt"):
            return
        read = {path for tried in self.drawn.values() for setting in tried for path in setting.values}
        if unread := [path for path in self.space.domains if path not in read]:
            raise UserError(f"--search-over {unread[0]} has no effect on {', '.join(self._methods)}: leave it out")

    def _check_processes(self) -> None:
        """Check this machine's CPUs for all settings, as a search may vary the processes of a trial."""
        at_once, members = self._options.max_concurrent_trials, self._options.search or 1
        if self.by == "pbt" and at_once is not None and at_once < members:
            raise UserError(
                f"--max-concurrent-trials {at_once} is not for --search-by pbt, whose {members} members share the "
                f"CPUs; leave it out"
            )
        varied = [path for path in self.space.domains if path.split(".")[0] == "workers"]
        if varied and self.by in ("optuna", "pbt"):
            raise UserError(
                f"--search-by {self.by} cannot vary {varied[0]}: it needs trials of the same processes; use random"
            )
        for method, tried in self.drawn.items():
            for cpus in {self._plan(one, method).workers.cpus for one in tried}:
                check_this_machine(cpus)

    def claim(self, out: Path) -> None:
        """Record the search in its folder; UserError where the folder is of another one."""
        options, document = self._options, dict[str, Any]()
        domains = {path: _words(domain) for path, domain in self.space.domains.items()}
        # The configuration as well: scores are kept when trials without a checkpoint are reset.
        document |= {"by": self.by, "search_seed": options.search_seed, "space": domains}
        document |= {"config": config_to_json(self._config)}
        if self.by not in ("random", "grid"):  # the ranking is made at the end, by the objective of that session
            document |= {"objective": self.space.objective, "seeds": list(options.seeds)}
        if self.by in ("asha", "pbt"):
            document |= {"search": options.search}
        claim_for_search(out, document)

    def sessions(self, folder: RunFolder) -> list[TuneSession]:
        """Sessions of Ray Tune."""
        seeds, folders = self._options.seeds, folder.path / "trials"
        if self.by in ("random", "grid"):
            together = itertools.zip_longest(*self.drawn.values())  # every method's first settings first
            pairs = [pair for row in together for pair in zip(self._methods, row, strict=True)]
            # A grid has fewer settings for a method that does not use all of its fields.
            tried = [(method, setting, seed) for method, setting in pairs if setting for seed in seeds]
            return [TuneSession([self._request(folder, setting, method, seed) for method, setting, seed in tried])]
        if self.by == "optuna":
            return [self._optuna_session(folder)]
        from tune_experiments.search.schedulers import Asha, population

        sessions = []
        for method, settings in self.drawn.items():
            budget = self._plan(settings[0], method).budget_env_steps
            if self.by == "asha":
                requests = [self._request(folder, one, method, seed) for one in settings for seed in seeds]
                file = folder.path / f"{method}_{RUNGS_FILE}"
                asha = Asha([request["name"] for request in requests], budget, file)
                left = [request for request in requests if request["name"] not in asha.stopped]
                judged = [request | {"objective": self.space.objective} for request in left]
                sessions.append(TuneSession(judged, None, asha))
                continue
            paths = [path for path in self.space.domains if self.space.uses(self._config, method, path)]
            for seed in seeds:
                requests = [self._request(folder, one, method, seed) for one in settings]
                left = [one for one in requests if read_test_results(folders / one["name"]) is None]
                entropy = self._options.search_seed, seed, *method.encode()
                members, pbt = population(self._experiment, left, self.space, paths, budget, entropy)
                sessions.append(TuneSession(members, None, pbt))
        return sessions

    def _optuna_session(self, folder: RunFolder) -> TuneSession:
        from tune_experiments.search.optuna_search import JOURNAL_FILE, OptunaSearch

        make_trial_request = functools.partial(self._request, folder)
        options, count = self._options, self._options.search or 1
        starts = {method: self._config for method in self._methods}
        journal = folder.path / JOURNAL_FILE
        search = OptunaSearch(
            self.space, starts, options.seeds, count, options.search_seed, journal, make_trial_request
        )
        self._get_settings = search.settings
        requests = []
        for method in self._methods:
            known = search.settings(method)
            later = [dataclasses.replace(known[0], number=number) for number in range(len(known), count)]
            requests += [make_trial_request(one, method, seed) for one in (*known, *later) for seed in options.seeds]

        return TuneSession(requests, as_searcher(search.next_request))

    def show(self, folder: RunFolder, console: Console) -> None:
        """Rank finished settings, write the report and print the best setting of each method."""
        objective, out = self.space.objective, folder.path
        script = None if self.by == "pbt" else f"-m tune_experiments {self._experiment.entry_point}"
        ranking = {method: rank(self._finished(method, out / "trials")) for method in self._methods}
        judged = _JUDGED.get(self.by, _JUDGED["all"])
        write_ranking(out, self._experiment.caption, objective, ranking, judged, script)
        write(folder.results, self._validated(ranking))
        for method, ranked in ranking.items():
            for line in _verdict(method, ranked, len(self._get_settings(method)), objective, script, out / "trials"):
                console.print(line)
        drawn = attempt("figure of the search", lambda: draw_scores(out / "plots", ranking, objective))
        for line in describe_drawings(with_older(drawn, out / "plots/search.png")):
            console.print(line)
        write_hparams(out, ranking, objective)
        console.print(f"wrote {out / 'search.md'}; curves and HParams: tensorboard --logdir {shlex.quote(str(out))}")

    def _finished(self, method: str, trials: Path) -> list[Ranked]:
        """Settings whose seeds have all finished; single trials for ASHA and PBT."""
        found = []
        for setting in self._get_settings(method):
            folders = {seed: trials / _name(method, setting.number, seed) for seed in self._options.seeds}
            done = {seed: folder for seed, folder in folders.items() if read_test_results(folder) is not None}
            if self.by in ("asha", "pbt"):
                found += [self._ranked(setting, method, {seed: folder}) for seed, folder in done.items()]
            elif len(done) == len(folders):
                found.append(self._ranked(setting, method, done))
        return found

    def _ranked(self, setting: Setting, method: str, folders: Mapping[int, Path]) -> Ranked:
        objective = self.space.objective
        if self.by != "pbt":
            by_seed = {seed: score(folder, objective) for seed, folder in folders.items()}
            return Ranked(setting, by_seed, self._flags(setting.config, method))
        # Validations before the last generation may be of weights that an exploit has replaced.
        since = max(generation_ends(self._plan(setting, method).budget_env_steps).values())
        by_seed = {seed: score(folder, objective, since) for seed, folder in folders.items()}
        (folder,) = folders.values()
        values = member_values(self._experiment, folder, setting.config, list(setting.values))
        return Ranked(dataclasses.replace(setting, values=values), by_seed, ())

    def _validated(self, ranking: Ranking) -> list[Result]:
        """Scores as rows of results.jsonl, so that settings can be compared like methods."""
        group, _, metric = self.space.objective.rpartition("/")
        return [
            Result(
                experiment=self._experiment.name,
                table=f"Search by {self.space.objective}",
                method=f"{method}, setting {one.setting.number}",
                world="validation",
                split=group or "valid",
                seed=seed,
                metric=metric,
                value=value,
                interval=NONE,
            )
            for method, ranked in ranking.items()
            for one in sorted(ranked, key=lambda one: one.setting.number)
            if math.isfinite(one.score)  # without a diverged seed: a mean of the others would rank above it
            for seed, value in one.by_seed.items()
        ]

    def _request(self, folder: RunFolder, setting: Setting, method: str, seed: int) -> Request:
        name = _name(method, setting.number, seed)
        return make_request(self._experiment.entry_point, setting.config, method, seed, folder, name, False)

    def _plan(self, setting: Setting, method: str) -> Any:
        return self._experiment.plan(setting.config, method, self._options.seeds[0], None)

    def _flags(self, config: Any, method: str) -> tuple[str, ...]:
        """Flags of a full run of one method, with seeds that were not used in the search."""
        if any(field.name == "methods" for field in dataclasses.fields(config)):
            config = dataclasses.replace(config, methods=(method,))
        first, presets = max(self._options.seeds) + 1, self._experiment.presets
        preset = self._options.preset if self._options.preset in presets else self._experiment.default_preset
        changes = flags_between(presets[preset], config, but=unread_flags(config, method))
        seeds = map(str, range(first, first + _SEEDS_OF_A_FULL_RUN))
        return "--preset", preset, *changes, "--seeds", *seeds, "--out", f"runs/{method}_of_search"


def _space(experiment: BaseExperiment[Config], config: Config, options: RunOptions) -> SearchSpace:
    declared = experiment.search_space()
    if options.search_over:
        # Without a search space: the first validation metric of the live line.
        shown = (key for key in experiment.columns.values() if key.startswith("valid/"))
        space = parse_search_space(options.search_over, config, declared, next(shown, DEFAULT_OBJECTIVE))
    elif declared is not None:
        space = declared
    else:
        raise UserError(
            f"{experiment.name} has no search space for --search to draw from; name one with --search-over PATH={KINDS}"
        )
    if options.search_objective is not None:
        space = dataclasses.replace(space, objective=options.search_objective.replace("-", "_"))
    return space


def _words(domain: Any) -> str:
    if isinstance(domain, dict):
        return f"grid {domain['grid_search']}"
    return f"{type(domain).__name__} {domain.get_sampler()} {domain.domain_str}"


def _verdict(
    method: str, ranked: Sequence[Ranked], tried: int, objective: str, script: str | None, trials: Path
) -> list[str]:
    """Lines on the best setting, with the score of setting 0 on the same seeds."""
    diverged = [str(one.setting.number) for one in ranked if one.score == -math.inf]
    also = [f"{method}: settings that diverged, ranked last: {', '.join(diverged)}"] if diverged else []
    if not has_best(ranked):
        return [f"{method}: no setting has finished with a finite score", *also]
    best, *others = ranked
    equals = [one for one in others if one.setting.number == 0 and one.by_seed.keys() == best.by_seed.keys()]
    own = f", setting 0 has {equals[0].score:.4f}" if equals else ""
    seeds = " ".join(map(str, best.by_seed))
    winner = trials / _name(method, best.setting.number, next(iter(best.by_seed)))
    name, finished = f"setting {best.setting.number} (seeds {seeds})", len({one.setting.number for one in ranked})
    of = f"{tried}" if finished == tried else f"{finished} that finished, of {tried}"
    return [
        f"{method}: {name} is the best of {of}: {objective} {best.score:.4f}{own}",
        f"  {command(script, best) if script else f'python -m tune_experiments evaluate {shlex.quote(str(winner))}'}",
        *also,
    ]


def _name(method: str, number: int, seed: int) -> str:
    return f"{method}-setting{number:02}-seed{seed}"
