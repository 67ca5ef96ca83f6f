"""Adapters in the last layers alone: the layers below run once for each prompt with its candidates."""

import numpy as np
import pytest
import torch
from transformers import Gemma3ForCausalLM, Gemma3TextConfig, GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

from rl_models.llm.adapters import AdaptedModel
from rl_models.llm.base_model import LanguageModelError
from rl_models.llm.llm_config import LoraSettings
from rl_models.llm.scoring import score_trie
from rl_models.llm.shared_base import SharedBase
from rl_models.llm.small_model import train_tokenizer
from tests.rl_models.llm.small import stir
from tests.rl_models.llm.test_scoring import GATED, SIZES, VOCABULARY, questions

LAYERS = {"num_hidden_layers": 3}
KINDS = ["sliding_attention", "sliding_attention", "full_attention"]
GEMMA = Gemma3TextConfig(**GATED | LAYERS, head_dim=8, sliding_window=64, layer_types=KINDS)


def adapted(last_layers, config=None, kind=LlamaForCausalLM, base=None, **others):
    """Random adapters in the last layers of a random model."""
    torch.manual_seed(0)
    base = base or kind(config or LlamaConfig(**GATED | LAYERS)).eval().requires_grad_(False)
    shared = base if isinstance(base, SharedBase) else SharedBase(base, train_tokenizer(["a b"], VOCABULARY))
    language = AdaptedModel(shared, LoraSettings(rank=4, last_layers=last_layers), **others)
    stir(language.parameters())
    return language


def scores_and_gradients(language, prompts, candidates, scorer=None):
    language.zero_grad()
    if scorer:
        with language.using("action"):
            scores = scorer(language.base, prompts, candidates)
    else:
        scores = language.score("action", prompts, candidates)
    scores.log_probs.sum().backward()
    return scores, torch.cat([weight.grad.flatten() for weight in language.action.values()])


@pytest.mark.parametrize(
    ("kind", "config"), [(LlamaForCausalLM, None), (Gemma3ForCausalLM, GEMMA)], ids=["llama", "gemma3"]
)
def test_scores_states_and_gradients_equal_the_plain_form_before_and_after_the_states_are_kept(kind, config):
    language = adapted(1, config, kind)
    prompts, candidates = questions(np.random.default_rng(1), 12)
    plain, plain_gradient = scores_and_gradients(language, prompts, candidates, score_trie)
    for _ in range(2):
        split, gradient = scores_and_gradients(language, prompts, candidates)
        torch.testing.assert_close(split.log_probs, plain.log_probs, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(split.states, plain.states, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(gradient, plain_gradient, atol=1e-5, rtol=1e-5)


def test_every_model_and_adapter_on_one_base_reads_the_same_states():
    shared = SharedBase(LlamaForCausalLM(LlamaConfig(**GATED | LAYERS)).eval(), train_tokenizer(["a b"], VOCABULARY))
    one = adapted(1, base=shared)
    other = adapted(1, base=shared)
    prompts, candidates = questions(np.random.default_rng(2), 8)
    one.score("action", prompts, candidates)
    before = one.frozen_layers.misses
    for adapter in ("action", "message", None):
        other.score(adapter, prompts, candidates)
    assert one.frozen_layers.misses == before and one.frozen_layers.hits >= 3 * len(prompts)


def test_the_memory_for_states_is_bounded_and_the_scores_stay():
    row = 30 * SIZES["hidden_size"] * 4
    language = adapted(1, cache_bytes=3 * row)
    for _ in range(2):
        for start in range(20):
            prompt = tuple(range(start, start + 26))
            found = language.score("action", [prompt], [((1, 2), (1, 3))]).log_probs
            torch.testing.assert_close(found, score_trie(language.base, [prompt], [((1, 2), (1, 3))]).log_probs)
    assert 0 < language.frozen_layers.num_bytes <= 3 * row


@pytest.mark.parametrize("last_layers", [1, 9])
def test_a_model_without_such_layers_is_refused_with_the_flag(last_layers):
    gpt2 = GPT2LMHeadModel(GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=VOCABULARY)).eval()
    with pytest.raises(LanguageModelError, match="last-layers"):
        adapted(last_layers, base=gpt2 if last_layers == 1 else None)
