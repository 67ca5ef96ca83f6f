"""Readers of texts of any game: masks, sentences, gradients, and that what is read depends on the query."""

import shutil
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from rl_models.networks.network_config import TextReaderConfig
from rl_models.networks.text_readers import TextReader, WordTable
from rl_models.text import token_states
from rl_models.text.encoding_cache import EncodingCache
from rl_models.text.pretrained import PretrainedEncoder
from rl_models.text.token_states import ModelTokens, TokenStates, WordStates
from tests.rl_models.text.small import save_bert

NAMES = ("film2", "emma", "matching", "words")


def reader(name, sentences=3, words=None):
    torch.manual_seed(0)
    config = TextReaderConfig(name, word_features=8, features=12)
    return TextReader(config, {"manual": sentences}, words or WordTable(50, 8), query=5)


def seen(padding=0):
    """Three sentences, the last one empty, in 2 worlds at 1 step for 2 agents."""
    table = torch.zeros(4, 6 + padding, dtype=torch.int32)
    table[1, :4], table[2, :3] = torch.tensor([4, 5, 6, 7]), torch.tensor([8, 9, 4])
    table[3, :6] = torch.arange(11, 17)
    rows = torch.tensor([[[[1, 2, 0], [2, 1, 0]]], [[[3, 2, 0], [1, 1, 0]]]])
    return {"manual": rows, "texts/manual": table}


@pytest.mark.parametrize("name", NAMES)
def test_padding_and_tokens_in_place_of_rows_change_nothing(name):
    one, query, obs = reader(name), torch.randn(2, 1, 2, 5), seen()
    for other in (seen(padding=5), {"manual": obs["texts/manual"][obs["manual"]]}):
        torch.testing.assert_close(one(other, query), one(obs, query))


@pytest.mark.parametrize("name", NAMES)
def test_every_weight_gets_gradient_and_all_but_bags_of_words_read_what_the_query_asks_for(name):
    torch.manual_seed(2)
    one, query = reader(name), torch.randn(2, 1, 2, 5, requires_grad=True)
    one(seen(), query).square().sum().backward()
    without = {key for key, weight in one.named_parameters() if weight.grad is None or not weight.grad.any()}
    biases_of_scores = ("key_score.bias", "value_score.bias", "summary.score.bias")  # a softmax follows
    assert all(name.endswith(biases_of_scores) for name in without)
    asks = query.grad is not None and bool(query.grad.any())
    assert asks == (name != "words")


@pytest.mark.parametrize("name", ["film2", "emma", "words"])
def test_the_order_of_sentences_matters_to_film2_alone(name):
    query = torch.ones(2, 1, 2, 5)
    read = reader(name)(seen(), query)[0, 0]
    assert torch.allclose(read[0], read[1], atol=1e-6) == (name != "film2")


def test_a_frame_without_any_word_is_read_without_harm():
    for name in NAMES:
        obs = seen() | {"manual": torch.zeros(2, 1, 2, 3, dtype=torch.int64)}
        assert reader(name)(obs, torch.ones(2, 1, 2, 5)).isfinite().all()


def test_a_frozen_encoder_gives_states_and_learns_nothing(tmp_path):
    save_bert(tmp_path)
    tokens, states = ModelTokens(str(tmp_path)), TokenStates(str(tmp_path))
    row = tokens.tokens("the dog", 9)
    assert tokens.decode(row) == "the dog"
    assert not tokens.tokens("", 9).any()
    found = states(torch.from_numpy(row)[None])
    length = int((row != 0).sum())
    assert found.shape == (1, 9, 16)
    assert found[0, :length].any()
    assert not found[0, length:].any()
    assert list(states.parameters()) == []
    wanted = PretrainedEncoder(str(tmp_path)).encode(["the dog"])[0]
    torch.testing.assert_close(found[0, :length], wanted)
    with pytest.raises(ValueError, match="max_words"):
        tokens.tokens("the dog " * 9, 9)


def test_ids_of_the_last_texts_alone_are_kept(tmp_path, monkeypatch):
    save_bert(tmp_path)
    monkeypatch.setattr(token_states, "_TEXTS_KEPT", 2)
    tokens = ModelTokens(str(tmp_path))
    dog, jet, again, run = (tokens.tokens(text, 5) for text in ("the dog", "a jet", "the dog", "run"))
    assert again.tolist() == dog.tolist()
    assert [tokens.decode(row) for row in (dog, jet, run)] == ["the dog", "", "run"]


def test_networks_in_two_threads_encode_a_text_once(tmp_path, monkeypatch):
    save_bert(tmp_path)
    asked, read = [], EncodingCache.get
    monkeypatch.setattr(EncodingCache, "get", lambda *given: asked.append(1) or time.sleep(0.2) or read(*given))
    networks = TokenStates(str(tmp_path)), TokenStates(str(tmp_path))
    with ThreadPoolExecutor(2) as threads:
        one, other = threads.map(lambda network: network(torch.tensor([[3, 6, 7, 4]])), networks)
    assert torch.equal(one, other) and len(asked) == 1


WORDS = ("<pad>", "the", "dog", "is", "goal", ".", "moves", "zebra")


def test_the_state_of_a_word_is_the_mean_over_its_tokens_and_sentences_are_read_alone(tmp_path):
    save_bert(tmp_path)
    states = WordStates(str(tmp_path), WORDS)
    found = states(torch.tensor([[1, 2, 6, 5, 1, 4, 5, 0], [1, 4, 5, 0, 0, 0, 0, 0]]))
    assert found.shape == (2, 8, 16) and not found[0, 7].any() and not found[1, 3:].any()
    torch.testing.assert_close(found[0, 4:7], found[1, :3])
    tokens = PretrainedEncoder(str(tmp_path)).encode(["the dog moves."])[0]  # [CLS] the dog move ##s . [SEP]
    wanted = torch.stack([tokens[1], tokens[2], tokens[3:5].mean(0), tokens[5]])
    torch.testing.assert_close(found[0, :4], wanted)
    assert states(torch.tensor([[7]])).any(), "a word that the encoder does not know is read by its pieces"
    assert not [*states.parameters()] and not states.state_dict()


@pytest.mark.parametrize("kind", [TokenStates, lambda name: WordStates(name, WORDS)])
def test_texts_that_are_on_disk_need_no_model(kind, tmp_path, monkeypatch):
    save_bert(tmp_path / "one")
    shutil.copytree(tmp_path / "one", tmp_path / "copied" / "one")
    rows = torch.tensor([[3, 6, 7, 4, 0], [1, 2, 0, 0, 0]])
    wanted = kind(str(tmp_path / "one"))(rows)
    monkeypatch.setattr("transformers.AutoModel.from_pretrained", lambda *_, **__: pytest.fail("the model was loaded"))
    assert torch.equal(kind(str(tmp_path / "copied" / "one"))(rows), wanted)


def test_states_that_were_kept_while_acting_serve_learning(tmp_path):
    save_bert(tmp_path)
    states, rows, weight = TokenStates(str(tmp_path)), torch.tensor([[3, 6, 7, 4]]), torch.ones(16, requires_grad=True)
    with torch.inference_mode():
        acted = states(rows)
    (states(rows) * weight).sum().backward()
    torch.testing.assert_close(weight.grad, acted.sum((0, 1)))
