"""Which models load, and what is said of those that do not."""

import json

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from rl_models.language_policy.base_model import LanguageModelError, load_base_model
from rl_models.language_policy.settings import LanguageModelSettings
from rl_models.language_policy.small_model import train_tokenizer
from rl_models.language_policy.team import adapted_model


@pytest.fixture
def checkpoint(tmp_path):
    """A LLaMA-shaped checkpoint with grouped keys and its tokenizer, as a hub folder is."""
    tokenizer = train_tokenizer(["pick up the tomato", "chop the onion"], 320)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=48,
        intermediate_size=64,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
    )
    LlamaForCausalLM(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    return tmp_path


def test_a_llama_folder_loads_and_scores(checkpoint):
    language = adapted_model(LanguageModelSettings(model=str(checkpoint)))
    assert language.width == 48
    assert not any(weight.requires_grad for key, weight in language.base.named_parameters() if "lora_" not in key)
    tokens = language.tokens
    candidates = tuple(tokens.behind(text) for text in ("pick up the tomato", "chop the onion"))
    scores = language.score("action", [tokens.prompt("You should")], [candidates]).log_probs
    assert scores.shape == (1, 2)
    assert bool((scores < 0).all())
    assert tokens.text(candidates[1], 10) == "chop the onion"


def test_a_wrong_name_is_one_clear_sentence(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(LanguageModelError, match="no language model 'nobody/has-this'") as caught:
        load_base_model("nobody/has-this")
    assert "\n" not in str(caught.value)
    assert "check the name" in str(caught.value)


def test_weights_that_are_pickled_are_not_opened(checkpoint):
    (checkpoint / "model.safetensors").unlink()
    torch.save({}, checkpoint / "pytorch_model.bin")
    with pytest.raises(LanguageModelError, match="safetensors"):
        load_base_model(str(checkpoint))


def test_code_that_comes_with_a_model_is_not_run(checkpoint):
    ran = checkpoint / "ran"
    (checkpoint / "own.py").write_text(f"open({str(ran)!r}, 'w').close()\nclass Own: pass\n")
    config = json.loads((checkpoint / "config.json").read_text())
    config |= {"model_type": "own", "auto_map": {"AutoConfig": "own.Own", "AutoModelForCausalLM": "own.Own"}}
    (checkpoint / "config.json").write_text(json.dumps(config))
    with pytest.raises(LanguageModelError, match="without code of its own"):
        load_base_model(str(checkpoint))
    assert not ran.exists()


def test_a_model_whose_messages_could_not_end_is_refused(checkpoint):
    settings = json.loads((checkpoint / "tokenizer_config.json").read_text())
    settings.pop("eos_token")
    (checkpoint / "tokenizer_config.json").write_text(json.dumps(settings))
    with pytest.raises(LanguageModelError, match="no end-of-text token"):
        load_base_model(str(checkpoint))


def test_the_default_model_needs_a_corpus():
    with pytest.raises(LanguageModelError, match="needs a corpus"):
        adapted_model(LanguageModelSettings())
