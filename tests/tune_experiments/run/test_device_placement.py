"""Where networks run: with a GPU every part that is a network runs on it without a flag, and `--device cpu` uses none.

The GPU is `emulated_device`. Whatever acts, learns, validates or is tested goes through `TeamPolicy.forward`, which is
watched.
"""

import contextlib
import dataclasses
from types import SimpleNamespace

import pytest
import torch

from rl_models.algorithms.ppo import Ppo
from rl_models.policy import TeamPolicy
from rl_models.rllib.config import rllib_config
from rl_models.rllib.env_runner import FragmentEnvRunner
from rl_models.rllib.team_algorithm import TeamAlgorithm
from rl_models.rllib.workers import Workers
from rl_models.runtime import device
from rl_models.training.evaluation import Evaluation
from rl_models.training.loop import Learner
from tests.emulated_device import DEVICE, NAME, emulated_device
from tests.rl_models.rllib.small import plan
from tests.tune_experiments.overcooked.runs import STAY, stubborn_team
from tune_experiments import matrix_game, overcooked_selfplay, sama_frozen_lake, sama_overcooked, verco_salad
from tune_experiments.__main__ import main as after_training
from tune_experiments.core.errors import UserError
from tune_experiments.launch import launch
from tune_experiments.launch.experiment import main
from tune_experiments.matrix_game import EXPERIMENT, SMOKE
from tune_experiments.overcooked import trials as overcooked_trials
from tune_experiments.overcooked.partners import KitchenWithPartners
from tune_experiments.overcooked.trials import worlds_of_generation
from tune_experiments.run.ray_cluster import Gpus, assign_gpus, trials_at_once
from tune_experiments.run.speed import measured_seconds
from tune_experiments.run.trial import Trial
from tune_experiments.run.tuning import placement_bundles
from tune_experiments.sama.frozen_lake.trials import plan as lake_plan
from tune_experiments.sama.overcooked.trials import plan as sama_plan
from tune_experiments.sama.play import learned_executor
from tune_experiments.verco.config import ImitationSettings
from tune_experiments.verco.trials import plan as verco_plan

GAME = dataclasses.replace(SMOKE, games=8, updates_per_row=5, budget_env_steps=80, checkpoint_every_env_steps=40)


@pytest.fixture
def gpu(monkeypatch):
    """A machine with a GPU; yields its counts."""
    monkeypatch.setattr(device.PROCESS, "refuses_gpu", False)
    with emulated_device() as counts:
        monkeypatch.setattr(device, "accelerator", lambda: DEVICE)
        yield counts


@pytest.fixture
def places(monkeypatch):
    """Type of device of every forward pass."""
    seen, forward = [], TeamPolicy.forward

    def watched(self, obs, state, is_first):
        assert {value.device for value in self.parameters()} == {is_first.device}
        seen.append(is_first.device.type)
        return forward(self, obs, state, is_first)

    monkeypatch.setattr(TeamPolicy, "forward", watched)
    return seen


@pytest.fixture
def cluster(monkeypatch):
    """`cluster(CPU=4.0)`: runs join a cluster with these resources and train nothing; what was asked of Tune."""

    def join(**resources):
        asked, joined = [], SimpleNamespace(cluster_resources=lambda: resources)

        def trials(requests, budgets, *, has_gpus, concurrent, **_):
            asked.append((has_gpus, concurrent, device.chosen_device().type))
            return {request["name"]: "not trained" for request in requests}

        monkeypatch.setattr(launch, "ray_cluster", lambda: contextlib.nullcontext(joined))
        monkeypatch.setattr(launch, "run_trials", trials)
        return joined, asked

    return join


