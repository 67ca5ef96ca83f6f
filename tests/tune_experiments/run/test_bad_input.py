"""What the experiment's script and `python -m tune_experiments` say to mistakes: one sentence, and nothing is lost.

Each case is a process of its own, as a user starts it; variants of a case run in this process.
"""

import dataclasses
import hashlib
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from rl_envs.furnmove.room import room_from_drawing
from rl_envs.furnmove.room_file import save_room
from rl_envs.furnmove.splits import RoomStream, rooms_of
from rl_envs.furnmove.start_file import save_starts
from rl_envs.furnmove.starts import make_starts
from rl_models.training.checkpoint import save_checkpoint
from tests.patience import PATIENCE_SECONDS
from tune_experiments import load_policy
from tune_experiments.core.config_json import config_to_json
from tune_experiments.core.errors import UserError
from tune_experiments.furnmove_sync import EXPERIMENT
from tune_experiments.launch.experiment import main
from tune_experiments.run.ray_cluster import ray_cluster
from tune_experiments.run.run_folder import WRITTEN_BY, RunFolder

ROOT = Path(__file__).parents[3]
SMOKE = EXPERIMENT.presets["smoke"]
SCRIPT = str(ROOT / "tune_experiments" / "furnmove_sync.py")
DEAD = "127.0.0.1:1"
"""A cluster that is not there: a case that wrongly goes on stops here instead of training."""


def complaint(*command, address=DEAD):
    """Run a command that must fail: the sentence that it leaves on stderr."""
    environment = os.environ | {"RAY_ADDRESS": address, "OMP_NUM_THREADS": "1"}
    if not address:
        del environment["RAY_ADDRESS"]
    words = [sys.executable, *map(str, command)]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, env=environment, timeout=PATIENCE_SECONDS)
    return checked(done.returncode, done.stderr)


def checked(code, stderr):
    assert code == 2, f"exit code {code}, {stderr}"
    assert stderr.startswith("error: "), stderr
    assert stderr.count("\n") == 1, f"more than one line: {stderr}"
    assert stderr.endswith("\n")
    assert "Traceback" not in stderr
    return stderr.removeprefix("error: ").rstrip()


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


@pytest.mark.processes
def test_an_unknown_flag_is_told_with_the_nearest_one(script):
    assert script("--budget-env-step", 3) == "unknown flag --budget-env-step; did you mean --budget-env-steps?"


def test_a_wrong_type_is_told_with_the_right_one(here):
    assert here("--budget-env-steps", "many") == "--budget-env-steps must be a whole number, not 'many'"
    assert "must be one of ppo, impala" in here("--learner.algorithm", "sac")
    assert "any number of values, each one of no_communication, no_comm" in here("--methods", "sync_3")


def test_a_wrong_preset_is_told_with_the_right_ones(here):
    assert here("--preset", "huge") == "--preset must be one of smoke, laptop, authors, paper, not 'huge'"


def test_help_names_every_preset(capsys):
    with pytest.raises(SystemExit):
        main(EXPERIMENT, ["--help"])
    assert "Presets: smoke, laptop, authors, paper." in capsys.readouterr().out


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


@pytest.mark.processes
def test_a_budget_of_nothing_is_told_to_a_user(script):
    assert script("--budget-env-steps", 0) == "--budget-env-steps must be at least 1, not 0"


def test_a_method_twice_or_no_seed_is_told(here):
    assert "--methods must be one or more different values" in here("--methods", "sync_2", "sync_2")
    assert "--seeds needs one or more different whole numbers" in here("--seeds", 1, 1)


# -------------------------------------------------------------------------------------------------------------- rooms


def room_file(tmp_path, change):
    """A room of 12 x 12 cells, its drawing changed."""
    save_room(room_from_drawing("mine", ["." * 12] * 12), tmp_path / "room.json")
    document = json.loads((tmp_path / "room.json").read_text())
    document["floor"] = [change(number, row) for number, row in enumerate(document["floor"])]
    (tmp_path / "room.json").write_text(json.dumps(document))
    return tmp_path / "room.json"


@pytest.mark.processes
def test_a_hole_in_a_wall_is_told_by_its_place(script, here, tmp_path):
    path = room_file(tmp_path, lambda number, row: "####.#########" if number == 0 else row)
    for run in (script, here):
        sentence = run("--train-rooms", path)
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


