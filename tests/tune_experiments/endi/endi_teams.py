"""EnDi's experiments and untrained teams of their rows."""

import dataclasses

from tune_experiments.experiment.finding import find_experiment
from tune_experiments.play.loading import LoadedPolicy

MESSENGER, RTFM = find_experiment("endi_messenger"), find_experiment("endi_rtfm")


def smoke(experiment, **changes):
    return dataclasses.replace(experiment.presets["smoke"], **changes)


def untrained(experiment, config, row, stage=0):
    """A team at the beginning of one of its stages."""
    made = experiment.plan(config, row, 0)
    names = [one.name for one in made.stages]
    progress = {"env_steps": 0, "episodes": 0, "updates": 0}
    ended = [{"name": name, "passed": None, "progress": progress, "env_steps": 0} for name in names[:stage]]
    curriculum = {"stage": names[stage], "progress": progress, "values": [], "ended": ended}
    state = {"seed": 0, "progress": progress, "validated_at": 0, "method": row, "curriculum": curriculum}
    return LoadedPolicy(made.stages[stage].plan.build_policy(), experiment, config, state)