@pytest.mark.ray
def test_rllibs_local_runner_and_learner_and_validation_run_on_an_emulated_device(ray_session, gpu, places):
    algorithm = TeamAlgorithm(plan(Ppo, worlds=2, length=3))
    try:
        places.clear()
        algorithm.train()
        assert set(places) == {NAME}
        assert algorithm.algorithm.env_runner_group.local_env_runner.collector.device == DEVICE
        policy = algorithm.policy()
        assert device.get_device(policy) == DEVICE
        Evaluation(plan().make_world(2, 0), policy).run(0)
        tensors, _ = algorithm.checkpoint()
        assert {value.device.type for value in tensors["weights"].values()} == {"cpu"}
    finally:
        algorithm.close()
    assert set(places) == {NAME}


@pytest.mark.parametrize(("gpus", "place"), [(1.0, NAME), (0.0, "cpu")])
def test_a_remote_runner_acts_on_an_emulated_device_if_it_was_given_a_gpu(gpu, places, monkeypatch, gpus, place):
    import ray.rllib.env.single_agent_env_runner as stock

    monkeypatch.setattr(stock, "get_device", lambda config, number: torch.device("cpu"))  # RLlib looks for a real one
    one = plan(Ppo, runners=1, worlds=2, length=3)
    config = rllib_config(dataclasses.replace(one, workers=dataclasses.replace(one.workers, gpus_per_runner=gpus)))
    assert config.num_gpus_per_env_runner == gpus
    runner = FragmentEnvRunner(config=config, worker_index=1)
    runner.sample()
    runner.stop()
    assert set(places) == {place}


@pytest.mark.long
@pytest.mark.parametrize("method", ["verco", "symbolic_imitation_ppo"])
def test_warm_starts_run_on_an_emulated_device_and_come_to_the_weights_of_the_cpu(gpu, method):
    config = dataclasses.replace(verco_salad.SMOKE, imitation=ImitationSettings(num_epochs=2))
    stage = verco_plan(config, method, 0).stages[0].plan
    with device.refusing_gpu():
        expected = stage.make_algorithm(stage)
        expected.train()
        assert device.get_device(expected.policy()).type == "cpu"
    algorithm = stage.make_algorithm(stage)
    algorithm.train()
    assert device.get_device(algorithm.policy()) == DEVICE
    weights = algorithm.checkpoint()[0]["weights"]
    assert {value.device.type for value in weights.values()} == {"cpu"}
    for name, value in expected.policy().state_dict().items():
        torch.testing.assert_close(weights[name], value, atol=1e-5, rtol=0, msg=name)


@pytest.mark.long
@pytest.mark.parametrize("refuses", [False, True])
def test_training_validation_test_evaluate_and_play_run_on_an_emulated_device(tmp_path, gpu, places, refuses):
    with device.refusing_gpu(refuses):
        Trial(EXPERIMENT, GAME, "sync", 0, tmp_path / "sync-seed0").run(lambda row: None)
    assert set(places) == {"cpu" if refuses else NAME}
    flags = ["--device", "cpu"] if refuses else []
    for command in ("evaluate", "play"):
        places.clear()
        gpu.copies = 0
        assert after_training([command, str(tmp_path / "sync-seed0"), *flags]) == 0
        assert set(places) == {"cpu" if refuses else NAME}
        assert bool(gpu.copies) is not refuses


def test_partners_and_executors_act_on_an_emulated_device(gpu, places):
    partner = stubborn_team(overcooked_selfplay.SMOKE, STAY).to(DEVICE)
    world = KitchenWithPartners(3, 0, partners=[partner], max_episode_steps=5)
    world.reset(0)
    world.partners_actions()
    one = sama_plan(sama_overcooked.SMOKE, "sama-cramped_room", 0)
    kitchen = one.make_world(num_worlds=2, first_world=0)
    kitchen.reset(0)
    learned_executor(one.new_policy())(kitchen)
    walks = lake_plan(sama_frozen_lake.SMOKE, "sama", 0)
    lake = walks.make_world(num_worlds=2, first_world=0)
    lake.reset(0)
    learned_executor(walks.new_policy(), is_greedy=True)(lake)
    assert set(places) == {NAME} and len(places) == 3


