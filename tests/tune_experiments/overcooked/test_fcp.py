"""Fictitious co-play: who the partners are, who acts for whom, and that only the learner's decisions teach."""

import dataclasses
import functools
import itertools
import shutil

import numpy as np
import pytest
import torch

from rl_envs.testing import check_world
from rl_models.batch import forward, to_batch
from rl_models.schedule import Progress
from tests.tune_experiments.fragments import play
from tests.tune_experiments.overcooked.runs import INTERACT, STAY, stubborn_team, write_run
from tune_experiments import load_policy
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.launch.experiment import main
from tune_experiments.overcooked.partners import KitchenWithMixture, KitchenWithPartners, Mixture
from tune_experiments.overcooked.trials import halfway, load_population, plan, self_play_team
from tune_experiments.overcooked_selfplay import SMOKE
from tune_experiments.results.rows import read

EAST, WEST = 2, 3


def kitchens(partners, worlds=6, first_world=0, **arguments):
    world = KitchenWithPartners(worlds, first_world, partners=partners, **{"max_episode_steps": 5} | arguments)
    return world, world.reset(3)


def test_each_episode_draws_its_partner_and_the_learner_changes_places():
    world, _ = kitchens([stubborn_team(SMOKE, STAY, seed) for seed in range(3)], 60)
    partners, places = [], []
    for _ in range(4):
        partners.append(world.state["partner"].copy())
        places.append(world.state["place"].copy())
        for _ in range(5):
            world.step(np.full((60, 2), STAY))
    assert set(np.unique(partners)) == {0, 1, 2}
    shares = np.bincount(np.ravel(partners)) / np.size(partners)
    assert (abs(shares - 1 / 3) < 0.1).all()
    assert all((a != b).any() for a, b in itertools.pairwise(partners))
    for now, then in itertools.pairwise(places):
        np.testing.assert_array_equal(now, 1 - then)
    assert (np.array(places[0]).mean(), len(set(places[0]))) == (0.5, 2)


def test_the_partner_acts_for_its_own_chef_and_what_is_chosen_for_it_is_ignored():
    world, obs = kitchens([stubborn_team(SMOKE, EAST)])
    learns = obs["alive"]
    np.testing.assert_array_equal(learns.sum(1), 1)
    world.step(np.full((6, 2), WEST))
    np.testing.assert_array_equal(world.state["headings"], np.where(learns, WEST, EAST))


def test_a_partner_sees_its_own_side_of_the_kitchen():
    team = self_play_team(SMOKE, 5)
    world, _ = kitchens([team], 40)
    seen = torch.from_numpy(world.observe()["lossless"])[:, None]
    with torch.no_grad():
        policy = team({"lossless": seen}, {}, torch.ones(40, 1, dtype=bool)).policy
    world.chance.next_step()
    expected = policy.sample(torch.from_numpy(world.chance.uniforms(3))[:, None])[0][:, 0].numpy()
    np.testing.assert_array_equal(world.partners_actions(), expected)
    assert (expected[:, 0] != expected[:, 1]).any()


@pytest.mark.parametrize(
    "world", [KitchenWithPartners, functools.partial(KitchenWithMixture, mixture=Mixture((0.3, 0.7), 0.2, 1.0))]
)
def test_kitchens_with_partners_keep_the_contract_of_worlds(world):
    partners = [self_play_team(SMOKE, seed) for seed in range(2)]
    check_world(functools.partial(world, partners=partners, max_episode_steps=5))


def test_the_learner_alone_gets_reward():
    world, obs = kitchens([self_play_team(SMOKE, 5)], 40, max_episode_steps=101, shaping=1.0)
    learns, draws = obs["alive"], np.random.default_rng(0)
    rewards = sum(world.step(draws.integers(6, size=(40, 2)))[1] for _ in range(100))
    assert rewards[learns].any() and not rewards[~learns].any()


def loss_of(trial, policy, batch):
    prepared = trial.objective.prepare(batch)
    return trial.objective.loss(forward(policy, prepared), prepared, Progress())[0]


