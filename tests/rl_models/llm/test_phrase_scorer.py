"""Phrases after a conversation: scored as every candidate alone, normalised, and each conversation once."""

import shutil

import pytest
import torch
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM

from rl_models.chat.exchange import Message
from rl_models.llm import phrase_scorer
from rl_models.llm.base_model import LanguageModelError
from rl_models.llm.phrase_scorer import PhraseScorer
from rl_models.llm.scoring import score_alone, score_trie
from rl_models.llm.shared_base import shared_base
from rl_models.llm.shared_prefix import SharedPrefix
from rl_models.llm.small_model import train_tokenizer
from rl_models.llm.tokens import Tokens

PHRASES = ("pick up the tomato", "chop the onion", "chop")
SIZES = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
SIZES |= {"num_key_value_heads": 2}
TEMPLATE = "{% for one in messages %}[{{ one['role'] }}]{{ one['content'] }}{% endfor %}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model with a chat template, as a Hugging Face folder."""
    path = tmp_path_factory.mktemp("model")
    tokenizer = train_tokenizer(["pick up the tomato", "chop the onion", "[system][user][assistant]"], 320)
    tokenizer.chat_template = TEMPLATE
    torch.manual_seed(0)
    model = LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), **SIZES))
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    model.save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


def conversation(question, manual="onions are chopped before they are cooked"):
    return Message("system", manual), Message("user", question), Message("assistant", "you should")


QUESTIONS = [(conversation(text), PHRASES[: 2 + number]) for number, text in enumerate(("what now?", "and you then?"))]


@torch.no_grad()
def test_prompts_with_a_shared_prefix_score_as_without():
    torch.manual_seed(0)
    model = LlamaForCausalLM(LlamaConfig(vocab_size=300, **SIZES)).eval()
    prefix = tuple(range(20))
    prompts, candidates = [(*prefix, 7, 8), (*prefix, 9), (*prefix, 1, 2, 3)], [((1, 2), (1, 3)), ((4,),), ((5, 6),)]
    shared = SharedPrefix(prefix)
    for _ in range(2):
        found = score_trie(model, prompts, candidates, encode=shared)
        wanted = score_alone(model, prompts, candidates)
        torch.testing.assert_close(found.log_probs, wanted.log_probs, atol=1e-5, rtol=0)
        torch.testing.assert_close(found.states, wanted.states, atol=1e-5, rtol=0)


@pytest.mark.parametrize("normalisation", ["sum", "token", "word"])
def test_scores_are_log_probabilities_after_the_chat_template_by_length(folder, normalisation):
    scorer = PhraseScorer(str(folder), normalisation)
    model = LlamaForCausalLM.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokens = Tokens(tokenizer, 512)
    for (messages, phrases), found in zip(QUESTIONS, scorer(QUESTIONS), strict=True):
        text = "".join(f"[{one.role}]{one.content}" for one in messages)
        prompt = tuple(tokenizer(text, add_special_tokens=False)["input_ids"])
        candidates = tuple(map(tokens.completion, phrases))
        lengths = {"sum": [1] * 3, "token": list(map(len, candidates)), "word": [4, 3, 1]}[normalisation]
        with torch.no_grad():
            sums = score_alone(model, [prompt], [candidates]).log_probs[0].tolist()
        assert found.scores == pytest.approx([a / b for a, b in zip(sums, lengths, strict=False)], abs=1e-4)
        assert found.tokens == len(prompt) + sum(map(len, candidates))


def test_a_question_is_scored_once_and_new_ones_together(folder, monkeypatch):
    batches, score = [], phrase_scorer.score_trie
    monkeypatch.setattr(
        phrase_scorer, "score_trie", lambda *parts, **how: batches.append(len(parts[1])) or score(*parts, **how)
    )
    scorer = PhraseScorer(str(folder), "token")
    first = scorer(QUESTIONS)
    assert scorer([*QUESTIONS, QUESTIONS[0]]) == [*first, first[0]]
    assert batches == [2]


def test_phrases_beyond_a_window_of_attention_are_scored_by_the_models_own_mask(folder, tmp_path, monkeypatch):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    window = len(Tokens(tokenizer, 512).conversation([(one.role, one.content) for one in QUESTIONS[0][0]]))
    MistralForCausalLM(MistralConfig(vocab_size=len(tokenizer), sliding_window=window, **SIZES)).save_pretrained(
        tmp_path
    )
    tokenizer.save_pretrained(tmp_path)
    monkeypatch.setattr(phrase_scorer, "score_trie", None)
    assert len(PhraseScorer(str(tmp_path), "sum")(QUESTIONS[:1])) == 1


def test_scoring_under_inference_mode_leaves_weights_that_can_be_trained_with(folder):
    with torch.inference_mode():
        scorer = PhraseScorer(str(folder), "token")
        scorer(QUESTIONS)
    base = shared_base(str(folder), torch.float32)
    assert not any(weight.is_inference() for weight in base.model.parameters())


def test_a_chat_template_that_refuses_a_systems_message_is_one_sentence(folder, tmp_path):
    refusing = tmp_path / "refusing"
    shutil.copytree(folder, refusing)
    tokenizer = AutoTokenizer.from_pretrained(refusing)
    tokenizer.chat_template = (
        TEMPLATE + "{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
    )
    tokenizer.save_pretrained(refusing)
    with pytest.raises(LanguageModelError, match="no system role"):
        PhraseScorer(str(refusing), "token").check()


def test_a_conversation_too_long_is_refused(folder):
    with pytest.raises(LanguageModelError, match="long"):
        PhraseScorer(str(folder), "token")([(conversation("chop " * 3000), PHRASES)])
