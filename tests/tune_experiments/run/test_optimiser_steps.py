"""Optimiser steps in the log of a trial: of all stages, and after a kill as if there had been none."""

import pytest

from rl_models.algorithms.impala import Impala
from rl_models.algorithms.ppo import Ppo
from tests.tune_experiments.run.stages import BATCH, Config, experiment, plan
from tune_experiments.experiment.curriculum import Curriculum
from tune_experiments.experiment.plan import Stage
from tune_experiments.results.trial_log import OPTIMISER_STEPS, read_metrics
from tune_experiments.run.trial import Trial


def logged(folder, declared):
    """The numbers of the log after training."""
    Trial(experiment(declared, "calm"), Config(), "walkers", 0, folder).run(lambda row: None)
    return [row[OPTIMISER_STEPS] for row in read_metrics(folder / "metrics.jsonl")]


@pytest.mark.parametrize("kind", [Ppo, Impala])
def test_each_row_says_how_many_were_made_in_all_sessions_and_stages(kind, tmp_path):
    def stage(name, updates):
        objective = kind(num_epochs=3, num_minibatches=2)
        return Stage(name=name, plan=plan(name, objective=objective, budget_env_steps=updates * BATCH))

    one, two = stage("calm", 3), stage("windy", 2)
    assert logged(tmp_path / "whole", Curriculum((one, two))) == [6, 12, 18, 24, 30]
    begun = Curriculum((stage("calm", 2),))
    assert logged(tmp_path / "killed", begun) == [6, 12]
    assert logged(tmp_path / "killed", Curriculum((one,))) == [6, 12, 18]
