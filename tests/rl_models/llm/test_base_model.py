"""Which models load, and what is said of those that do not."""

import json
import pickle

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers.processors import TemplateProcessing
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

from rl_models.llm.base_model import LanguageModelError, load_base_model
from rl_models.llm.llm_config import LanguageModelSettings
from rl_models.llm.messages import generate
from rl_models.llm.small_model import train_tokenizer
from rl_models.llm.tokens import Tokens, load_tokenizer
from rl_models.teams.llm_team import adapted_model


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


def test_a_chat_template_makes_the_prompt_a_turn_and_the_phrase_its_answer(checkpoint):
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    tokenizer.chat_template = (
        "{% for m in messages %}[{{ m.role }}] {{ m.content }}{% endfor %}{% if add_generation_prompt %}[answer] "
        "{% endif %}"
    )
    tokenizer.save_pretrained(checkpoint)
    plain, chat = (load_tokenizer(str(checkpoint), is_chat) for is_chat in (False, True))
    language = adapted_model(LanguageModelSettings(model=str(checkpoint), chat_template=True))
    for tokens in (chat, pickle.loads(pickle.dumps(chat)), language.tokens):
        joined = tokens.prompt("You should") + tokens.completion("chop the onion")
        assert tokens.text(joined, 10) == "[user] You should[answer] chop the onion"
    assert (
        plain.text(plain.prompt("You should") + plain.completion("chop the onion"), 10) == "You should chop the onion"
    )


def test_a_prompt_goes_on_although_the_tokenizer_ends_texts(checkpoint):
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    wanted = tuple(tokenizer("You should")["input_ids"])
    marks = [(mark, tokenizer.convert_tokens_to_ids(mark)) for mark in (tokenizer.bos_token, tokenizer.eos_token)]
    both = TemplateProcessing(single=f"{marks[0][0]} $A {marks[1][0]}", special_tokens=marks)
    tokenizer.backend_tokenizer.post_processor = both
    tokens = Tokens(tokenizer, 99)
    assert tokens.prompt("You should") == tokens.conversation([("user", "You should")]) == wanted


def test_a_model_without_a_chat_template_is_refused_with_the_flag(checkpoint):
    with pytest.raises(LanguageModelError, match="chat-template"):
        adapted_model(LanguageModelSettings(model=str(checkpoint), chat_template=True))


def test_a_wrong_name_is_one_clear_sentence(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(LanguageModelError, match="nobody/has-this") as caught:
        load_base_model("nobody/has-this")
    assert "\n" not in str(caught.value)


def test_weights_that_are_pickled_are_not_opened(checkpoint):
    (checkpoint / "model.safetensors").unlink()
    torch.save({}, checkpoint / "pytorch_model.bin")
    with pytest.raises(LanguageModelError, match="safetensors"):
        load_base_model(str(checkpoint))


def test_a_pickle_that_an_index_names_does_not_run(checkpoint):
    ran = checkpoint / "ran"

    class Hostile:
        def __reduce__(self):
            return open, (str(ran), "w")

    names = load_file(checkpoint / "model.safetensors")
    (checkpoint / "model.safetensors").unlink()
    (checkpoint / "weights.bin").write_bytes(pickle.dumps(Hostile()))
    index = {"metadata": {"total_size": 1}, "weight_map": dict.fromkeys(names, "weights.bin")}
    (checkpoint / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(LanguageModelError, match="safetensors"):
        load_base_model(str(checkpoint))
    assert not ran.exists()


@pytest.mark.parametrize("file", ["model.safetensors", "config.json", "tokenizer.json"])
def test_a_file_that_stops_short_is_one_clear_sentence(checkpoint, file):
    whole = (checkpoint / file).read_bytes()
    (checkpoint / file).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(LanguageModelError, match=r"config\.json.*model\.safetensors") as caught:
        load_base_model(str(checkpoint))
    assert "\n" not in str(caught.value)


def test_a_folder_without_a_tokenizer_is_refused(checkpoint):
    for file in checkpoint.glob("tokenizer*"):
        file.unlink()
    with pytest.raises(LanguageModelError, match="tokenizer"):
        load_base_model(str(checkpoint))


def test_a_tokenizer_without_padding_will_do(checkpoint):
    settings = json.loads((checkpoint / "tokenizer_config.json").read_text())
    settings.pop("pad_token")
    (checkpoint / "tokenizer_config.json").write_text(json.dumps(settings))
    language = adapted_model(LanguageModelSettings(model=str(checkpoint)))
    prompts = [language.tokens.prompt(text) for text in ("chop", "pick up the onion")]
    assert language.score("action", prompts, [((5,), (6, 7)), ((8,),)]).log_probs.shape == (2, 2)
    assert len(generate(language.base, prompts, 4, language.tokens.end, None)) == 2


def test_weights_that_are_missing_are_not_made_up(checkpoint):
    weights = load_file(checkpoint / "model.safetensors")
    weights.pop("lm_head.weight")
    save_file(weights, checkpoint / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(LanguageModelError, match=r"lm_head\.weight"):
        load_base_model(str(checkpoint))


def test_code_that_comes_with_a_model_is_not_run(checkpoint):
    ran = checkpoint / "ran"
    (checkpoint / "own.py").write_text(f"open({str(ran)!r}, 'w').close()\nclass Own: pass\n")
    config = json.loads((checkpoint / "config.json").read_text())
    config |= {"model_type": "own", "auto_map": {"AutoConfig": "own.Own", "AutoModelForCausalLM": "own.Own"}}
    (checkpoint / "config.json").write_text(json.dumps(config))
    with pytest.raises(LanguageModelError, match="code"):
        load_base_model(str(checkpoint))
    assert not ran.exists()


def test_a_model_whose_messages_could_not_end_is_refused(checkpoint):
    settings = json.loads((checkpoint / "tokenizer_config.json").read_text())
    settings.pop("eos_token")
    (checkpoint / "tokenizer_config.json").write_text(json.dumps(settings))
    with pytest.raises(LanguageModelError, match="token"):
        load_base_model(str(checkpoint))