@pytest.mark.processes
def test_the_folder_of_another_experiment_is_refused(script, tmp_path):
    RunFolder.open(tmp_path / "out", {}, "matrix_game").close()
    assert "belongs to experiment matrix_game, not furnmove_sync" in script()


def test_a_folder_with_another_configuration_is_refused_with_the_difference(here, tmp_path):
    RunFolder.open(tmp_path / "out", config_to_json(SMOKE), EXPERIMENT.name).close()
    sentence = here("--budget-env-steps", 3000)
    assert "was started with another configuration (budget_env_steps: 2000 -> 3000)" in sentence
    assert "repeat the old flags to continue it or give --out another folder" in sentence


@pytest.mark.parametrize("place", ["/proc/nowhere/runs", "/proc/self/attr", "/dev/null/runs"])
def test_a_folder_that_cannot_be_written_is_told(here, place):
    assert here("--out", place).startswith(f"{place} cannot be written")


@pytest.mark.processes
def test_a_file_in_place_of_the_folder_is_told(script, tmp_path):
    (tmp_path / "out").write_text("mine")
    assert "cannot be written (File exists); give --out a folder that you may write to" in script()
    assert (tmp_path / "out").read_text() == "mine"


# ------------------------------------------------------------------------------------------------------------- cluster


@pytest.mark.processes
def test_more_runners_than_cpus_are_refused_before_ray_starts(script, tmp_path):
    sentence = script("--workers.runners", 999, address="")
    assert sentence.startswith("a trial needs 1000 CPUs (its own process, env runners and learners)")
    assert "lower --workers.runners" in sentence
    assert not (tmp_path / "out").exists(), "the corrected command finds no folder of another configuration"


@pytest.mark.processes
@pytest.mark.parametrize("address", [DEAD, "127.0.0.1:99999", "garbage", "http://a b"])
def test_a_cluster_that_does_not_answer_is_told(script, address):
    sentence = script(address=address)
    assert f"RAY_ADDRESS={address}" in sentence
    assert sentence.endswith("start that cluster, correct RAY_ADDRESS, or unset it to run here")


def test_a_cluster_that_cannot_start_here_is_told(monkeypatch):
    def init(**_):
        raise Exception("The current node timed out during startup. Some of it was slow.")

    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(init=init, is_initialized=lambda: False))
    told = r"^Ray did not start on this machine \(.* during startup\); run the command again"
    with pytest.raises(UserError, match=told), ray_cluster():
        pytest.fail("there is no cluster")


# --------------------------------------------------------------------------------------------------------- checkpoints


@pytest.fixture
def checkpoint(tmp_path):
    """A whole checkpoint of a team that learned nothing."""
    return save(tmp_path / "checkpoints")


def save(folder, weights=None, **changes):
    policy = EXPERIMENT.plan(SMOKE, "marginal", 0).build_policy()
    state = {
        "written_by": WRITTEN_BY,
        "experiment": EXPERIMENT.name,
        "config": config_to_json(SMOKE),
        "method": "marginal",
        "seed": 0,
        "progress": {"env_steps": 0, "episodes": 0, "updates": 0},
        "validated_at": 0,
    }
    return save_checkpoint(folder, 0, {"weights": weights or policy.state_dict()}, state | changes)


def refusal(path):
    with pytest.raises(UserError) as told:
        load_policy(path)
    assert "\n" not in str(told.value)
    return str(told.value)


