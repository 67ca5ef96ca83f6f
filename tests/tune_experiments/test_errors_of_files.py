"""The contract of errors for what lies on disks: runs, checkpoints, results, searches and documents."""

import gzip
import json
from pathlib import Path

import pytest
import torch

from tests.documented_commands import ROOT
from tests.tune_experiments.experiments import UNTRAINED
from tests.tune_experiments.run.bomb import BOMB
from tests.tune_experiments.run.refusals import DEAD, SMOKE, assert_contract, checked, refusal, save
from tune_experiments import load_policy, matrix_game
from tune_experiments.__main__ import main as command
from tune_experiments.core.config_json import config_to_json
from tune_experiments.core.config_path import with_overrides
from tune_experiments.furnmove_sync import EXPERIMENT
from tune_experiments.launch.experiment import main
from tune_experiments.launch.export import name_runs
from tune_experiments.results.comparison import compare
from tune_experiments.results.rows import Result, read, write
from tune_experiments.results.tables import make_table
from tune_experiments.results.trial_log import read_metrics
from tune_experiments.run.final_evaluation import read_test_results
from tune_experiments.run.run_folder import RunFolder, read_config, read_sessions
from tune_experiments.search.folder import claim_for_search

LINE = vars(Result("matrix_game", "A table", "sync", "game", "test", 0, "success", 1.0))