def test_nothing_that_befell_the_partner_changes_what_the_learner_learns(tmp_path):
    config = dataclasses.replace(SMOKE, population=str(population(tmp_path)), max_episode_steps=7)
    trial = plan(config, "fcp", 0)
    policy, fragment = play(trial, 6, 20)
    batch = to_batch(fragment)
    learns = batch["obs/alive"][:, :-1]
    assert learns.any(2).all() and not learns.all(2).any()
    expected = loss_of(trial, policy, batch)
    changed = dict(batch)
    for key in ("reward", "values", "agent_log_prob", "final_values"):
        changed[key] = torch.where(learns, batch[key], torch.full_like(batch[key], 3.0))
    changed["actions"] = torch.where(learns, batch["actions"], (batch["actions"] + 1) % 6)
    torch.testing.assert_close(loss_of(trial, policy, changed), expected)
    of_learner = batch | {"reward": batch["reward"] + learns.float()}
    assert abs(loss_of(trial, policy, of_learner) - expected) > 1e-4


def population(folder, config=SMOKE):
    middle, last = stubborn_team(config, STAY), stubborn_team(config, INTERACT)
    teams = [{100: self_play_team(config, 7), 200: middle, 300: last}, {100: middle, 300: last}]
    return write_run(folder / "population", teams, {90: 10.0, 200: 60.0, 300: 100.0}, config)


def test_every_trained_team_comes_untrained_half_way_and_as_it_is(tmp_path):
    found = load_population(dataclasses.replace(SMOKE, population=str(population(tmp_path))))
    for seed, team in ((0, found[0]), (1, found[3])):
        for name, weights in self_play_team(SMOKE, seed).state_dict().items():
            torch.testing.assert_close(team.state_dict()[name], weights)
    bias = [team.policy_head.policy.bias.argmax().item() for team in found]
    assert bias[1:3] == bias[4:] == [STAY, INTERACT]
    assert not any(weights.requires_grad for team in found for weights in team.parameters())


def test_half_way_is_where_the_reward_was_nearest_to_half_of_the_last():
    assert halfway({1: 0.0, 2: 30.0, 3: 70.0, 4: 120.0}) == 3
    assert halfway({1: 0.0, 2: 55.0, 3: 65.0, 4: 120.0}) == 2
    assert halfway({1: 0.0, 2: 0.0, 3: 0.0}) == 1
    assert halfway({5: 20.0}) == 5


def test_a_population_that_cannot_be_is_refused_in_one_sentence(tmp_path):
    ring = dataclasses.replace(SMOKE, task="coordination_ring", population=str(population(tmp_path)))
    empty = write_run(tmp_path / "empty", [{}])
    for config, said in (
        (SMOKE, "--population"),
        (ring, "cramped_room.*coordination_ring"),
        (dataclasses.replace(SMOKE, population=str(empty)), "empty.*selfplay"),
        (dataclasses.replace(SMOKE, population=str(tmp_path / "none")), "none"),
    ):
        with pytest.raises(UserError, match=said):
            plan(config, "fcp", 0).make_world(num_worlds=1, first_world=0)


@pytest.mark.slow
def test_fcp_learns_beside_a_trained_population_and_is_loaded_without_it(ray_session, tmp_path):
    experiment, runs = find_experiment("overcooked_selfplay"), [tmp_path / "population", tmp_path / "fcp"]
    intervals = ["--checkpoint-every-env-steps", "160", "--validate-every-env-steps", "160"]
    words = ["--preset", "smoke", *intervals, "--test-episodes", "2", "--out"]
    assert main(experiment, [*words, str(runs[0]), "--methods", "selfplay"]) == 0
    kept = sorted(path.name for path in runs[0].glob("trials/selfplay-seed0/checkpoints/*"))
    assert len(kept) >= 4, "the levels of skill are chosen among all checkpoints"
    assert main(experiment, [*words, str(runs[1]), "--methods", "fcp", "--population", str(runs[0])]) == 0
    assert {line.method for line in read(runs[1] / "results.jsonl")} == {"fcp", "random"}
    shutil.rmtree(runs[0])
    trained = load_policy(runs[1])
    untrained = self_play_team(trained.config, 0).state_dict()
    assert trained.policy.state_dict().keys() == untrained.keys()
    assert any(not torch.equal(weights, untrained[name]) for name, weights in trained.policy.state_dict().items())
