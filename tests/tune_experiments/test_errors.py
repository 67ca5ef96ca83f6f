"""The contract of errors: a wrong input gives one sentence that names what is wrong and says how to fix it.

Each row of the tables is a wrong input and what its sentence must name: the flag, key, file or agent. The rules are in
`assert_contract`; no wording is.
"""

import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from rl_envs.furnmove.room import room_from_drawing
from rl_envs.furnmove.room_file import save_room
from rl_envs.furnmove.splits import RoomStream, split_rooms
from rl_envs.furnmove.start_file import save_starts
from rl_envs.furnmove.starts import make_starts
from rl_envs.messenger.corpus_file import FOLDER_VARIABLE
from tests.tune_experiments.run.refusals import DEAD, SMOKE, assert_contract, checked, refusal, save
from tune_experiments.core.config_json import config_to_json
from tune_experiments.core.config_path import with_overrides
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.furnmove_sync import EXPERIMENT as FURNMOVE
from tune_experiments.launch.experiment import main
from tune_experiments.run.ray_cluster import ray_cluster
from tune_experiments.run.run_folder import RunFolder

TEAMS, MATRIX, MESSENGER = (find_experiment(name) for name in ("train", "matrix_game", "messenger_emma"))


@pytest.fixture
def script(tmp_path, monkeypatch, capsys):
    """An experiment's script with a few words: what it leaves on stderr with exit code 2."""
    monkeypatch.setenv("RAY_ADDRESS", DEAD)

    def run(*words, experiment=FURNMOVE):
        code = main(experiment, ["--preset", "smoke", "--out", str(tmp_path / "out"), *map(str, words)])
        return checked(code, capsys.readouterr().err)

    return run


FLAGS = [
    ("--preset huge", "--preset", "laptop"),
    *((f"{flag} {value}", flag, value) for flag, value in (
        ("--budget-env-steps", 0), ("--budget-env-steps", -5), ("--workers.runners", -1), ("--learner.gamma", "nan"),
        ("--learner.gae-lambda", 1.5), ("--sync.learning-rate", "inf"), ("--max-concurrent-trials", 0),
        ("--slice-seconds", 0), ("--slice-seconds", "inf"), ("--search", 0), ("--seeds", -1),
    )),
    ("--workers.worlds-per-runner 2 --workers.learners 3", "--workers.learners", 3),
    ("--methods sync_2 sync_2", "--methods"),
    ("--seeds 1 1", "--seeds"),
    ("--local --max-concurrent-trials 2", "--local", "--max-concurrent-trials"),
    ("--local --search 2", "--local", "--search"),
    ("--search-seed 3", "--search-seed"),
    ("--search-over learner.gamma=grid:0.5", "--search-over"),
    ("--search-by asha", "--search-by"),
    ("--search-by grid --search-seed 3 --search-over learner.gamma=grid:0.5", "--search-seed", "--search-by"),
    ("--search-by grid --methods marginal --search-over sync.entropy_coef=grid:0,1", "sync.entropy_coef"),
    ("--search 2 --search-over learner.gama=grid:0.5", "learner.gama", "learner.gamma"),
    ("--search 3 --search-by pbt --max-concurrent-trials 2", "--max-concurrent-trials"),
    *((f"--search 2 --search-by {by} --search-over workers.runners=grid:0,1", "workers.runners")
      for by in ("pbt", "optuna")),
    ("--slice-seconds 9 --search 2", "--slice-seconds"),
    ("--network.no-communicates", "no_communication"),
    ("--train-rooms trane", "trane", "train_stream"),
    ("--train-rooms nowhere.json", "nowhere.json"),
    ("--test-starts nowhere.json", "nowhere.json"),
    ("--valid-rooms test", "test_room_01", "--valid-rooms", "--test-rooms"),
    ("--train-rooms test_room_03", "test_room_03", "--train-rooms", "--test-rooms"),
    ("--test-rooms test test_room_02", "test_room_02", "--test-rooms"),
    ("--out /proc/nowhere/runs", "/proc/nowhere/runs", "--out"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "named"), [(words, named) for words, *named in FLAGS])
def test_a_flag_that_no_run_can_have(script, tmp_path, words, named):
    assert_contract(script(*words.split()), *named)
    assert not (tmp_path / "out").exists(), "nothing is claimed"


UNREADABLE = [
    ("--budget-env-step 3", "--budget-env-steps"),
    ("--budget-env-steps many", "--budget-env-steps"),
    ("--budget-env-steps", "--budget-env-steps"),
    ("--learner.algorithm sac", "--learner.algorithm"),
    ("--methods sync_3", "--methods"),
    ("train", "train"),
]


