"""What a stranger or a slip can put into the files of a run or a search: each is one sentence that names the file."""

import json
import pickle

import pytest
from ray import tune

from cluster.testing.memory import read_samples
from cluster.testing.soak import main as soak
from rl_models.rllib.workers import Workers
from tests.tune_experiments.run.bomb import Bomb
from tune_experiments import matrix_game
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.search_space import SearchSpace
from tune_experiments.results import rows as results
from tune_experiments.results.rows import Result
from tune_experiments.results.trial_log import read_metrics
from tune_experiments.run.doctor import BUSY, RUNNER_SPEED, SPEED, diagnose
from tune_experiments.run.final_evaluation import read_test_results
from tune_experiments.run.run_folder import RunFolder, read_sessions
from tune_experiments.search.domains import space_over
from tune_experiments.search.folder import claim_for_search
from tune_experiments.search.optuna_search import JOURNAL_FILE, OptunaSearch
from tune_experiments.search.schedulers import Asha

LINE = vars(Result("furnmove_sync", "A table", "sync", "furnmove-v0", "test", 0, "success", 1.0))
SPACE = SearchSpace({"learning_rate": tune.loguniform(1e-3, 1e-1)})


def refuse(path, read):
    with pytest.raises(UserError, match=path.name):
        read()


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999", '"nan"', "1" + "0" * 400, "1" + "0" * 5000, "true"])
def test_a_result_is_a_finite_number(tmp_path, number):
    path = tmp_path / "results.jsonl"
    path.write_text(json.dumps(LINE).replace('"value": 1.0', f'"value": {number}') + "\n")
    refuse(path, lambda: results.read(path))


@pytest.mark.parametrize("row", ['{"env_steps": Infinity}', '{"env_steps": 1, "x": [1]}', '{"env_steps": 1, "x": {}}'])
def test_a_row_of_a_log_holds_numbers(tmp_path, row):
    path = tmp_path / "metrics.jsonl"
    path.write_text(f"{row}\n")
    refuse(path, lambda: read_metrics(path))


@pytest.mark.parametrize("found", [5, "abc", [5], [{"experiment": 1}], [LINE | {"value": "a"}], [LINE | {"seed": 0.5}]])
def test_an_outcome_holds_results(tmp_path, found):
    path = tmp_path / "test_results.json"
    path.write_text(json.dumps({"results": found}))
    refuse(path, lambda: read_test_results(tmp_path))


def test_a_manifest_lists_sessions(tmp_path):
    RunFolder.open(tmp_path, {}, "matrix_game").close()
    path = tmp_path / "manifest.json"
    path.write_text('{"sessions": 5}')
    refuse(path, lambda: RunFolder.open(tmp_path, {}, "matrix_game"))


@pytest.mark.parametrize(
    "change", [{"command": 5}, {"git": 5}, {"git": {}}, {"git": {"commit": 5, "dirty": False}}, {"versions": None}]
)
def test_a_session_says_how_it_was_run_where_that_is_needed(tmp_path, change):
    RunFolder.open(tmp_path, {}, "matrix_game").close()
    path = tmp_path / "manifest.json"
    (session,) = read_sessions(tmp_path)
    for sessions in ([session | change], [{}], []):
        path.write_text(json.dumps({"sessions": sessions}))
        refuse(path, lambda: read_sessions(tmp_path))
        assert read_sessions(tmp_path, may_be_missing=True) == sessions


def search_folder(tmp_path):
    (tmp_path / "trials").mkdir(exist_ok=True)
    claim_for_search(tmp_path, {"by": "random"})


def rungs(tmp_path):
    return Asha(["sync-setting00-seed0"], 900, tmp_path / "asha.jsonl")


def journal(tmp_path):
    return OptunaSearch(SPACE, {"sync": matrix_game.SMOKE}, (0,), 2, 0, tmp_path / JOURNAL_FILE, None)


FILES = {"search.json": search_folder, "asha.jsonl": rungs, JOURNAL_FILE: journal}


@pytest.mark.parametrize("name", FILES)
def test_a_pickle_in_a_searchs_folder_is_never_opened(tmp_path, name):
    (tmp_path / name).write_bytes(pickle.dumps(Bomb(tmp_path / "exploded")) + b"\n")
    refuse(tmp_path / name, lambda: FILES[name](tmp_path))
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize("document", [{}, {"by": 5}, {"by": {"random": 1}}], ids=str)
def test_what_no_search_has_written_is_told(tmp_path, document):
    (tmp_path / "search.json").write_text(json.dumps(document))
    refuse(tmp_path / "search.json", lambda: search_folder(tmp_path))


@pytest.mark.parametrize("content", [b"\x80\x04K\x01.", b"a,b\n1,2\n", b"", b"minutes,pid,process\nx,1,p\n"])
def test_samples_of_a_soak_are_told_from_other_files(tmp_path, content, capsys):
    path = tmp_path / "samples.csv"
    path.write_bytes(content)
    refuse(path, lambda: read_samples(path))
    assert soak(["--read", str(path)]) == 2
    assert soak(["--read", str(tmp_path / "none.csv")]) == 2
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "numbers", [(0, 1, 0), (1, 0, 0), (float("nan"), 1, 1), (1, float("inf"), 1), (1, 1, float("nan"))]
)
def test_rows_that_cannot_be_true_tell_the_doctor_nothing(numbers):
    with pytest.raises(UserError, match="no row of this trial's"):
        diagnose([dict(zip((SPEED, RUNNER_SPEED, BUSY), numbers, strict=True))], Workers(), True)


@pytest.mark.parametrize("ends", ["0:inf", "-1e400:1", "nan:1", "2:1"])
def test_a_range_has_two_finite_ends(ends):
    with pytest.raises(UserError, match="below the high one and both finite"):
        space_over([f"learning_rate=uniform:{ends}"], matrix_game.SMOKE, None)


def test_a_missing_manifest_is_an_error_only_where_its_commands_are_needed(tmp_path):
    assert read_sessions(tmp_path, may_be_missing=True) == []
    with pytest.raises(UserError, match=r"manifest\.json does not exist"):
        read_sessions(tmp_path)