def forge(checkpoint, name, content):
    """Replace a file and make size and digests fit, as an attacker would."""
    (checkpoint / name).write_bytes(content)
    document = json.loads((checkpoint / "state.json").read_text())
    document["files"][name] |= {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    del document["sha256"]
    document["sha256"] = hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
    (checkpoint / "state.json").write_text(json.dumps(document))


def test_a_whole_checkpoint_is_loaded(checkpoint):
    assert load_policy(checkpoint).method == "marginal"


def test_a_checkpoint_that_was_cut_off_or_altered_is_told(checkpoint):
    weights = checkpoint / "weights.safetensors"
    content = weights.read_bytes()
    weights.write_bytes(content[:-100])
    assert "weights.safetensors has" in refusal(checkpoint)
    weights.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert "differs from its recorded SHA-256" in refusal(checkpoint)
    (checkpoint / "state.json").write_text("{")
    assert "is no whole JSON" in refusal(checkpoint)
    (checkpoint / "state.json").write_text('{"weights": 1}')
    assert "give a checkpoint that Concord wrote" in refusal(checkpoint)


@pytest.mark.processes
def test_the_command_line_tells_a_corrupt_checkpoint(checkpoint):
    (checkpoint / "weights.safetensors").write_bytes(b"nothing")
    sentence = complaint("-m", "tune_experiments", "evaluate", checkpoint)
    assert sentence.startswith(f"{checkpoint}/weights.safetensors has 7 bytes instead of ")


@pytest.mark.parametrize("name", ["episode.png", "file/episode.gif"])
def test_a_video_that_cannot_be_written_is_told(name, checkpoint, tmp_path, capsys):
    from tune_experiments.__main__ import main as after_training

    (tmp_path / "file").write_text("a file where a folder should be")
    code = after_training(["render", str(checkpoint), "--out", str(tmp_path / name)])
    assert "--out" in checked(code, capsys.readouterr().err)


def test_a_video_does_not_replace_a_file(checkpoint, tmp_path, capsys):
    from tune_experiments.__main__ import main as after_training

    (tmp_path / "mine.gif").write_text("mine")
    code = after_training(["render", str(checkpoint), "--out", str(tmp_path / "mine.gif")])
    assert "is there already" in checked(code, capsys.readouterr().err)
    assert (tmp_path / "mine.gif").read_text() == "mine"


@pytest.mark.parametrize("command", ["evaluate", "play", "render", "table"])
def test_every_command_tells_a_folder_that_holds_nothing(command, tmp_path, capsys):
    from tune_experiments.__main__ import main as after_training

    for path in (tmp_path, tmp_path / "missing"):
        sentence = checked(after_training([command, str(path)]), capsys.readouterr().err)
        assert sentence.startswith(str(path))


@pytest.mark.parametrize("words", [["evalute", "x"], ["evaluate"], ["evaluate", "x", "--sed", "1"], []])
def test_a_misspelt_command_is_told(words, capsys):
    from tune_experiments.__main__ import main as after_training

    checked(after_training(words), capsys.readouterr().err)


@pytest.mark.parametrize(
    "name", ["os", "../x", "__main__", "common.main", "", "furnmove_sync.__class__", 3, None, ["os"]]
)
def test_a_checkpoint_can_name_no_module_that_is_no_experiment(tmp_path, name, monkeypatch):
    path = save(tmp_path, experiment=name)
    monkeypatch.setattr("importlib.import_module", lambda name: pytest.fail(f"{name} was imported"))
    assert "no experiment is called" in refusal(path)


@pytest.mark.parametrize(
    "changes",
    [
        {"method": "central"},
        {"method": "__init__"},
        {"method": 3},
        {"method": "learner"},
        {"method": "budget_env_steps"},
        {"seed": "many"},
        {"seed": None},
        {"config": {}},
        {"config": 3},
        {"config": config_to_json(SMOKE) | {"budget_env_steps": -1}},
        {
            "config": config_to_json(SMOKE)
            | {"network": config_to_json(dataclasses.replace(SMOKE.network, hidden_size=7))}
        },
        {"progress": 3},
        {"progress": {}},
        {"progress": {"env_steps": "many"}},
    ],
    ids=str,
)
def test_a_checkpoint_whose_state_is_no_trials_is_told(tmp_path, changes):
    path = save(tmp_path, **changes)
    refusal(path)


def test_rooms_of_training_are_not_needed_any_more(tmp_path):
    assert load_policy(save(tmp_path, config=config_to_json(SMOKE) | {"train_rooms": "gone.json"}))


def test_a_checkpoint_of_another_network_is_told(tmp_path):
    assert "does not fit" in refusal(save(tmp_path, weights={"w": torch.zeros(3)}))


class Bomb:
    """Runs code when it is unpickled."""

    def __reduce__(self):
        return exec, ("raise SystemExit('the bomb went off')",)


@pytest.mark.processes
def test_a_pickle_bomb_in_place_of_the_weights_does_not_go_off(checkpoint):
    forge(checkpoint, "weights.safetensors", pickle.dumps(Bomb()))
    assert "weights.safetensors is no safetensors file" in refusal(checkpoint)
    sentence = complaint("-m", "tune_experiments", "evaluate", checkpoint)
    assert "is no safetensors file" in sentence