@pytest.mark.parametrize(("words", "named"), UNREADABLE)
def test_what_tyro_cannot_read_is_named_and_ends_with_code_2(words, named, capsys):
    assert main(FURNMOVE, ["--preset", "smoke", *words.split()]) == 2
    said = capsys.readouterr()
    assert named in said.err and "Traceback" not in said.err and said.out == ""


EARLY = [(f"--out {{at}}/{one}", "{at}/" + one.split("/")[0], "--out") for one in ("file", "file/run", "link/run")]
EARLY += [("--device cuda", "--device")]
EARLY += [("CONCORD_FRAGMENT_SECONDS 9min", "CONCORD_FRAGMENT_SECONDS"), ("CONCORD_FRAGMENT_SECONDS inf", "inf")]


@pytest.mark.parametrize(("words", "named"), [(words, named) for words, *named in EARLY])
def test_what_is_refused_before_the_environment_is_played(script, tmp_path, monkeypatch, words, named):
    monkeypatch.delenv("RAY_ADDRESS")
    monkeypatch.setattr("tune_experiments.teams.inspection.probe", lambda *_: pytest.fail("it was played"))
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("nowhere")
    flag, value = words.format(at=tmp_path).split()
    if not flag.startswith("--"):
        monkeypatch.setenv(flag, value)
    sentence = script(*([flag, value] if flag.startswith("--") else []), experiment=TEAMS)
    assert_contract(sentence, *(name.format(at=tmp_path) for name in named))


def environment():
    """A function where a name is wanted."""


ARGUMENTS = {
    "--env": [{"env": value} for value in (environment, dict, object(), b"x")],
    "--env-arguments": [{"env_arguments": "max_cycles=3"}],
    "--qmix.precision": [{"qmix.precision": "bfloat16"}],
    "no_such": [{"env_arguments": '{"no_such": 1}'}],
    "--methods": [{"methods": value} for value in ({"ippo"}, "ippo", (), ("ippo", "ippo"), ("other",))],
    "--budget-env-steps": [
        {"budget_env_steps": value} for value in (np.int64(-3), 1e5, 10**400, "many", None, True, float("nan"))
    ],
    "--learner.gamma": [{"learner.gamma": value} for value in (float("nan"), np.array([1.0]), 2, "x")],
    "--learner": [{"learner": 3}],
    "--language.learning-rate": [{"language.learning_rate": -1.0}, {"language": {"learning_rate": "x"}}],
    "--seeds": [{"seeds": value} for value in (-1, "01", [0.5], [], [2**70], [[1]], [True])],
    "--out": [{"out": 3}, {"out": "a\0b"}],
    "--device": [{"device": "gpu"}],
    "--max-concurrent-trials": [{"max_concurrent_trials": value} for value in ("two", 0)],
    "--search": [{"search": "many"}, {"search": 0}],
    "--search-by": [{"search": 2, "search_by": "best"}],
    "--search-over": [{"search": 2, "search_over": "x"}, {"search": 2, "search_over": ("x",)}],
    "callbacks": [{"callbacks": [3]}],
    "config": [{"config": {"a": 1}}, {"config": MATRIX.presets["smoke"]}],
    "preset": [{"preset": 3}, {"preset": "huge"}],
    "learning_rat": [{"learning_rat": 3}],
}


@pytest.mark.parametrize(("named", "wrong"), [(name, one) for name, several in ARGUMENTS.items() for one in several])
def test_a_wrong_argument_from_python(tmp_path, monkeypatch, named, wrong):
    monkeypatch.setenv("RAY_ADDRESS", DEAD)
    start = {} if {"config", "preset"} & wrong.keys() else {"preset": "smoke"}
    sentence = refusal(lambda: TEAMS.run(**{"out": tmp_path / "run"} | start | wrong))
    assert_contract(sentence, named)
    assert DEAD not in sentence and not (tmp_path / "run").exists(), "nothing is claimed"


def room_file(tmp_path, change):
    """A room of 12 x 12 cells, its drawing changed."""
    save_room(room_from_drawing("mine", ["." * 12] * 12), tmp_path / "room.json")
    document = json.loads((tmp_path / "room.json").read_text())
    document["floor"] = [change(number, row) for number, row in enumerate(document["floor"])]
    (tmp_path / "room.json").write_text(json.dumps(document))
    return tmp_path / "room.json"


