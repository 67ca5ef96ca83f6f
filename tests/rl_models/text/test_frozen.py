"""Frozen encoders: a real BERT from a folder, each sentence encoded once, and clear messages for failures."""

import shutil
import socket

import pytest
import torch
from transformers import BertModel, BertTokenizerFast

from rl_models.text.choice import AUTO, BERT, WORDS, TextEncoderConfig, resolve_encoder, text_encoder
from rl_models.text.encoding_cache import default_folder
from rl_models.text.frozen import FrozenEncoder, frozen_encoder
from rl_models.text.pretrained import PretrainedEncoder, PretrainedError
from rl_models.text.words import WordEncoder
from tests.rl_models.text.small import SENTENCES, save_bert


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    """Folder of a model."""
    return save_bert(tmp_path_factory.mktemp("models") / "tiny-bert")


@pytest.fixture(autouse=True)
def without_a_network(monkeypatch, tmp_path):
    """Nothing is connected to, and nothing is in the hub's cache."""

    def refuse(*_):
        raise OSError("there is no network here")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))


def slowly(folder, sentence, **padding):
    """Last hidden states as transformers gives them for one sentence."""
    inputs = BertTokenizerFast.from_pretrained(folder)(sentence, return_tensors="pt", **padding)
    with torch.no_grad():
        return BertModel.from_pretrained(folder).eval()(**inputs).last_hidden_state[0]


@pytest.mark.parametrize(("padded_to", "padding"), [(0, {}), (20, {"padding": "max_length", "max_length": 20})])
def test_encodings_of_a_batch_are_those_of_single_sentences_padded_where_that_is_asked_for(bert, padded_to, padding):
    wanted = [slowly(bert, sentence, **padding) for sentence in SENTENCES]
    torch.testing.assert_close(PretrainedEncoder(bert, padded_to).encode(SENTENCES), wanted, atol=1e-5, rtol=0)


def test_a_table_holds_every_sentence_and_trains_nothing(bert, tmp_path):
    table = frozen_encoder(PretrainedEncoder(bert), SENTENCES, tmp_path)
    states, lengths = table(torch.tensor([3, 0, 3], dtype=torch.int32))
    for row, sentence in enumerate((3, 0, 3)):
        wanted = slowly(bert, SENTENCES[sentence])
        assert lengths[row] == len(wanted)
        torch.testing.assert_close(states[row, : len(wanted)], wanted, atol=1e-5, rtol=0)
    assert (table.num_sentences, table.features, table.length) == (5, 16, int(table.lengths.max()))
    assert not list(table.parameters())
    assert not table.state_dict()


def test_an_interrupted_encoding_goes_on_where_it_stopped(bert, tmp_path, monkeypatch):
    asked, encode = [], PretrainedEncoder.encode

    def encode_once(self, some):
        if asked:
            raise KeyboardInterrupt
        asked.extend(some)
        return encode(self, some)

    monkeypatch.setattr("rl_models.text.encoding_cache.TEXTS_AT_ONCE", 2)
    monkeypatch.setattr(PretrainedEncoder, "encode", encode_once)
    with pytest.raises(KeyboardInterrupt):
        frozen_encoder(PretrainedEncoder(bert), SENTENCES, tmp_path)
    monkeypatch.setattr(PretrainedEncoder, "encode", lambda self, some: asked.extend(some) or encode(self, some))
    frozen_encoder(PretrainedEncoder(bert), SENTENCES, tmp_path)
    assert asked == list(SENTENCES)


def test_a_table_from_disk_needs_no_model_in_memory(bert, tmp_path, monkeypatch):
    wanted = frozen_encoder(PretrainedEncoder(bert), SENTENCES, tmp_path).states
    monkeypatch.setattr("transformers.AutoModel.from_pretrained", lambda *_, **__: pytest.fail("the model was loaded"))
    assert torch.equal(frozen_encoder(PretrainedEncoder(bert), SENTENCES, tmp_path).states, wanted)


def test_encoders_are_told_apart_by_content_and_form_not_by_name(bert, tmp_path):
    other, copy = tmp_path / "a" / "tiny-bert", tmp_path / "b" / "tiny-bert"
    save_bert(other, seed=1)
    shutil.copytree(bert, copy)
    (copy / "config.json").touch()  # a newer date is no other encoder
    first = PretrainedEncoder(bert)
    assert first.identity == PretrainedEncoder(str(copy)).identity
    assert len({first.identity, PretrainedEncoder(str(other)).identity, PretrainedEncoder(bert, 20).identity}) == 3


