"""What the experiment's script and `python -m tune_experiments` say to mistakes: one sentence, and nothing is lost.

A few cases are a process of their own, as a user starts it; the others run in this process.
"""

import dataclasses
import json
import sys
from types import SimpleNamespace

import pytest

from rl_envs.furnmove.room import room_from_drawing
from rl_envs.furnmove.room_file import save_room
from rl_envs.furnmove.splits import RoomStream, rooms_of
from rl_envs.furnmove.start_file import save_starts
from rl_envs.furnmove.starts import make_starts
from tests.tune_experiments.run.refusals import DEAD, ROOT, SMOKE, checked, complaint, save
from tune_experiments.core.config_json import config_to_json
from tune_experiments.core.config_path import with_overrides
from tune_experiments.core.errors import UserError
from tune_experiments.furnmove_sync import EXPERIMENT
from tune_experiments.launch.experiment import main
from tune_experiments.run.ray_cluster import ray_cluster
from tune_experiments.run.run_folder import RunFolder

SCRIPT = str(ROOT / "tune_experiments" / "furnmove_sync.py")


@pytest.fixture
def script(tmp_path):
    """The script with a few flags and a new --out, in a process of its own."""

    def run(*flags, **settings):
        return complaint(SCRIPT, "--preset", "smoke", "--out", tmp_path / "out", *flags, **settings)

    return run


@pytest.fixture
def here(tmp_path, capsys, monkeypatch):
    """The same in this process."""

    def run(*flags):
        monkeypatch.setenv("RAY_ADDRESS", DEAD)
        code = main(EXPERIMENT, ["--preset", "smoke", "--out", str(tmp_path / "out"), *map(str, flags)])
        return checked(code, capsys.readouterr().err)

    return run


# ------------------------------------------------------------------------------------------------------- command line


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("--budget-env-step 3", "--budget-env-steps"),
        ("--budget-env-steps many", "--budget-env-steps"),
        ("--learner.algorithm sac", "--learner.algorithm"),
        ("--methods sync_3", "--methods"),
    ],
)
def test_a_flag_that_cannot_be_read_is_named(words, named, capsys):
    assert main(EXPERIMENT, ["--preset", "smoke", *words.split()]) == 2
    assert named in capsys.readouterr().err


def test_a_wrong_preset_is_told_with_the_right_ones(here):
    assert here("--preset", "huge") == "--preset must be one of smoke, laptop, authors, paper, not 'huge'"


def test_help_names_every_preset(capsys):
    with pytest.raises(SystemExit):
        main(EXPERIMENT, ["--help"])
    assert "smoke, laptop, authors, paper" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("--budget-env-steps", 0),
        ("--budget-env-steps", -5),
        ("--max-episode-steps", 0),
        ("--test-starts-per-room", 0),
        ("--workers.worlds-per-runner", 0),
        ("--workers.worlds-per-runner", -1),
        ("--workers.runners", -1),
        ("--workers.fragment-length", 0),
        ("--learner.num-minibatches", 0),
        ("--learner.gamma", "nan"),
        ("--learner.gae-lambda", 1.5),
        ("--num-agents", 0),
        ("--marginal.learning-rate", -1.0),
        ("--network.hidden-size", 0),
        ("--sync.learning-rate", "inf"),
        ("--marginal.entropy-coef", "nan"),
    ],
)
def test_numbers_that_no_run_can_have_are_told_by_their_flag(here, tmp_path, flag, value):
    sentence = here(flag, value)
    assert sentence.startswith(f"{flag} must be ")
    assert sentence.endswith(f"not {value}")
    assert not (tmp_path / "out").exists(), "nothing is claimed"


def test_a_learner_without_a_world_is_refused_before_the_run_starts(here, tmp_path):
    sentence = here("--workers.worlds-per-runner", 2, "--workers.learners", 3)
    assert sentence.startswith("--workers.learners 3 is more than the 2 worlds that a trial plays at once")
    assert not (tmp_path / "out").exists(), "nothing is claimed"


