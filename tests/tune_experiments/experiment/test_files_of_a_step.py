"""From an environment step to the optimiser's a team passes few files, and none of a cache, graph or noise it lacks."""

import importlib
import sys
from pathlib import Path

import pytest

from rl_models.training.collector import Collector
from rl_models.training.loop import Learner

ROOT = Path(__file__).parents[3]
PACKAGES = tuple(str(ROOT / name) for name in ("rl_envs", "rl_models", "tune_experiments"))


def files_entered(function):
    """Files of our packages of which a function is called."""
    files = set()

    def note(frame, event, _argument):
        if event == "call":
            files.add(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(before)
    return {str(Path(file).relative_to(ROOT)) for file in files if file.startswith(PACKAGES)}


@pytest.mark.parametrize(
    ("script", "method", "limit"),
    [
        ("furnmove_sync", "sync_4", 25),
        ("rtfm_txt2pi", "txt2pi", 24),
        ("overcooked_selfplay", "selfplay", 28),
        pytest.param("endi_rtfm", "endi_dis", 28, marks=pytest.mark.slow),
        pytest.param("verco_salad", "verco", 28, marks=pytest.mark.slow),
    ],
)
def test_a_step_enters_few_files_from_world_to_optimiser(script, method, limit):
    experiment = importlib.import_module(f"tune_experiments.{script}").EXPERIMENT
    plan = experiment.plan(experiment.presets["smoke"], method, 0).stages[0].plan
    policy = plan.new_policy()
    collector = Collector(plan.make_world(num_worlds=2, first_world=0), policy, 1, plan.objective.needs_values)
    learner = Learner(policy, plan.objective, plan.optimiser)
    collector.reset(0)
    learner.update([collector.collect()])
    entered = files_entered(lambda: learner.update([collector.collect()]))
    assert len(entered) <= limit, sorted(entered)
