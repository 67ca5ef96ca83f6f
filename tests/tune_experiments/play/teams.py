"""Untrained teams of the experiments' smoke presets, without Ray and without a folder."""

import dataclasses

from tune_experiments.experiment.finding import find_experiment
from tune_experiments.play.loading import LoadedPolicy


def untrained(experiment, method, stage=-1, **changes):
    """A team as `load_policy` gives it, of the smoke preset with changes, in the last or another stage."""
    found = find_experiment(experiment)
    config = dataclasses.replace(found.presets["smoke"], **changes)
    made = found.plan(config, method, 0)
    names, progress = [stage.name for stage in made.stages], {"env_steps": 0, "episodes": 0, "updates": 0}
    ended = [{"name": name, "passed": None, "progress": progress, "env_steps": 0} for name in names[:stage]]
    curriculum = {"stage": names[stage], "progress": progress, "values": [], "ended": ended}
    state = {"method": method, "seed": 0, "progress": progress, "validated_at": 0}
    state |= {"curriculum": curriculum} if made.is_staged else {}
    return LoadedPolicy(made.stages[stage].plan.build_policy(), found, config, state)