def written(path, content):
    """A file with this content: text, bytes, or anything else as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = content if isinstance(content, str | bytes) else json.dumps(content)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def run_of(out, config=SMOKE, experiment=EXPERIMENT.name):
    RunFolder.open(out, config_to_json(config), experiment).close()
    save(out / "trials/marginal-seed0/checkpoints", config=config_to_json(config))
    return out


def older(out):
    document = json.loads((run_of(out) / "config.json").read_text())
    written(out / "config.json", document | {"schema_version": 1})


FOLDERS = {
    "another experiment": (lambda out: run_of(out, matrix_game.SMOKE, "matrix_game"), ("matrix_game", "--out")),
    "other flags": (
        lambda out: run_of(out, with_overrides(SMOKE, {"learner.gamma": 0.5, "budget_env_steps": 3_000})),
        ("--learner.gamma 0.5 -> 0.95", "--budget-env-steps 3000 -> 2000", "--out"),
    ),
    "an older version": (older, ("config.json", "--out")),
    "a file": (lambda out: written(out, "mine"), ("--out",)),
    "other files": (lambda out: written(out / "thesis.tex", "mine"), ("thesis.tex", "--out")),
    "no JSON": (lambda out: written(out / "config.json", "{"), ("config.json", "--out")),
    "no manifest": (lambda out: written(run_of(out) / "manifest.json", {"sessions": 5}), ("manifest.json", "--out")),
    "a search": (lambda out: written(run_of(out) / "search.json", {"by": "random"}), ("--search",)),
}


@pytest.mark.parametrize("kind", FOLDERS)
def test_a_folder_that_cannot_hold_the_run(tmp_path, capsys, monkeypatch, kind):
    fill, named = FOLDERS[kind]
    fill(tmp_path / "out")

    def contents():
        return {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path.name[0] != "."}

    before = contents()
    monkeypatch.setenv("RAY_ADDRESS", DEAD)
    code = main(EXPERIMENT, ["--preset", "smoke", "--out", str(tmp_path / "out")])
    assert_contract(checked(code, capsys.readouterr().err), tmp_path / "out", *named)
    assert kind == "a search" or contents() == before, "nothing is lost"


STATES = {
    "method": ({"method": "central"}, {"method": "__init__"}, {"method": 3}, {"method": "learner"}),
    "seed": ({"seed": "many"}, {"seed": None}),
    "config": (
        {"config": {}},
        {"config": 3},
        {"config": config_to_json(SMOKE) | {"budget_env_steps": -1}},
        {"config": config_to_json(with_overrides(SMOKE, {"network.hidden_size": 7}))},
    ),
    "progress": ({"progress": 3}, {"progress": {}}, {"progress": {"env_steps": "many"}}),
    "experiment": tuple(
        {"experiment": name} for name in ("os", "../x", "__main__", "", "furnmove_sync.__class__", 3, None, ["os"])
    ),
    "weights": ({"weights": {"w": torch.zeros(3)}},),
    "version": ({"written_by": {"schema_version": 1}}, {"written_by": {}}),
}


@pytest.mark.parametrize("changes", [one for several in STATES.values() for one in several], ids=str)
def test_a_checkpoint_of_no_trial(tmp_path, changes):
    assert_contract(refusal(lambda: load_policy(save(tmp_path, **changes))))


@pytest.mark.parametrize("changes", STATES["experiment"], ids=str)
def test_a_checkpoint_can_name_no_module_that_is_no_experiment(tmp_path, monkeypatch, changes):
    path = save(tmp_path, **changes)
    monkeypatch.setattr("importlib.import_module", lambda name: pytest.fail(f"{name} was imported"))
    assert_contract(refusal(lambda: load_policy(path)))


def test_a_whole_checkpoint_is_loaded_without_the_rooms_of_training(tmp_path):
    path = save(tmp_path, config=config_to_json(SMOKE) | {"train_rooms": "gone.json"})
    assert load_policy(path).method == "marginal"


@pytest.mark.parametrize(
    ("name", "content"),
    [("weights.safetensors", b"nothing"), ("state.json", b"{"), ("state.json", b'{"weights": 1}')],
)
def test_a_damaged_checkpoint(tmp_path, name, content):
    checkpoint = save(tmp_path)
    (checkpoint / name).write_bytes(content)
    assert_contract(refusal(lambda: load_policy(checkpoint)), checkpoint.name)


@pytest.mark.parametrize("path", [None, 3, "", "a\0b", "nowhere", []])
def test_what_is_no_team(path):
    assert_contract(refusal(lambda: load_policy(path)))


MATCHES = "tests.tune_experiments.play.test_match:Matches"
WORDS = [
    ("furnmove_snyc", "furnmove_snyc", "furnmove_sync"),
    ("evalute", "evalute", "evaluate"),
    ("qqqq", "qqqq", "concord --help"),
    ("export-adapter", "export-adapter", "export-adapters"),
    ("run furnmove_snyc", "furnmove_snyc", "furnmove_sync"),
    *((f"run {name} {{at}}/missing", "{at}/missing") for name in sorted(UNTRAINED)),
    *((f"run {name} {{at}}/run --out {{at}}/notes.txt/x", "{at}/notes.txt", "--out") for name in sorted(UNTRAINED)),
    ("envs mine", "concord envs", "mine"),
    ("play x --seed -1", "--seed"),
    ("render x --seed -1", "--seed"),
    ("show nowhere", "nowhere"),
    ("show nowhere --episodes 0", "--episodes"),
    ("show nowhere --out {at}/mine.gif", "mine.gif", "--out"),
    ("render minirts-v0", "minirts-v0", "--policies"),
    ("doctor pretrained/rtfm_letters", "metrics.jsonl"),
    ("play pretrained/rtfm_letters --record kept", "--record"),
    ("play pretrained/rtfm_letters --port 99", "--port"),
    ("play pretrained/rtfm_letters --human agent_0 --decentralised", "--decentralised"),
    ("table RUN --document page.md", "PATH", "--document"),
    ("table RUN --check", "--check", "--document"),
    ("table nowhere.jsonl.gz", "nowhere.jsonl.gz"),
    ("table --document nowhere.md", "nowhere.md"),
    *((f"{name} {{at}}", "{at}") for name in ("evaluate", "play", "render", "table")),
    *((f"{name} {{at}}/missing", "{at}/missing") for name in ("evaluate", "play", "render", "table", "doctor")),
    *((f"{name} {{at}}/notes.txt", "{at}/notes.txt") for name in ("evaluate", "doctor")),
    *((f"{name} s3://bucket/run", "s3://bucket/run", "path") for name in ("evaluate", "doctor", "table")),
    ("compare runs/a s3://bucket/a", "s3://bucket/a"),
    ("render {at}/team/checkpoint_000000 --out episode.png", "episode.png", "--out"),
    ("render {at}/team/checkpoint_000000 --out {at}/notes.txt/episode.gif", "--out"),
    ("render {at}/team/checkpoint_000000 --out {at}/mine.gif", "mine.gif", "--out"),
    *((f"{name} {{at}}/gone/checkpoint_000000", "/gone/starts.json") for name in ("evaluate", "play", "render")),
    ("table {at}/measured --save {at}/game.txt", "--save"),
    ("table {at}/measured --save {at}/mine.jsonl.gz", "mine.jsonl.gz", "--save"),
    *((f"table {{at}}/{run}", "{at}/" + run) for run in ("run", "empty", "search", "cut.jsonl.gz")),
    ("table {at}/run --save {at}/game.jsonl.gz", "{at}/run"),
    *((f"table {words} --save {{at}}/new.jsonl.gz", "--save", "PATH") for words in ("a.jsonl.gz", "--document a.md")),
    ("export {at}/run", "{at}/run"),
    ("export {at}/search --format latex", "{at}/search"),
    ("export {at}/measured --format parquet", "--out"),
    ("export {at}/measured --out {at}/new.xlsx", "--format"),
    ("export {at}/measured --metrics successes", "success"),
    ("render chess-v0 --policies a b", "chess-v0"),
    ("render two_step_game-v0 --policies a b", "two_step_game-v0"),
    ("render minirts-v0 --policies medium hard", "hard"),
    *((f"render {MATCHES} --policies one {words}", named) for words, named in (
        ("cheater", "cheater"), ("two --scale 0", "--scale"), ("two --out {at}/match.avi", "--out"),
    )),
    ("table {at}/bad.jsonl.gz", "{at}/bad.jsonl.gz"),
    ("table {at}/half.jsonl.gz", "{at}/half.jsonl.gz"),
    ("table {at}/fields.jsonl.gz", "{at}/fields.jsonl.gz"),
    ("table --document {at}/end.md", "{at}/end.md", "<!-- end -->"),
    ("table --document {at}/other.md", "other.jsonl.gz"),
]  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with teams, damaged results and documents."""
    at = tmp_path_factory.mktemp("files")
    save(at / "team")
    save(at / "gone", config=config_to_json(SMOKE) | {"test_starts": "/gone/starts.json"})
    run_of(at / "run")
    for name in ("measured", "search"):
        write(run_of(at / name, matrix_game.SMOKE, "matrix_game") / "results.jsonl", [Result(**LINE)])
    written(at / "search/search.json", {"by": "random"})
    written(run_of(at / "empty") / "results.jsonl", "")
    written(at / "mine.jsonl.gz", "mine")
    for name in ("notes.txt", "mine.gif"):
        written(at / name, "mine")
    written(at / "bad.jsonl.gz", b"no gzip")
    written(at / "half.jsonl.gz", gzip.compress(b"{"))
    changed = bytearray((ROOT / "docs/results/frozen_lake.jsonl.gz").read_bytes())
    changed[len(changed) // 2] ^= 0xFF
    written(at / "cut.jsonl.gz", bytes(changed))
    written(at / "fields.jsonl.gz", gzip.compress(b'{"experiment": 1}'))
    written(at / "end.md", "<!-- table: game -->\n")
    written(at / "other.md", "<!-- table: other -->\n<!-- end -->\n")
    return at


@pytest.mark.parametrize(("words", "named"), [(words, named) for words, *named in WORDS], ids=lambda value: str(value))
def test_a_command_that_cannot_be_done(files, capsys, words, named):
    before = {path: path.read_bytes() for path in files.rglob("*") if path.is_file()}
    code = command([word.format(at=files) for word in words.split()])
    assert_contract(checked(code, capsys.readouterr().err), *(name.format(at=files) for name in named))
    assert {path: path.read_bytes() for path in files.rglob("*") if path.is_file()} == before
    assert not Path("episode.png").exists()


@pytest.mark.parametrize(
    ("words", "named"),
    [
        *((name, "PATH") for name in ("evaluate", "play", "show", "render", "export-adapters", "pack", "doctor")),
        ("evaluate x --episodes 0", "--episodes"),
        ("pack run foo", "--given"),
        ("show x --episodes many", "--episodes"),
    ],
)
def test_a_command_that_tyro_cannot_read_is_named(words, named, capsys):
    assert command(words.split()) == 2
    assert named in capsys.readouterr().err


NUMBERS = ("NaN", "-Infinity", "1e999", '"nan"', "1" + "0" * 400, "1" + "0" * 5000, "true")
LISTS = [{"main_comparisons": 5}, {"main_comparisons": [5]}, {"pretrained_models": ["a"]}]
DAMAGED = [
    *(("results.jsonl", json.dumps(LINE).replace('"value": 1.0', f'"value": {one}') + "\n") for one in NUMBERS),
    *(("results.jsonl", f"{json.dumps(LINE)}\n{one}\n") for one in ("{]", "[]", '{"metric": "success"}', "{")),
    *(("metrics.jsonl", f"{one}\n") for one in ("rubbish", '{"env_steps": Infinity}', '{"env_steps": 1, "x": [1]}')),
    *(
        ("test_results.json", {"results": one})
        for one in (5, "abc", [5], [{"experiment": 1}], [LINE | {"value": "a"}], [LINE | {"seed": 0.5}])
    ),
    ("manifest.json", {"sessions": 5}),
    ("manifest.json", {"sessions": []}),
    *(
        ("manifest.json", {"sessions": [{"command": "x", "git": None, "versions": {}} | one]})
        for one in (
            {"command": 5},
            {"command": ""},
            {"command": "x 'y"},
            {"seeds": 5},
            {"seeds": ["a"]},
            {"seeds": None},
            *LISTS,
            {"git": 5},
            {"git": {}},
            {"git": {"commit": 5, "dirty": False}},
            {"versions": None},
        )
    ),
    *(("search.json", one) for one in ({}, {"by": 5}, {"by": {"random": 1}}, "{", BOMB)),
    ("config.json", "{"),
    ("config.json", {"schema_version": 5}),
]


def claimed(folder):
    (folder / "trials").mkdir()
    claim_for_search(folder, {"by": "random"})


READERS = {
    "results.jsonl": lambda folder: read(folder / "results.jsonl"),
    "metrics.jsonl": lambda folder: read_metrics(folder / "metrics.jsonl"),
    "test_results.json": read_test_results,
    "manifest.json": read_sessions,
    "search.json": claimed,
    "config.json": read_config,
}


@pytest.mark.parametrize(("name", "content"), DAMAGED, ids=lambda value: str(value)[:60])
def test_a_damaged_file_of_a_run(tmp_path, name, content):
    written(tmp_path / name, content)
    assert_contract(refusal(lambda: READERS[name](tmp_path)), tmp_path / name)


@pytest.mark.parametrize("name", ["results.jsonl", "metrics.jsonl", "manifest.json", "config.json"])
def test_a_missing_file_of_a_run(tmp_path, name):
    assert_contract(refusal(lambda: READERS[name](tmp_path)), name if name != "config.json" else tmp_path)


def test_what_cannot_be_compared_or_tabulated(tmp_path):
    write(tmp_path / "results.jsonl", [Result(**LINE)])
    assert_contract(refusal(lambda: name_runs([tmp_path, tmp_path / "trials" / ".."])), tmp_path)
    assert_contract(refusal(lambda: compare({"run": [Result(**LINE)]})))
    assert_contract(refusal(lambda: make_table([], "table 9")), "table 9")


def test_a_search_in_the_folder_of_a_run(tmp_path):
    (tmp_path / "trials/sync-seed0").mkdir(parents=True)
    assert_contract(refusal(lambda: claim_for_search(tmp_path, {"by": "random"})), tmp_path, "--out")
