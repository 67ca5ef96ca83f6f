"""Rock-paper-scissors: what teams learn without Ray, and what would not pass."""

import numpy as np
import pytest

from rl_envs.matrix_game.payoff import value_against_adversary, values_by_reply
from rl_models.schedule import Progress, Schedule
from rl_models.teams.constant_team import constant_team
from tune_experiments.matrix_game import (
    EXPERIMENT,
    LAPTOP,
    OPTIMUM,
    PAPER,
    SMOKE,
    InformedAdversary,
    joint_policy,
    plan,
)
from tune_experiments.play.loading import load_policy
from tune_experiments.results.trial_log import read_metrics
from tune_experiments.run.final_evaluation import read_test_results
from tune_experiments.run.trial import Trial

TOLERANCE = 0.004
MARGINAL = OPTIMUM["marginal"]


def train(folder, config, method):
    rows = []
    Trial(EXPERIMENT, config, method, 0, folder).run(rows.append)
    return {result.metric: result for result in read_test_results(folder)}, rows


def test_the_adversary_is_told_the_present_policy():
    class World:
        def set_adversary(self, probabilities):
            self.odds = probabilities

    world, policy = World(), constant_team(1, 2, 3, seed=3)
    values = values_by_reply(joint_policy(policy))
    InformedAdversary(Schedule.constant(1e-4))(world, policy, Progress())
    assert world.odds == pytest.approx(np.eye(3)[values.argmin()], abs=1e-6)
    InformedAdversary(Schedule.constant(0.5))(world, policy, Progress())
    assert np.log(world.odds) * -0.5 - values == pytest.approx([(np.log(world.odds) * -0.5 - values)[0]] * 3)


@pytest.mark.long
def test_marginal_teams_learn_the_best_product(tmp_path):
    results, rows = train(tmp_path, LAPTOP, "marginal")
    assert results["value_against_adversary"].value == pytest.approx(MARGINAL, abs=TOLERANCE)
    assert results["tvd"].value == pytest.approx(0, abs=1e-6)
    assert results["value_against_adversary"].split == "exact"
    assert results["value_against_adversary"].n_episodes is None
    joint = np.load(tmp_path / "rock_paper_scissors_figures.npz")["_joint_policy"]
    assert value_against_adversary(joint) == results["value_against_adversary"].value
    assert [row["env_steps"] for row in rows] == [row["env_steps"] for row in read_metrics(tmp_path / "metrics.jsonl")]


@pytest.mark.long
def test_sync_teams_learn_the_best_policy_of_all(tmp_path):
    results, rows = train(tmp_path, LAPTOP, "sync")
    assert results["value_against_adversary"].value > -0.05
    assert results["invalid_probability"].value < 0.05
    assert rows[-1]["valid/value_against_adversary"] == results["value_against_adversary"].value
    loaded = load_policy(tmp_path)
    obs = EXPERIMENT.test_world(LAPTOP, 300).reset(0)
    actions = loaded.act(obs)
    assert (actions[:, 0] == actions[:, 1]).mean() > 0.95
    assert np.bincount(actions[:, 0], minlength=3).min() > 60


@pytest.mark.parametrize("config", [SMOKE, LAPTOP, PAPER])
def test_all_that_is_annealed_ends_with_the_budget(config):
    for method in config.methods:
        made = plan(config, method, 0)
        end = Progress(env_steps=config.budget_env_steps)
        assert made.optimiser.learning_rate.at(end) == pytest.approx(config.final_learning_rate)
        assert made.objective.entropy_coef.at(end) == 0
        assert made.optimiser.learning_rate.at(Progress()) == config.learning_rate