def test_a_relative_room_file_is_the_same_file_in_the_folder_of_a_trial(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = dataclasses.replace(SMOKE, train_rooms="mine.json", test_rooms=("test", "mine.json"))
    mine = str(tmp_path / "mine.json")
    assert (config.train_rooms, config.test_rooms) == (mine, ("test", mine))


def test_a_budget_of_nothing_is_told_to_a_user(here):
    assert here("--budget-env-steps", 0).startswith("--budget-env-steps must be ")


def test_a_method_twice_or_no_seed_is_told(here):
    assert "--methods must be one or more different values" in here("--methods", "sync_2", "sync_2")
    assert "--seeds must be" in here("--seeds", 1, 1)


# -------------------------------------------------------------------------------------------------------------- rooms


def room_file(tmp_path, change):
    """A room of 12 x 12 cells, its drawing changed."""
    save_room(room_from_drawing("mine", ["." * 12] * 12), tmp_path / "room.json")
    document = json.loads((tmp_path / "room.json").read_text())
    document["floor"] = [change(number, row) for number, row in enumerate(document["floor"])]
    (tmp_path / "room.json").write_text(json.dumps(document))
    return tmp_path / "room.json"


def test_a_hole_in_a_wall_is_told_by_its_place(here, tmp_path):
    path = room_file(tmp_path, lambda number, row: "####.#########" if number == 0 else row)
    sentence = here("--train-rooms", path)
    assert sentence.startswith(f"room file {path}: floor, row 0, column 4: '.' lies on the border: close the wall")
    assert not (tmp_path / "out").exists()


def test_a_room_without_a_place_for_the_stand_is_told(here, tmp_path):
    path = room_file(tmp_path, lambda number, row: "#.oo.oo.oo.oo#" if number in range(2, 13, 2) else row)
    assert "the stand fits nowhere: leave a free rectangle of 3 x 5 cells" in here("--train-rooms", path)
    assert "the stand fits nowhere" in here("--test-rooms", path), "test rooms are looked at before training, too"


def test_a_missing_room_file_and_an_unknown_split_are_told(here, tmp_path):
    assert "nowhere.json: cannot be read (No such file" in here("--train-rooms", tmp_path / "nowhere.json")
    assert "no room is called 'trane'" in here("--train-rooms", "trane")
    splits = "train, valid, test, ithor_train, ithor_valid, ithor_test, train_stream, valid_stream, test_stream"
    assert splits in here("--test-rooms", "tests")


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--valid-rooms", "test"), "test_room_01 is named by --valid-rooms and --test-rooms"),
        (("--train-rooms", "test_room_03"), "test_room_03 is named by --train-rooms and --test-rooms"),
        (("--test-rooms", "test", "train_stream"), "train_stream is named by --train-rooms and --test-rooms"),
        (("--test-rooms", "test", "test_room_02"), "test_room_02 is named twice by --test-rooms"),
        (("--search", "2", "--valid-rooms", "test"), "test_room_01 is named by --valid-rooms and --test-rooms"),
    ],
)
def test_rooms_that_serve_twice_are_told(here, flags, told):
    assert told in here(*flags)


def test_silence_is_a_method_and_no_flag(here):
    assert "choose the method no_communication" in here("--network.no-communicates")


# ------------------------------------------------------------------------------------------------------------- starts


TWO_ROOMS = rooms_of("test", "laptop")[:2]


def starts_file(tmp_path, agents=2, rooms=TWO_ROOMS):
    save_starts(tmp_path / "starts.json", make_starts(rooms, agents, 2))
    return tmp_path / "starts.json"


def test_a_file_of_starts_that_is_missing_or_for_other_teams_is_told(here, tmp_path):
    assert "nowhere.json: cannot be read" in here("--test-starts", tmp_path / "nowhere.json")
    assert "is for 3 agents and --num-agents is 2" in here("--test-starts", starts_file(tmp_path, agents=3))


@pytest.mark.parametrize(
    ("rooms", "told"),
    [
        (rooms_of("valid", "laptop")[:1], "valid_room_01 is named by --valid-rooms and --test-starts"),
        (RoomStream(size="laptop")[17:19], "train_stream is named by --train-rooms and --test-starts"),
    ],
)
def test_starts_in_rooms_of_training_or_validation_are_told(here, tmp_path, rooms, told):
    assert told in here("--test-starts", starts_file(tmp_path, rooms=rooms))


