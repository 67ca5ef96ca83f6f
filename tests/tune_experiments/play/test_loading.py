"""A loaded team chooses as its experiment's test does: greedy or sampled, with a network's noise or without."""

import pytest

from rl_envs import make
from rl_models.networks.qmix_policy import QmixPolicy
from rl_models.policy import fixed_weights
from rl_models.runtime.added_observations import draws_noise
from rl_models.training.evaluation import Evaluation
from tests.tune_experiments.play.teams import untrained
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.play.loading import LoadedPolicy


@pytest.mark.parametrize(
    ("script", "method"),
    [
        ("overcooked_roles", "roma"),
        ("overcooked_roles", "selfplay"),
        ("sama_overcooked", "selfplay-cramped_room"),
        ("sama_overcooked", "mappo-cramped_room"),
        ("sama_frozen_lake", "mappo"),
        ("furnmove_sync", "sync_4"),
        ("rtfm_txt2pi", "txt2pi"),
        ("train", "qmix"),
    ],
)
def test_a_loaded_team_chooses_as_its_test_does(script, method, monkeypatch):
    experiment = find_experiment(script)
    config = experiment.presets["smoke"]
    policy = experiment.plan(config, method, 0).stages[0].plan.new_policy()
    loaded = LoadedPolicy(policy, experiment, config, {"method": method, "seed": 0, "progress": {"env_steps": 0}})
    made, build = [], Evaluation.__init__

    def noted(self, world, team, probe=None, is_greedy=None, draws_noise=True):
        build(self, world, team, probe, is_greedy, draws_noise)
        made.append((team, bool(is_greedy), draws_noise))

    monkeypatch.setattr(Evaluation, "__init__", noted)
    with fixed_weights():
        experiment.evaluate(config, method, policy)
    _, is_greedy, noise = next(one for one in made if one[0] is policy)
    has_noise, explores = draws_noise(policy.network), isinstance(policy, QmixPolicy)
    assert (is_greedy or explores) == (bool(loaded.is_greedy) or explores)
    assert (noise and has_noise) == (loaded.draws_noise and has_noise)


def test_observations_of_another_environment_are_refused_with_the_key_that_they_lack():
    with pytest.raises(ValueError, match="'view'"):
        untrained("furnmove_sync", "sync_2").act(make("overcooked-v0", 2).reset(0))


def test_observations_of_another_number_of_agents_are_refused_with_both_numbers():
    with pytest.raises(ValueError, match=r"2 agents .* 3"):
        untrained("furnmove_sync", "sync_2").act(make("furnmove-v0", 2, num_agents=3).reset(0))


def test_an_error_of_a_network_is_not_taken_for_a_missing_observation(monkeypatch):
    team = untrained("furnmove_sync", "sync_2")
    obs = team.make_world(2).reset(0)
    monkeypatch.setattr(team.policy, "forward", lambda *given: {}["of its own"])
    with pytest.raises(KeyError, match="of its own"):
        team.act(obs)
