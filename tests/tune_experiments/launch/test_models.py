"""`concord models`."""

import pytest

from rl_models.hub.catalog import CATALOG, FOLDER_VARIABLE
from tests.rl_models.hub.tiny_gguf import gguf_model
from tune_experiments.__main__ import main


@pytest.fixture
def wheels(tmp_path, monkeypatch):
    """Folder with the wheel of `tiny`, whose terms must be accepted."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "models"))
    monkeypatch.setitem(CATALOG, "tiny", gguf_model(tmp_path / "wheels", terms="TERMS.html"))
    return tmp_path / "wheels"


def test_a_model_with_terms_is_fetched_once_they_are_accepted_and_listed_as_present(wheels, capsys):
    fetch = ["models", "fetch", "tiny", "--wheels", str(wheels)]
    assert main(fetch) == 2
    shown = capsys.readouterr()
    assert "Terms & more" in shown.out and "--accept-terms" in shown.err
    assert main(["models"]) == 0 and "concord models fetch tiny" in capsys.readouterr().out
    assert main([*fetch, "--accept-terms"]) == 0
    assert main(["models"]) == 0 and "concord models fetch tiny" not in capsys.readouterr().out


@pytest.mark.parametrize(("words", "named"), [(["fetch", "tinny"], "tiny"), (["fetch"], "tiny"), (["list", "x"], "x")])
def test_other_words_are_refused_in_one_sentence(wheels, words, named, capsys):
    assert main(["models", *words]) == 2
    said = capsys.readouterr().err
    assert named in said and said.count("\n") == 1