@pytest.mark.parametrize("command", ["evaluate", "play", "render"])
def test_a_file_of_starts_that_has_gone_is_told_after_training(command, tmp_path, capsys):
    from tune_experiments.__main__ import main as after_training

    checkpoint = save(tmp_path / "checkpoints", config=config_to_json(SMOKE) | {"test_starts": "/gone/starts.json"})
    assert "/gone/starts.json: cannot be read" in checked(
        after_training([command, str(checkpoint)]), capsys.readouterr().err
    )


# ---------------------------------------------------------------------------------------------------------------- --out


def test_the_folder_of_another_experiment_is_refused(here, tmp_path):
    RunFolder.open(tmp_path / "out", {}, "matrix_game").close()
    assert "belongs to experiment matrix_game, not furnmove_sync" in here()


def test_a_folder_with_another_configuration_is_refused_with_the_difference(here, tmp_path):
    RunFolder.open(tmp_path / "out", config_to_json(SMOKE), EXPERIMENT.name).close()
    save(tmp_path / "out/trials/marginal-seed0/checkpoints")
    sentence = here("--learner.gamma", 0.5, "--budget-env-steps", 1000)
    for told in (
        "--learner.gamma 0.95 -> 0.5",
        "--budget-env-steps 2000 -> 1000, which may only grow",
        "--out another",
    ):
        assert told in sentence


@pytest.mark.processes
def test_a_run_of_a_larger_machine_is_continued_on_a_smaller_one(script, tmp_path):
    """The machine once asked for fewer runners, and the folder for the old number."""
    config = with_overrides(SMOKE, {"workers.runners": 999, "workers.worlds_per_runner": 1})
    RunFolder.open(tmp_path / "out", config_to_json(config), EXPERIMENT.name).close()
    save(tmp_path / "out/trials/marginal-seed0/checkpoints")
    sentence = script("--workers.runners", 0, "--workers.worlds-per-runner", 999, address=DEAD)
    assert DEAD in sentence, "only the cluster is not there"


@pytest.mark.parametrize("place", ["/proc/nowhere/runs", "/proc/self/attr", "/dev/null/runs"])
def test_a_folder_that_cannot_be_written_is_told(here, place):
    assert here("--out", place).startswith(f"{place} cannot be written")


def test_a_file_in_place_of_the_folder_is_told(here, tmp_path):
    (tmp_path / "out").write_text("mine")
    assert here() == f"{tmp_path / 'out'} is a file, not a folder; give --out a folder that you may write to"
    assert (tmp_path / "out").read_text() == "mine"


# ------------------------------------------------------------------------------------------------------------- cluster


@pytest.mark.processes
def test_more_runners_than_cpus_are_refused_before_ray_starts(script, tmp_path):
    sentence = script("--workers.runners", 999, address="")
    assert sentence.startswith("a trial needs 1000 CPUs (its own process, env runners and learners)")
    assert "lower --workers.runners" in sentence
    assert not (tmp_path / "out").exists(), "the corrected command finds no folder of another configuration"


@pytest.mark.processes
@pytest.mark.parametrize("address", [DEAD, pytest.param("garbage", marks=pytest.mark.slow)])
def test_a_cluster_that_does_not_answer_is_told(script, address):
    sentence = script(address=address)
    assert f"RAY_ADDRESS={address}" in sentence
    assert sentence.endswith("start that cluster, correct RAY_ADDRESS, or unset it to run here")


@pytest.mark.parametrize("address", ["127.0.0.1:99999", "http://a b:1"])
def test_an_address_that_cannot_be_is_told_without_asking_ray(monkeypatch, address):
    monkeypatch.setenv("RAY_ADDRESS", address)
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(is_initialized=lambda: False))
    monkeypatch.setattr("tune_experiments.run.ray_cluster.job_that_imports_from", list)
    with pytest.raises(UserError, match=f"no Ray cluster answers at RAY_ADDRESS={address}"), ray_cluster():
        pytest.fail("there is no cluster")


def test_a_cluster_that_cannot_start_here_is_told(monkeypatch):
    def init(**_):
        raise Exception("The current node timed out during startup. Some of it was slow.")

    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(init=init, is_initialized=lambda: False))
    monkeypatch.setattr("tune_experiments.run.ray_cluster.job_that_imports_from", list)
    told = r"^Ray did not start on this machine \(.* during startup\); run the command again"
    with pytest.raises(UserError, match=told), ray_cluster():
        pytest.fail("there is no cluster")