def starts_file(tmp_path, agents=2, rooms=None):
    rooms = split_rooms("test", "laptop")[:2] if rooms is None else rooms
    save_starts(tmp_path / "starts.json", make_starts(rooms, agents, 2))
    return tmp_path / "starts.json"


def hole(number, row):
    return "####.#########" if number == 0 else row


def crowded(number, row):
    return "#.oo.oo.oo.oo#" if number in range(2, 13, 2) else row


ENVIRONMENTS = [
    ("--train-rooms", lambda at: room_file(at, hole), ("room.json", "row 0", "column 4")),
    ("--train-rooms", lambda at: room_file(at, crowded), ("stand",)),
    ("--test-starts", lambda at: starts_file(at, agents=3), ("--num-agents",)),
    (
        "--test-starts",
        lambda at: starts_file(at, rooms=split_rooms("valid", "laptop")[:1]),
        ("valid_room_01", "--valid-rooms", "--test-starts"),
    ),
    (
        "--test-starts",
        lambda at: starts_file(at, rooms=RoomStream(size="laptop")[17:19]),
        ("train_stream", "--train-rooms", "--test-starts"),
    ),
]


@pytest.mark.parametrize(("flag", "file", "named"), ENVIRONMENTS)
def test_an_environment_that_cannot_be_built(script, tmp_path, flag, file, named):
    assert_contract(script(flag, file(tmp_path)), *named)
    assert not (tmp_path / "out").exists(), "nothing is claimed"


WORDS = [("--texts published", FOLDER_VARIABLE), ("--texts nowhere", "text_train.json"), ("--encoder.name x/y", "x/y")]


@pytest.mark.parametrize(("words", "named"), WORDS)
def test_words_and_encoders_that_are_not_here(script, tmp_path, monkeypatch, words, named):
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    monkeypatch.setitem(sys.modules, "huggingface_hub", SimpleNamespace(snapshot_download=lambda *_, **__: 1 / 0))
    assert_contract(script(*words.split(), experiment=MESSENGER), named)
    assert not (tmp_path / "out").exists(), "nothing is claimed"


NAMES = {
    "furnmove": ("furnmove", "package.module:NAME"),
    "nowhere.at_all:EXPERIMENT": ("nowhere.at_all:EXPERIMENT", "PYTHONPATH"),
    "os.path:join": ("os.path:join", "Experiment"),
    "tune_experiments.matrix_game:NOTHING": ("NOTHING", "Experiment"),
    "overcooked_crossplay": ("overcooked_crossplay",),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_no_experiment(name):
    assert_contract(refusal(lambda: find_experiment(name)), *NAMES[name])


def test_a_missing_module_where_a_run_is_continued(script, tmp_path):
    config = config_to_json(TEAMS.presets["smoke"]) | {"env": "gone.away:parallel_env"}
    RunFolder.open(tmp_path / "out", config, TEAMS.name).close()
    assert_contract(script("--env", "gone.away:parallel_env", experiment=TEAMS), "gone", "PYTHONPATH")


def test_a_cluster_that_does_not_answer_or_start(monkeypatch):
    def init(**_):
        raise Exception("The current node timed out during startup. Some of it was slow.")

    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(init=init, is_initialized=lambda: False))
    monkeypatch.setattr("tune_experiments.run.ray_cluster.make_job_config", list)
    for address in (DEAD, "127.0.0.1:99999", "http://a b:1", "garbage", ""):
        monkeypatch.setenv("RAY_ADDRESS", address)
        assert_contract(refusal(lambda: ray_cluster().__enter__()), "RAY_ADDRESS", address)


def test_more_runners_than_cpus_before_ray_starts(script, tmp_path, monkeypatch):
    monkeypatch.delenv("RAY_ADDRESS")
    for flags in ("--workers.runners 9999", "--search-by grid --search-over workers.runners=grid:0,9999"):
        assert_contract(script(*flags.split()), "10000 CPUs", "--workers.runners")
        assert not (tmp_path / "out").exists(), "nothing is claimed"


def test_a_run_of_a_larger_machine_is_continued_on_a_smaller_one(script, tmp_path, monkeypatch):
    config = with_overrides(SMOKE, {"workers.runners": 9999, "workers.worlds_per_runner": 1})
    RunFolder.open(tmp_path / "out", config_to_json(config), FURNMOVE.name).close()
    save(tmp_path / "out/trials/marginal-seed0/checkpoints")

    def joins():
        raise UserError("asked")

    monkeypatch.setattr("tune_experiments.launch.launch.ray_cluster", joins)
    assert script("--workers.runners", 0, "--workers.worlds-per-runner", 9999) == "asked"
