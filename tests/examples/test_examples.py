"""The examples of a package outside Concord: each keeps its promises, and the experiment trains them for real."""

import dataclasses

import pytest
import torch

from examples.agreement_loss import AgreementLoss, agreement
from examples.corridor import LENGTH, Corridor
from examples.corridor_experiment import EXPERIMENT, LAPTOP, SMOKE
from examples.short_experiment import EXPERIMENT as SHORT
from examples.talking_network import TalkingConfig, talking_team
from rl_envs import make
from rl_envs.testing import check_registered
from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.algorithms.ppo import Ppo
from rl_models.distributions.mixture import MixtureOfMarginals
from rl_models.schedule import Schedule
from rl_models.training.loop import Learner
from tests.rl_models.training.small import begun, ratio_error
from tune_experiments import load_policy
from tune_experiments.__main__ import main as after_training
from tune_experiments.core.errors import UserError
from tune_experiments.results.rows import read
from tune_experiments.results.trial_log import read_metrics

MODULE = "examples.corridor_experiment"


@pytest.mark.processes
def test_the_world_keeps_the_contract_also_in_another_process():
    check_registered("examples.corridor:Corridor")


def test_the_sofa_moves_where_both_push_and_is_out_behind_the_door():
    world = Corridor(3)
    world.reset(0)
    obs = world.restore({"place": [0, 0, LENGTH - 1], "door": [0, 1, 1]})
    assert obs["door"][:, 0].tolist() == [[1, 0], [0, 1], [0, 1]]
    assert not obs["door"][:, 1].any()
    obs, reward, terminated, truncated, info = world.step(torch.tensor([[0, 0], [2, 1], [2, 2]]).numpy())
    assert terminated.tolist() == [True, False, True]
    assert not truncated.any()
    assert reward[:, 0].tolist() == [1.0, -0.02, 1.0]
    assert info["episode"]["success"].tolist() == [1.0, 1.0]
    assert obs["place"][1, 0].argmax() == 0, "who pushes alone moves nothing"


def team(components=3):
    return talking_team(TalkingConfig(hidden_size=8, message=4), components, 2, LENGTH + 2, 3, seed=0)


def test_the_network_computes_the_same_while_acting_and_learning():
    policy = team()
    assert ratio_error(Ppo(), policy, begun(Corridor(5), policy, 12).collect()) < 1e-5


@pytest.mark.parametrize("components", [1, 3])
def test_every_weight_learns(components):
    objective = dataclasses.replace(
        EXPERIMENT.plan(LAPTOP, "sync", 0).objective, extra_losses=(AgreementLoss(Schedule.constant(1.0)),)
    )
    policy = team(components)
    before = {name: value.clone() for name, value in policy.state_dict().items()}
    collector = begun(Corridor(16), policy, 10, seed=0)
    Learner(policy, objective, OptimiserSettings(learning_rate=Schedule.constant(0.01))).update([collector.collect()])
    assert [name for name, value in policy.state_dict().items() if torch.equal(value, before[name])] == []


def test_agreement_is_the_probability_of_equal_actions():
    logits = torch.tensor([[0.8, 0.2], [0.5, 0.5]]).log()  # two agents, one component: 0.8 * 0.5 + 0.2 * 0.5
    policy = MixtureOfMarginals.from_logits(torch.zeros(1, 1, 1), logits[None, None, :, None])
    assert agreement(policy).item() == pytest.approx(0.5)
    mixed = torch.tensor([[[30.0, 0.0], [0.0, 30.0]]] * 2)  # two components, in each of which both do the same
    assert agreement(MixtureOfMarginals.from_logits(torch.zeros(1, 1, 2), mixed[None, None])).item() == pytest.approx(1)


def test_the_experiment_trains_by_sync_in_rays_workers_and_is_opened_by_who_names_its_module(
    ray_session, tmp_path, capsys
):
    out = tmp_path / "run"
    run = EXPERIMENT.run("smoke", out=out)
    assert run.results == read(out / "results.jsonl")
    assert {row.experiment for row in run.results} == {"corridor"}
    assert [table.title for table in run.tables] == [EXPERIMENT.caption]
    assert read_metrics(run.trials["sync"][0] / "metrics.jsonl")[-1]["env_steps"] == SMOKE.budget_env_steps
    assert [path.name for path in (*run.videos, *run.figures)] == ["sync.gif", "curves.png"]

    world = make("examples.corridor:Corridor", 4)
    assert run.load_policy("sync", 0).act(world.reset(0)).shape == (4, 2)
    assert load_policy(out, allow=[MODULE]).method == "sync"
    with pytest.raises(UserError, match=f"--allow {MODULE}"):
        load_policy(out)
    assert after_training(["doctor", str(out)]) == 0
    assert f"--allow {MODULE}" in capsys.readouterr().out, "it reads the log, and leaves the environment out"
    again = EXPERIMENT.run("smoke", out=out)
    assert "cost:" not in capsys.readouterr().out, "nothing is trained twice"
    assert again.results == run.results


@pytest.mark.long
def test_an_experiment_that_writes_its_plan_alone_validates_tests_and_has_a_table(tmp_path):
    sizes = {"methods": ("sync",), "budget_env_steps": 320, "validate_every_env_steps": 160, "test_episodes": 5}
    run = SHORT.run(out=tmp_path / "run", local=True, valid_episodes=3, **sizes)
    lines = {line.metric: line for line in run.results}
    assert {line.world for line in run.results} == {"corridor"} and lines["success"].n_episodes == 5
    assert {"success", "return", "episode_length"} <= set(run.tables[0].metrics)
    assert {"valid/success", "valid/return"} <= read_metrics(run.trials["sync"][0] / "metrics.jsonl")[-1].keys()
    assert run.videos and run.figures