def test_partners_travel_on_the_cpu_and_act_where_the_process_has_its_networks(gpu):
    config = overcooked_selfplay.SMOKE
    members = [stubborn_team(config, STAY).to(DEVICE)]
    make_world = worlds_of_generation(config, members, [1.0], 0)
    (traveller,) = make_world.keywords["partners"]
    assert device.get_device(traveller).type == "cpu" and device.get_device(members[0]) == DEVICE
    for refuses, place in ((False, DEVICE), (True, torch.device("cpu"))):
        with device.refusing_gpu(refuses):
            assert device.get_device(make_world(num_worlds=2).partners[0]) == place
    assert device.get_device(traveller).type == "cpu"


def test_a_population_of_fictitious_co_play_travels_on_the_cpu(gpu, monkeypatch):
    config = overcooked_selfplay.SMOKE
    partner = stubborn_team(config, STAY).to(DEVICE)
    monkeypatch.setattr(overcooked_trials, "load_population", lambda config: [partner])
    (traveller,) = overcooked_trials.load_partners(config)
    assert device.get_device(traveller).type == "cpu"


def test_what_a_run_will_cost_is_timed_on_an_emulated_device(gpu, places):
    measured_seconds(matrix_game.EXPERIMENT.plan(GAME, "sync", 0).stages[-1].plan)
    assert set(places) == {NAME}


@pytest.mark.long
def test_a_base_is_read_from_disk_once_for_learner_runner_and_validation(gpu, monkeypatch):
    from rl_models.llm import shared_base

    read, load = [], shared_base.load_base_model
    monkeypatch.setattr(shared_base, "load_base_model", lambda *arguments: read.append(arguments) or load(*arguments))
    one = verco_plan(verco_salad.SMOKE, "twosome", 0).stages[-1].plan
    with device.refusing_gpu():
        before = one.build_policy()
    learner, runner = one.new_policy(), one.new_policy()
    assert len(read) == 2  # once on the CPU, once on the GPU
    bases = [policy.network.language.base for policy in (learner, runner, before)]
    of_learner, of_runner, on_cpu = (dict(base.named_parameters()) for base in bases)
    frozen = [name for name in of_learner if "lora" not in name]
    assert frozen and all(of_learner[name] is of_runner[name] for name in frozen)
    assert all(on_cpu[name].device.type == "cpu" for name in frozen)
    adapted = [name for name in of_learner if "lora" in name]
    assert adapted and all(of_learner[name] is not of_runner[name] for name in adapted)
    before.to(DEVICE)  # moves, and finds the base there
    assert all(dict(bases[2].named_parameters())[name] is of_learner[name] for name in frozen)
    Learner(learner, one.objective, one.optimiser)
    assert len(read) == 2


def test_without_a_gpu_device_cuda_is_refused_in_one_sentence(tmp_path, capsys):
    Trial(EXPERIMENT, GAME, "sync", 0, tmp_path / "sync-seed0").run(lambda row: None)
    capsys.readouterr()
    for command in ("evaluate", "play", "render"):
        assert after_training([command, str(tmp_path / "sync-seed0"), "--device", "cuda"]) == 2
        assert capsys.readouterr().err.strip().endswith(device.NO_GPU)
    with pytest.raises(ValueError, match=device.NO_GPU):
        device.chosen_device("cuda")


def test_a_run_with_device_cpu_refuses_the_gpu_in_its_own_process_and_for_its_trials(tmp_path, gpu, cluster):
    joined, asked = cluster(CPU=4.0, GPU=2.0)
    for choice in ("auto", "cuda", "cpu"):
        main(EXPERIMENT, ["--preset", "smoke", "--out", str(tmp_path / choice), "--device", choice])
    assert [(gpus, place) for gpus, _, place in asked] == [(2.0, NAME), (2.0, NAME), (0.0, "cpu")]
    assert device.chosen_device() == DEVICE
    workers = [Workers(gpus_per_learner=5.0)]
    assert trials_at_once(joined, workers, "cpu") == 4
    with pytest.raises(UserError, match="--device cpu"):
        trials_at_once(joined, workers)


