"""What a stranger or a slip can put into the files of a run or a search: each is one sentence that names the file."""

import pickle

import pytest
from ray import tune

from cluster.testing.memory import read_samples
from cluster.testing.soak import main as soak
from tests.tune_experiments.run.bomb import Bomb
from tune_experiments import matrix_game
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.search_space import SearchSpace
from tune_experiments.search.folder import claim_for_search
from tune_experiments.search.optuna_search import JOURNAL_FILE, OptunaSearch
from tune_experiments.search.schedulers import Asha

SPACE = SearchSpace({"learning_rate": tune.loguniform(1e-3, 1e-1)})


def refuse(path, read):
    with pytest.raises(UserError, match=path.name):
        read()


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


@pytest.mark.parametrize("content", [b"\x80\x04K\x01.", b"a,b\n1,2\n", b"", b"minutes,pid,process\nx,1,p\n"])
def test_samples_of_a_soak_are_told_from_other_files(tmp_path, content, capsys):
    path = tmp_path / "samples.csv"
    path.write_bytes(content)
    refuse(path, lambda: read_samples(path))
    assert soak(["--read", str(path)]) == 2
    assert soak(["--read", str(tmp_path / "none.csv")]) == 2
    assert "Traceback" not in capsys.readouterr().err
