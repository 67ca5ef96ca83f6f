"""Checks of a run before its folder is created and anything is started."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from tune_experiments.core.config_path import with_flags
from tune_experiments.core.errors import UserError, one_line
from tune_experiments.core.terminal import Terminal
from tune_experiments.experiment.base_experiment import BaseExperiment, Config
from tune_experiments.experiment.command_line import RunOptions
from tune_experiments.experiment.config_file import check_for_secrets
from tune_experiments.experiment.plan import Stage
from tune_experiments.experiment.unread_flags import check_flags
from tune_experiments.run.placement import checked_device
from tune_experiments.run.ray_cluster import check_this_machine
from tune_experiments.run.run_folder import CONFIG_FILE, read_config
from tune_experiments.run.weight_transfer import check_transfers


def check_run(experiment: BaseExperiment[Config], config: Config, options: RunOptions, out: Path) -> Config:
    """Build the environments of the run, and count this machine's CPUs if it will run here.

    Returns:
        The configuration, adapted to its environment.

    Raises:
        UserError: An invalid argument of an environment, a seed of the test, a flag that no method reads, too many
            processes, or a secret.
    """
    if taken := sorted(set(options.seeds) & set(experiment.evaluation_seeds(config))):
        raise UserError(f"--seeds {taken[0]}: validation or tests use this seed: train with another one")
    check_for_secrets(config)
    presets = experiment.presets
    not_given = [presets[options.preset]] if options.preset in presets else list(presets.values())
    for note in check_flags(config, experiment.methods(config), not_given, options.local):
        Terminal().print(note)
    try:
        stored = read_config(out)[1] if (out / CONFIG_FILE).is_file() else None
        config = experiment.inspect(config, Terminal().print, stored)
        experiment.check(config)
        for method in experiment.methods(config):
            plan = experiment.plan(config, method, options.seeds[0], None)
            if options.local:
                checked_device(options.device)
            else:
                check_this_machine(plan.workers.cpus, options.device)
            for stage in plan.stages:
                with contextlib.closing(stage.plan.make_world(num_worlds=1, first_world=0)) as world:
                    world.reset(options.seeds[0])
            if plan.is_staged:
                _check_curriculum(method, plan.stages, options)
        if (valid_world := experiment.valid_world(config, 1)) is not None:
            with contextlib.closing(valid_world):
                valid_world.reset(0)
        if not options.is_search:
            with contextlib.closing(experiment.test_world(config, 1)) as test_world:
                test_world.reset(0)
    except ValueError as error:
        raise UserError(with_flags(one_line(error), config)) from error
    return config


def _check_curriculum(method: str, stages: Sequence[Stage], options: RunOptions) -> None:
    """Check later stages of a curriculum, whose errors would appear only after earlier stages."""
    if options.is_search:
        raise UserError(
            f"--search cannot rank {method}, which trains in stages: "
            f"a setting that stays in an easy stage would win; vary its flags yourself"
        )
    check_transfers(stages)
