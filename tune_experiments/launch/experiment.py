"""`Experiment`, what an experiment file subclasses, with `run`; and `main`, the command line of its script.

    class MyTable(Experiment[MyConfig]):
        name, caption, presets = "my_table", "What my table shows", {"smoke": ..., "laptop": ...}

        def plan(self, config, method, seed, trial_folder): ...

    EXPERIMENT = MyTable()

    if __name__ == "__main__":
        sys.exit(main(EXPERIMENT))

`plan` and all hooks are described in `base_experiment.py`.
"""

from __future__ import annotations

import functools
import logging
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rl_models.configuration import DeviceChoice
from tune_experiments.core.config_path import match_name, with_flags, with_overrides
from tune_experiments.core.drawing import Drawn, attempt
from tune_experiments.core.errors import UserError, ending_threads, exits_with_one_sentence
from tune_experiments.core.import_path import append_current_folder
from tune_experiments.experiment.base_experiment import BaseExperiment, Config
from tune_experiments.experiment.command_line import RunOptions, check_options, parse
from tune_experiments.experiment.config_file import CUSTOM
from tune_experiments.play.episode import MAX_STEPS, Episode, record_episodes
from tune_experiments.play.recording import SEED, record_episode
from tune_experiments.play.spectator import Spectator

if TYPE_CHECKING:
    from tune_experiments.launch.finished_run import Callback, Run
    from tune_experiments.play.loading import LoadedPolicy
    from tune_experiments.play.trial_figures import Trials


_OPTIONS = ("search", "search_by", "search_over", "search_objective", "search_seed")