# ---------------------------------------------------------------------------------- what cannot be


@pytest.mark.parametrize("name", ["no-such-lab/no-such-model", "a/b/c", "../elsewhere", BERT])
def test_a_wrong_or_unreachable_name_ends_in_one_sentence(name):
    with pytest.raises(PretrainedError) as caught:
        PretrainedEncoder(name)
    said = str(caught.value)
    assert repr(name) in said
    assert "\n" not in said


@pytest.mark.parametrize(
    "error",
    [
        OSError("the disk is full\nand more"),
        ConnectionResetError(104, "Connection reset by peer"),
        RuntimeError("Data processing error: cannot reach the file server"),
        EOFError(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_download_that_breaks_off_ends_in_one_sentence(error, monkeypatch):
    def broken(*_, **__):
        raise error

    monkeypatch.setattr("huggingface_hub.snapshot_download", broken)
    with pytest.raises(PretrainedError, match=r"lab/model") as caught:
        PretrainedEncoder("lab/model")
    assert "\n" not in str(caught.value) and "()" not in str(caught.value)


def test_a_folder_without_a_model_says_what_it_needs(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(PretrainedError, match=r"config\.json") as caught:
        PretrainedEncoder(str(tmp_path)).encode(["a dog"])
    assert "\n" not in str(caught.value)


def test_damaged_weights_are_one_sentence_and_pickled_ones_are_not_opened(bert, tmp_path):
    folder = tmp_path / "damaged"
    shutil.copytree(bert, folder)
    weights = folder / "model.safetensors"
    whole = weights.read_bytes()
    torch.save(BertModel.from_pretrained(bert).state_dict(), folder / "pytorch_model.bin")
    for damaged in (b"", whole[: len(whole) // 2], b"\x80\x04cposix\nsystem\n", None):
        weights.unlink() if damaged is None else weights.write_bytes(damaged)
        with pytest.raises(PretrainedError, match=r"model\.safetensors") as caught:
            PretrainedEncoder(str(folder)).encode(["a dog"])
        assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read_is_named(bert, tmp_path):
    folder = tmp_path / "closed"
    shutil.copytree(bert, folder)
    (folder / "more.json").mkdir()
    with pytest.raises(PretrainedError, match=r"more\.json"):
        _ = PretrainedEncoder(str(folder)).identity


@pytest.mark.parametrize(
    ("padded_to", "sentence", "said"),
    [
        (0, "run " * 30, "32.*24"),
        (8, "run " * 10, "12.*8"),
        (36, "run", "24.*36"),
    ],
)
def test_a_sentence_that_is_too_long_is_refused(bert, padded_to, sentence, said):
    with pytest.raises(PretrainedError, match=said):
        PretrainedEncoder(bert, padded_to).encode([sentence])


# ------------------------------------------------------------------------------------------ choice


def test_without_a_download_words_are_learned():
    assert resolve_encoder(AUTO) == WORDS


def test_bert_is_chosen_where_it_is_on_the_machine(bert, monkeypatch):
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda *_, local_files_only, **__: bert)
    assert resolve_encoder(AUTO) == BERT


def test_configurations_become_encoders(bert, tmp_path, monkeypatch):
    training = SENTENCES[:2]
    words = text_encoder(TextEncoderConfig(word_features=7), SENTENCES, training)
    assert isinstance(words, WordEncoder)
    assert (words.features, words.num_sentences) == (7, len(SENTENCES))
    assert words.words.num_embeddings == 1 + len({word for text in training for word in text.strip(".").split()})
    frozen = text_encoder(TextEncoderConfig(bert, folder=str(tmp_path)), SENTENCES, training)
    assert isinstance(frozen, FrozenEncoder)
    monkeypatch.setenv("CONCORD_ENCODINGS", str(tmp_path / "named"))
    assert default_folder() == tmp_path / "named"
    text_encoder(TextEncoderConfig(bert), SENTENCES, training)
    assert list((tmp_path / "named").glob("*/*.states"))
