"""The experiment of self-play: rows, the published constants, what is tested and told, and what is refused."""

import dataclasses
import re

import numpy as np
import pytest
import torch

from rl_envs.overcooked.layouts import LAYOUTS
from rl_models.networks.network_config import GridCnnConfig
from rl_models.schedule import Progress
from rl_models.teams.constant_team import uniform_team
from rl_models.teams.grid_cnn_team import grid_cnn_team
from tests.rl_envs.overcooked.cooks import Cooks
from tests.rl_models.training.small import begun
from tests.tune_experiments.fragments import play, unmoved
from tests.tune_experiments.overcooked.runs import write_run
from tune_experiments import __main__ as commands
from tune_experiments.core.config_path import value_at, with_overrides
from tune_experiments.core.files import read_json, write_json
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.experiment.plan import RANDOM, Tested
from tune_experiments.overcooked.config import make_world
from tune_experiments.overcooked.evaluation import evaluate, play_team
from tune_experiments.overcooked.trials import MethodParts, make_plan, plan, self_play_team
from tune_experiments.results.rows import Result
from tune_experiments.run.run_folder import CONFIG_FILE

EXPERIMENT = find_experiment("overcooked_selfplay")
SMOKE, LAPTOP, PAPER = (EXPERIMENT.presets[name] for name in ("smoke", "laptop", "paper"))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_row_learns_in_every_kitchen_and_every_weight_gets_gradient(layout):
    for method in LAPTOP.methods:
        trial = plan(dataclasses.replace(SMOKE, task=layout), method, 0)
        assert unmoved(trial, *play(trial)) == []


def test_the_two_chefs_share_weights_and_know_only_by_their_own_planes_who_they_are():
    world = make_world(LAPTOP, 3)
    seen = torch.from_numpy(world.reset(0)["lossless"])[:, None]
    policy = plan(LAPTOP, "selfplay", 0).build_policy()
    with torch.no_grad():
        first = policy({"lossless": seen}, {}, torch.ones(3, 1, dtype=bool))
        swapped = policy({"lossless": seen.flip(2)}, {}, torch.ones(3, 1, dtype=bool))
    torch.testing.assert_close(first.policy.marginals(), swapped.policy.marginals().flip(2))
    torch.testing.assert_close(first.values, swapped.values.flip(2))


def test_the_published_network_has_three_convolutions_of_25_and_three_dense_layers_of_64():
    policy = grid_cnn_team(GridCnnConfig(), 2, (26, 4, 5), 6)
    convolutions = (26 * 25 * 25 + 25) + 2 * (25 * 25 * 9 + 25)
    dense = (25 * 2 * 3 * 64 + 64) + 2 * (64 * 64 + 64)
    heads = (64 * 6 + 6) + (64 + 1)
    assert sum(weights.numel() for weights in policy.parameters()) == convolutions + dense + heads


def test_illegal_cells_are_never_chosen():
    world = make_world(LAPTOP, 8, actions="adjacent")
    policy = grid_cnn_team(LAPTOP.network, 2, world.observation_spec["lossless"].shape, world.action_spec)
    fragment = begun(world, policy, 30, seed=0).collect()
    legal, actions = fragment.obs["legal"][:, :-1], fragment.steps["actions"]
    assert np.take_along_axis(legal, actions[..., None], -1).all()
    assert not fragment.obs["decides"].all()


def paid(trial, env_steps):
    """Rewards of scripted cooks in a training world, and the shaped points and soups of the same steps."""
    world = trial.make_world(num_worlds=4, first_world=0)
    world.reset(0)
    cooks, total = Cooks(world, noise=0.1), 0.0
    for _ in range(env_steps):
        total += world.step(cooks())[1].sum()
    return total, world.state["shaped"].sum(), 2 * 20 * world.state["soups"].sum()


def test_only_the_shaped_row_is_paid_for_shaped_points():
    config = dataclasses.replace(LAPTOP, budget_env_steps=10**9)
    total, points, soups = paid(plan(config, "selfplay_sparse", 0), 200)
    assert points > 0 and total == soups
    total, points, soups = paid(plan(config, "selfplay", 0), 200)
    assert total == pytest.approx(points + soups, rel=1e-3)


def test_shaping_ends_at_its_share_of_the_budget_of_all_worlds_together():
    config = dataclasses.replace(LAPTOP, budget_env_steps=96_000)
    assert config.workers.worlds == 32 and config.shaping_after(0) == {"shaping": 1.0, "shaping_steps": 1_800}
    assert config.shaping_after(43_200) == {"shaping": 0.25, "shaping_steps": 450}
    assert config.shaping_after(60_000) == {"shaping": 0.0, "shaping_steps": 1}
    assert PAPER.shaping_env_steps == 2_500_000


