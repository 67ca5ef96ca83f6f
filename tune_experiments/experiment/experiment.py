"""What an experiment is: presets, methods, how a trial is put together, how it is judged, what is drawn.

An experiment file fills in one `Experiment` and ends with `sys.exit(main(EXPERIMENT))`. Everything that crosses a
process boundary is a name and JSON: a worker imports the experiment's module again and builds its own objects.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rl_models.policy import TeamPolicy
from tune_experiments.experiment.config_json import config_from_json
from tune_experiments.experiment.curriculum import Curriculum
from tune_experiments.experiment.errors import UserError
from tune_experiments.experiment.plan import Episodes, TrialPlan
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperTable
from tune_experiments.search.search import SearchSpace


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One table of a paper.

    Attributes:
        name: the file's name, `tune_experiments/NAME.py`.
        caption: what the table shows, for people.
        presets: name -> configuration.
        methods: rows of the table for a configuration.
        plan: `(config, method, seed) -> TrialPlan`, or a curriculum of several.
        test: `(config, policy) -> world name -> Episodes`: the final evaluation.
        departures: what a configuration shrinks or changes against the paper, one sentence each.
        tables: `(results) -> tables`, from results.jsonl alone.
        of_training: `(method, rows of the log) -> world name -> metric -> value`: what training itself leaves in
            results.jsonl, under split "train".
        draw: `(run folder, method -> seed -> trial folder)`: pictures and videos; returns what it wrote.
        make_test_world: `(config, num_worlds) -> World` for play and render.
        make_valid_world: the same for validation, where those worlds can be wrong: looked at before a run starts.
        film: `(loaded team, seed) -> frames` of an episode, for render; the world's own pictures by default.
        seeds: trained when the command line names none.
        split: of the test results; "exact" where `test` computes numbers and plays no episode.
        is_greedy: whether a trained team plays its likeliest actions, as in the test, or samples.
        draws_noise: `(config) -> bool`: whether networks that draw something themselves, as EnDi's draw masks, do so
            after training, or take what is likeliest.
        columns: what the live line of a trial shows, heading -> key of the log.
        check: `(config)`, refuses before a run starts what it alone needs and has not got, such as an endpoint's key.
        placed: `(config, trial folder) -> config` in which paths of what a trial writes beside its checkpoints are
            whole; what is stored stays as it was.
        prepare: `(config, method, trial folder)`: leaves beside a trial's checkpoints what its team cannot do without
            elsewhere; called whenever the trial begins or goes on.
        export: `(loaded team, folder) -> what it wrote`: the team in another library's format, if there is any.
        shared: `(config) -> context` that is open while trials train, in the process that leads the run: what they have
            in common, such as one endpoint.
        search_space: makes what `--search` varies; a function, because its domains are Ray Tune's and Ray is imported
            only where it is used.
    """

    name: str
    caption: str
    presets: Mapping[str, Any]
    methods: Callable[[Any], Sequence[str]]
    plan: Callable[[Any, str, int], TrialPlan | Curriculum]
    test: Callable[[Any, TeamPolicy], dict[str, Episodes]]
    departures: Callable[[Any], Sequence[str]]
    tables: Callable[[Sequence[Result]], Sequence[PaperTable]]
    draw: Callable[[Path, dict[str, dict[int, Path]]], Sequence[Path]]
    make_test_world: Callable[[Any, int], Any]
    of_training: Callable[[str, Sequence[Mapping[str, float]]], dict[str, dict[str, float]]] = lambda method, rows: {}
    make_valid_world: Callable[[Any, int], Any] | None = None
    film: Callable[[Any, int], Sequence[Any]] | None = None
    seeds: tuple[int, ...] = (0,)
    split: str = "test"
    is_greedy: bool = False
    draws_noise: Callable[[Any], bool] = lambda config: True
    check: Callable[[Any], None] = lambda config: None
    placed: Callable[[Any, Path], Any] = lambda config, folder: config
    prepare: Callable[[Any, str, Path], None] = lambda config, method, folder: None
    export: Callable[[Any, Path], Sequence[Path]] | None = None
    shared: Callable[[Any], contextlib.AbstractContextManager[None]] = lambda config: contextlib.nullcontext()
    search_space: Callable[[], SearchSpace] | None = None
    columns: Mapping[str, str] = field(
        default_factory=lambda: {
            "return": "episode/return",
            "success": "episode/success",
            "invalid": "policy/invalid_probability",
        }
    )

    @property
    def config_class(self) -> type[Any]:
        """Type of the configurations."""
        return type(next(iter(self.presets.values())))


def find_experiment(name: str) -> Experiment:
    """The experiment of `tune_experiments/NAME.py`.

    Raises:
        UserError: there is none; only files of this folder are ever imported.
    """
    folder = Path(__file__).parent.parent
    known = sorted(path.stem for path in folder.glob("*.py") if not path.stem.startswith("_"))
    if name not in known:
        raise UserError(f"no experiment is called {name!r}; there are {', '.join(known)}")
    experiment: Experiment = importlib.import_module(f"tune_experiments.{name}").EXPERIMENT
    return experiment


def read_configuration(experiment: Experiment, data: Any) -> Any:
    """A configuration from its JSON."""
    return config_from_json(experiment.config_class, data)


def trial_name(method: str, seed: int) -> str:
    """Name of a trial and of its folder."""
    return f"{method}-seed{seed}"


def trial_folders(experiment: Experiment, config: Any, out: Path) -> dict[str, dict[int, Path]]:
    """Method -> seed -> folder, of the trials that lie in a run folder."""
    found: dict[str, dict[int, Path]] = {}
    for method in experiment.methods(config):
        for folder in sorted((out / "trials").glob(f"{method}-seed*")):
            seed = folder.name.removeprefix(f"{method}-seed")
            if seed.isdigit():
                found.setdefault(method, {})[int(seed)] = folder
    return found