@pytest.mark.parametrize(("most", "expected"), [([], 6), (["--max-concurrent-trials", "2"], 2)])
def test_no_more_trials_train_at_once_than_the_user_allows(tmp_path, cluster, most, expected):
    _, asked = cluster(CPU=16.0)
    main(EXPERIMENT, ["--preset", "smoke", "--out", str(tmp_path / "run"), "--seeds", "0", "1", "2", *most])
    assert [concurrent for _, concurrent, _ in asked] == [expected]


@pytest.mark.parametrize(
    ("workers", "has_gpus", "trials", "expected"),
    [
        (Workers(), 0, 3, Gpus()),
        (Workers(), 1, 1, Gpus(own=1.0)),
        (Workers(), 1, 4, Gpus(own=0.25)),
        (Workers(), 2, 3, Gpus(own=0.5)),
        (Workers(gpus_per_learner=1.0), 4, 2, Gpus(own=1.0)),
        (Workers(runners=2, gpus_per_runner=0.5), 2, 1, Gpus(own=1.0, runner=0.5)),
        (Workers(learners=1, gpus_per_learner=1.0), 1, 1, Gpus(own=0.1, learner=0.9)),
        (Workers(learners=2), 2, 1, Gpus(own=0.1, learner=0.9)),
        (Workers(runners=2, gpus_per_runner=0.1), 1, 1, Gpus(own=0.5, runner=0.1)),
        (Workers(runners=2, gpus_per_runner=0.1), 1, 4, Gpus(own=1 / 20, runner=0.1)),
        (Workers(runners=2, gpus_per_runner=0.75), 2, 1, Gpus(own=0.25, runner=0.75)),
        (Workers(runners=2, gpus_per_runner=2.0), 5, 1, Gpus(own=1.0, runner=2.0)),
        (Workers(learners=2, runners=5, gpus_per_runner=0.2), 3, 1, Gpus(own=0.1, learner=0.9, runner=0.2)),
    ],
)
def test_a_trials_own_process_has_a_gpu_wherever_there_is_one(workers, has_gpus, trials, expected):
    found = assign_gpus(workers, has_gpus, trials)
    assert dataclasses.astuple(found) == pytest.approx(dataclasses.astuple(expected))
    reserved = sum(place["GPU"] for place in placement_bundles(workers, found))
    assert reserved * trials <= max(has_gpus, workers.gpus) + 1e-9


@pytest.mark.parametrize(
    ("workers", "has_gpus", "expected"),
    [
        (Workers(learners=2), 0, 8),
        (Workers(), 1, 8),
        (Workers(gpus_per_learner=0.75), 4, 4),
        (Workers(runners=2, gpus_per_runner=0.1), 1, 4),
        (Workers(runners=1, gpus_per_runner=0.6), 2, 2),
        (Workers(runners=2, gpus_per_runner=0.3, learners=2, gpus_per_learner=0.6), 2, 1),
        (Workers(learners=2), 4, 2),
        (Workers(learners=2), 1, "--device cpu"),
        (Workers(gpus_per_runner=1.0, runners=1), 0, "--device cpu"),
        (Workers(runners=4, gpus_per_runner=0.5), 2, "--device cpu"),
        (Workers(learners=2, gpus_per_learner=0.5), 1, "--workers.gpus-per-learner"),
    ],
)
def test_as_many_trials_begin_as_ray_can_place(workers, has_gpus, expected):
    cluster = SimpleNamespace(cluster_resources=lambda: {"CPU": 8.0 * workers.cpus, "GPU": has_gpus})
    with contextlib.nullcontext() if isinstance(expected, int) else pytest.raises(UserError, match=expected):
        assert trials_at_once(cluster, [workers]) == expected