def test_the_paper_preset_makes_600_updates_of_12000_env_steps_in_minibatches_of_2000():
    trial = plan(PAPER, "selfplay", 0)
    update = trial.workers.worlds_per_runner * trial.workers.fragment_length
    assert (update, update // trial.objective.num_minibatches, trial.objective.num_epochs) == (12_000, 2_000, 8)
    assert trial.budget_env_steps == 600 * update
    objective, rate = trial.objective, trial.optimiser.learning_rate
    assert 1.6e-4 <= rate.at(Progress()) == rate.at(Progress(env_steps=10**7)) <= 2.8e-4
    assert (
        0.07 <= objective.clip_range <= 0.26
        and 0.964 <= objective.gamma <= 0.978
        and 0.5 <= objective.gae_lambda <= 0.6
    )
    assert 0.009 <= objective.value_coef <= 0.022 and not objective.joint_ratio
    bonus = [objective.entropy_coef.at(Progress(env_steps=steps)) for steps in (0, 150_000, 300_000, 10**6)]
    assert bonus == pytest.approx([0.2, 0.15, 0.1, 0.1])


def test_a_row_of_ones_own_needs_only_what_it_has_of_its_own():
    row = MethodParts(
        is_shaped=False, build_policy=lambda config, seed: uniform_team(2, 5 * 4), world={"actions": "adjacent"}
    )
    _, fragment = play(make_plan(SMOKE, row, 0))
    assert fragment.steps["actions"].max() > 5 and "legal" in fragment.obs


def test_a_team_is_tested_in_whole_episodes_without_shaping_beside_random_play():
    config = dataclasses.replace(LAPTOP, test_episodes=5)
    played = evaluate(config, plan(config, "selfplay", 0).build_policy())
    assert list(played) == [Tested("cramped_room"), Tested("cramped_room", method=RANDOM)]
    for episodes in played.values():
        assert (episodes["length"] == 400).all() and episodes["soups"].shape == (5,)
        np.testing.assert_array_equal(episodes["reward"], 20 * episodes["soups"])


def test_rewards_of_tested_episodes_are_twenty_a_soup_whatever_was_shaped():
    world = make_world(SMOKE, 6, layout="cramped_room", max_episode_steps=1)
    served = np.array([0, 1, 0, 1, 1, 0], bool)
    reset = world.reset

    def begins_at_the_hatch(seed):
        reset(seed)
        world.state["agent_cells"][:, 0], world.state["headings"][:, 0] = 13, 1
        world.state["held"][:, 0] = np.where(served, 3, 0)
        return world.observe()

    world.reset = begins_at_the_hatch
    team = uniform_team(2, 6)
    with torch.no_grad():
        team.policy_head.policy.bias[5] = 50.0
    episodes = play_team(world, team)
    np.testing.assert_array_equal(episodes["reward"], 20.0 * served)


def training(config):
    trial = plan(config, "selfplay", 0)
    return repr((trial.objective, trial.optimiser))


@pytest.mark.parametrize("path", EXPERIMENT.search_space().domains)
def test_every_constant_that_a_search_varies_changes_training_and_reaches_the_presets(path):
    domain = EXPERIMENT.search_space().domains[path]
    for config in (LAPTOP, PAPER):
        assert domain.lower <= value_at(config, path) <= domain.upper
        for value in (domain.lower, domain.upper):
            assert training(with_overrides(config, {path: value})) != training(config)


def test_evaluate_plays_as_many_episodes_as_the_runs_table_though_a_checkpoint_is_older(tmp_path, capsys):
    run = write_run(tmp_path / "run", [{5: self_play_team(SMOKE, 0)}])
    document = read_json(run / CONFIG_FILE)
    document["config"]["test_episodes"] = 40
    write_json(run / CONFIG_FILE, document)
    assert commands.main(["evaluate", str(run)]) == 0
    assert re.search(r"over 40\s+episodes", capsys.readouterr().out)


@pytest.mark.parametrize("name", ["overcooked_selfplay", "sama_overcooked"])
@pytest.mark.parametrize(("length", "is_shown"), [(400.0, True), (60.0, False)])
def test_a_table_compares_with_the_published_reward_in_episodes_of_its_length_alone(name, length, is_shown):
    numbers = {"episode_length": length, "soups": 1.0}
    rows = [Result(name, "", "selfplay", "cramped_room", "test", 0, *number) for number in numbers.items()]
    (table,) = find_experiment(name).tables(rows)
    assert ("about 213" in table.caption) == is_shown