class Experiment(BaseExperiment[Config]):
    """One table of a paper; see `BaseExperiment` for the methods to implement and override."""

    def run(
        self,
        preset: str | None = None,
        *,
        out: str | Path | None = None,
        seeds: Sequence[int] | None = None,
        config: Config | None = None,
        device: DeviceChoice = "auto",
        max_concurrent_trials: int | None = None,
        slice_seconds: float | None = None,
        local: bool = False,
        callbacks: Sequence[Callback] = (),
        **overrides: Any,
    ) -> Run[Config]:
        """Train every method with every seed, evaluate it, and write tables, figures and videos, as the script does.

        Called again with the same `out`, it continues the run.

        Args:
            preset: Name of a preset; by default `laptop`.
            out: Folder, or URI of an object store, of the run; by default `runs/NAME_PRESET`.
            seeds: Seeds of the trials; by default the experiment's.
            config: Configuration in place of a preset.
            device: Device of all networks: `auto` takes a GPU if there is one; `cpu`; or `cuda`.
            max_concurrent_trials: Largest number of trials at the same time; None: as many as the cluster can run.
            slice_seconds: Seconds after which the run stops at checkpoints; `is_complete` of the result is False then.
            local: Whether to train one trial after another in this process, without Ray.
            callbacks: Called at validations, checkpoints and the end, in this process; never stored.
            overrides: Fields of the configuration, nested ones by dotted path (`**{"learner.gamma": 0.9}`), and the
                options of a search, named as on the command line (`search=12, search_by="asha"`).

        Returns:
            Results, tables, paths and trained policies.

        Raises:
            UserError: A wrong argument, or a trial that failed permanently.
        """
        from tune_experiments.launch.finished_run import Callback
        from tune_experiments.launch.launch import launch
        from tune_experiments.run.trial_errors import PermanentFailure

        preset = preset if preset is None else match_name(str(preset), self.presets)
        if preset is not None and preset not in self.presets:
            raise UserError(f"preset must be one of {', '.join(self.presets)}, not {preset!r}")
        chosen = preset or (CUSTOM if config is not None else self.default_preset)
        searching = {name: overrides.pop(name) for name in _OPTIONS if name in overrides}
        start = self.presets[chosen] if config is None else config
        if not isinstance(start, self.config_class):
            raise UserError(f"config must be a {self.config_class.__name__}, not a {type(start).__name__}")
        if not all(isinstance(callback, Callback) for callback in callbacks or ()):
            raise UserError("callbacks must be a list of objects whose class derives from Callback")
        options = RunOptions(
            preset=chosen,
            out=Path(out) if isinstance(out, str | os.PathLike) else out,
            seeds=self.seeds if seeds is None else _as_tuple(seeds),
            device=device,
            max_concurrent_trials=max_concurrent_trials,
            slice_seconds=slice_seconds,
            local=local,
            **searching,
        )
        check_options(options)
        run = launch(self, with_overrides(start, overrides), options, callbacks or ())
        if run.failures:
            failed = "; ".join(
                f"{name} failed: {with_flags(reason, run.config)}" for name, reason in run.failures.items()
            )
            is_permanent = any(isinstance(one, PermanentFailure) for one in run.failures.values())
            advice = "fix it; " if is_permanent else ""
            raise UserError(f"{failed}; {advice}the same call continues the run in {run.out}")
        return run

    def figures(self, run_folder: Path, trials: Mapping[str, Mapping[int, Path]]) -> Sequence[Drawn]:
        """Learning curves of `curves`, and a video of each method if the environment renders."""
        from tune_experiments.play.trial_figures import draw_curves, draw_teams

        curves = self.curves or {key: heading for heading, key in self.columns.items()}

        groups = self.curve_groups(trials).items() if curves else ()
        drawn = [one for name, group in groups for one in draw_curves(run_folder, group, curves, bins=40, name=name)]
        return [*drawn, *draw_teams(trials, {"video": functools.partial(self.draw_video, run_folder / "videos")})]

    def draw_video(self, folder: Path, method: str, team: LoadedPolicy) -> Path | Iterable[Drawn]:
        """Write `video` into a folder, in files with the method's name."""
        from tune_experiments.play.video import write_gif

        return write_gif(self.video(team), folder / f"{method}.gif", self.frame_seconds)

    def curve_groups(self, trials: Trials) -> Mapping[str, Trials]:
        """Name of a figure of learning curves -> its methods; by default all methods in one figure."""
        return {"curves": trials}

    def video(self, loaded: LoadedPolicy, seed: int = SEED) -> Sequence[np.ndarray]:
        """Rendered frames of an episode, [H, W, 3] uint8 each."""
        return record_episode(loaded, seed)

    def episodes(
        self, loaded: LoadedPolicy, seed: int = SEED, episodes: int = 1, max_steps: int = MAX_STEPS
    ) -> Sequence[Episode]:
        """First episodes, one per environment."""
        return record_episodes(loaded, seed, episodes, max_steps)

    def spectator(self, loaded: LoadedPolicy) -> Spectator:
        """Shows the rendered frame."""
        return Spectator(loaded)

    def page(self, run_folder: Path, trials: Mapping[str, Mapping[int, Path]]) -> Sequence[Drawn]:
        """An episode of each method's first seed, all from one start; longer ones by `concord show`."""
        from tune_experiments.play.show import PAGE, PAGE_MAX_STEPS, write_page
        from tune_experiments.play.trial_figures import trained_teams

        teams: list[LoadedPolicy] = []

        def load(method: str) -> Sequence[Drawn]:
            teams.extend(team for _, team in trained_teams({method: trials[method]}))
            return []

        def draw() -> Sequence[Drawn]:
            return write_page(run_folder / PAGE, teams, max_steps=PAGE_MAX_STEPS) if teams else []

        missing = [one for method in trials for one in attempt(f"{method} in {PAGE}", functools.partial(load, method))]
        return [*missing, *attempt(PAGE, draw)]


def _as_tuple(seeds: Any) -> tuple[Any, ...]:
    several = seeds if isinstance(seeds, Iterable) else (seeds,)
    return tuple(seed.item() if isinstance(seed, np.integer) else seed for seed in several)


@exits_with_one_sentence
def main(experiment: BaseExperiment, arguments: Sequence[str] | None = None, prog: str = "") -> int:
    """Train every method with every seed, evaluate it, and write tables, plots and videos, as the command line says."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
    append_current_folder()
    words = sys.argv[1:] if arguments is None else arguments
    named = experiment.entry_point
    config, options = parse(experiment.presets, words, experiment.caption, experiment.seeds, prog, named)
    from tune_experiments.launch.launch import launch

    code = 1 if launch(experiment, config, options).failures else 0
    return ending_threads(code) if arguments is None else code
