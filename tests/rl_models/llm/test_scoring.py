"""Scores of a packed trie are those of every prompt and candidate alone, with all layers at once or in two parts."""

import dataclasses
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from transformers import (
    BloomConfig,
    BloomForCausalLM,
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    OPTConfig,
    OPTForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
)

from rl_models.llm import scoring
from rl_models.llm.adapters import AdaptedModel
from rl_models.llm.base_model import LanguageModelError
from rl_models.llm.llm_config import LoraSettings
from rl_models.llm.scoring import build_trie, score_alone, score_trie
from rl_models.llm.shared_base import SharedBase
from rl_models.llm.small_model import train_tokenizer
from tests.rl_models.llm.small import stir

VOCABULARY = 300
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": VOCABULARY}
GATED = SIZES | {"intermediate_size": 48, "num_key_value_heads": 2, "max_position_embeddings": 128}


def models():
    yield "llama", LlamaForCausalLM, LlamaConfig(**GATED), ("q_proj", "v_proj")
    yield "llama_eager", LlamaForCausalLM, LlamaConfig(**GATED, attn_implementation="eager"), ("q_proj", "v_proj")
    yield "qwen2", Qwen2ForCausalLM, Qwen2Config(**GATED), ("q_proj", "v_proj")
    yield "mistral", MistralForCausalLM, MistralConfig(**GATED), ("q_proj", "v_proj")
    yield "gpt2", GPT2LMHeadModel, GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=VOCABULARY), ("c_attn",)


MODELS = [pytest.param(*model[1:], id=model[0]) for model in models()]


def adapted(kind=LlamaForCausalLM, config=None, base=None, cache_bytes=2**30, **lora):
    torch.manual_seed(0)
    base = base or kind(config or LlamaConfig(**GATED)).eval().requires_grad_(False)
    shared = base if isinstance(base, SharedBase) else SharedBase(base, train_tokenizer(["a b"], VOCABULARY))
    language = AdaptedModel(shared, LoraSettings(rank=4, **lora), cache_bytes=cache_bytes)
    stir(language.parameters())
    return language


def questions(random, rows):
    """Prompts and candidate sets of all sizes; candidates share beginnings, repeat and contain each other."""
    prompts, candidates = [], []
    for _ in range(rows):
        prompts.append(tuple(random.integers(0, VOCABULARY, random.integers(1, 40)).tolist()))
        stems = [tuple(random.integers(0, VOCABULARY, random.integers(1, 4)).tolist()) for _ in range(3)]
        endings = [tuple(random.integers(0, VOCABULARY, random.integers(0, 4)).tolist()) for _ in range(3)]
        some = [stems[random.integers(3)] + endings[random.integers(3)] for _ in range(random.integers(0, 9))]
        candidates.append(tuple(some))
    return prompts, candidates


@pytest.mark.long
@pytest.mark.parametrize(("kind", "config", "targets"), MODELS)
def test_a_trie_scores_as_every_candidate_alone(kind, config, targets):
    """30 random prompts and candidate sets, in padded batches against one at a time."""
    language = adapted(kind, config, targets=targets)
    assert language.scorer is score_trie
    prompts, candidates = questions(np.random.default_rng(1), 30)
    with torch.no_grad():
        together = score_trie(language.base, prompts, candidates)
        for row, (prompt, some) in enumerate(zip(prompts, candidates, strict=True)):
            alone = [score_alone(language.base, [prompt], [(one,)]) for one in some]
            wanted = torch.stack([one.log_probs[0, 0] for one in alone]) if some else torch.zeros(0)
            torch.testing.assert_close(together.log_probs[row, : len(some)], wanted, atol=1e-4, rtol=0)
            assert not together.log_probs[row, len(some) :].any()
            for one in alone:
                torch.testing.assert_close(together.states[row], one.states[0], atol=1e-4, rtol=1e-4)


def test_gradients_of_a_trie_are_those_of_candidates_alone():
    language = adapted()
    prompts, candidates = questions(np.random.default_rng(2), 20)
    weights = torch.randn(20, 8, generator=torch.Generator().manual_seed(0))
    found = []
    for score in (score_trie, score_alone):
        scores = score(language.base, prompts, candidates).log_probs
        (scores * weights[:, : scores.shape[1]]).sum().backward()
        found.append([weight.grad.clone() for weight in language.action.values()])
        language.zero_grad()
    for one, other in zip(*found, strict=True):
        assert float(other.abs().max()) > 1e-2
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)


def test_a_prefix_that_candidates_share_is_there_once():
    trie = build_trie(((5, 6, 7), (5, 6, 8), (5,), (5, 6, 7), (9, 6)))
    np.testing.assert_array_equal(trie.tokens, [5, 6, 7, 8, 9, 6])
    np.testing.assert_array_equal(trie.parents, [-1, 0, 1, 1, -1, 4])
    np.testing.assert_array_equal(trie.depths, [0, 1, 2, 2, 0, 1])
    assert [path.tolist() for path in trie.paths] == [[0, 1, 2], [0, 1, 3], [0], [0, 1, 2], [4, 5]]
    np.testing.assert_array_equal(trie.sees[3], [True, True, False, True, False, False])


def test_a_model_that_decides_positions_itself_is_scored_candidate_by_candidate(caplog):
    """ALiBi models take no positions."""
    config = BloomConfig(hidden_size=32, n_layer=2, n_head=4, vocab_size=VOCABULARY)
    language = adapted(BloomForCausalLM, config, targets=("query_key_value",))
    assert language.scorer is score_alone
    assert "masks" in caplog.text
    prompts, candidates = [(1, 2, 3), (4, 5)], [((6, 7), (8,)), ((9,),)]
    scores = language.score("action", prompts, candidates).log_probs
    logits = language.base(torch.tensor([[1, 2, 3, 6, 7]])).logits[0].log_softmax(-1)
    torch.testing.assert_close(scores[0, 0], logits[2, 6] + logits[3, 7], atol=1e-5, rtol=0)


def test_a_half_precision_model_with_sharp_logits_is_scored_as_a_trie():
    """Its rounding alone moves scores further than a wrong mask moves those of a model that is sure of nothing."""
    torch.manual_seed(0)
    base = LlamaForCausalLM(LlamaConfig(**GATED | {"num_hidden_layers": 8}, initializer_range=0.1)).eval()
    base.requires_grad_(False).lm_head.weight *= 40
    assert float(base.bfloat16()(torch.tensor([[5, 6, 7, 8]])).logits.detach().float().std()) > 10
    assert adapted(base=base).scorer is score_trie


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("ignored", ["sees", "positions"])
def test_a_model_that_ignores_masks_or_positions_is_found_out(monkeypatch, ignored, dtype):
    """Such a model reads a row from left to right."""

    def pack_ignored(*arguments):
        packed = scoring.pack(*arguments)
        rows, width = packed.tokens.shape
        plain = {"sees": packed.sees | True, "positions": torch.arange(width).expand(rows, width)}
        plain["sees"] = plain["sees"].tril()
        return dataclasses.replace(packed, **{ignored: plain[ignored]})

    monkeypatch.setattr(scoring, "pack", pack_ignored)
    torch.manual_seed(0)
    base = LlamaForCausalLM(LlamaConfig(**GATED, initializer_range=0.1)).eval().to(dtype)
    assert adapted(base=base).scorer is score_alone


def test_prompts_beyond_a_window_of_attention_are_scored_by_the_models_own_mask():
    language = adapted(MistralForCausalLM, MistralConfig(**GATED, sliding_window=20))
    prompts, candidates = [tuple(range(10, 50)), (5, 6, 7)], [((1, 2), (1, 3)), ((4,),)]
    assert language.scorer is score_trie
    for some in (slice(0, 2), slice(1, 2)):
        found = language.score("action", prompts[some], candidates[some]).log_probs
        wanted = score_alone(language.base, prompts[some], candidates[some]).log_probs
        torch.testing.assert_close(found, wanted, atol=1e-5, rtol=0)
    trie = score_trie(language.base, prompts, candidates).log_probs
    assert float((trie - score_alone(language.base, prompts, candidates).log_probs).detach().abs().max()) > 1e-2


def test_layers_that_are_recomputed_drop_nothing_out():
    """Those of OPT drop out by themselves once they are told that they are in training."""
    config = OPTConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, ffn_dim=48, vocab_size=VOCABULARY, dropout=0.5
    )
    gradients = []
    for recomputes in (False, True):
        language = adapted(OPTForCausalLM, config)
        if recomputes:
            language.checkpoint_layers()
        scores = language.score("action", [(9, 8, 7)], [((1, 2), (3,))]).log_probs
        scores.sum().backward()
        gradients.append(torch.cat([weight.grad.flatten() for weight in language.action.values()]))
    torch.testing.assert_close(*gradients)


def test_a_prompt_that_the_model_cannot_read_is_refused():
    language = adapted()
    with pytest.raises(LanguageModelError, match="128"):
        language.score("action", [tuple(range(126))], [((1, 2, 3),)])


# ------------------------------------------------------------------------------------------- last layers alone

LAYERS = {"num_hidden_layers": 3}
LLAMA = LlamaConfig(**GATED | LAYERS)
KINDS = ["sliding_attention", "sliding_attention", "full_attention"]
GEMMA = Gemma3TextConfig(**GATED | LAYERS, head_dim=8, sliding_window=64, layer_types=KINDS)


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
    ("kind", "config"), [(LlamaForCausalLM, LLAMA), (Gemma3ForCausalLM, GEMMA)], ids=["llama", "gemma3"]
)
def test_scores_states_and_gradients_equal_the_plain_form_before_and_after_the_states_are_kept(kind, config):
    language = adapted(kind, config, last_layers=1)
    prompts, candidates = questions(np.random.default_rng(1), 12)
    plain, plain_gradient = scores_and_gradients(language, prompts, candidates, score_trie)
    for _ in range(2):
        split, gradient = scores_and_gradients(language, prompts, candidates)
        torch.testing.assert_close(split.log_probs, plain.log_probs, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(split.states, plain.states, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(gradient, plain_gradient, atol=1e-5, rtol=1e-5)


def test_every_model_and_adapter_on_one_base_reads_the_same_states():
    shared = SharedBase(LlamaForCausalLM(LLAMA).eval(), train_tokenizer(["a b"], VOCABULARY))
    one, other = (adapted(base=shared, last_layers=1) for _ in range(2))
    prompts, candidates = questions(np.random.default_rng(2), 8)
    one.score("action", prompts, candidates)
    before = one.frozen_layers.misses
    for adapter in ("action", "message", None):
        other.score(adapter, prompts, candidates)
    assert one.frozen_layers.misses == before and one.frozen_layers.hits >= 3 * len(prompts)


def test_the_memory_for_states_is_bounded_and_the_scores_stay():
    row = 30 * SIZES["hidden_size"] * 4
    language = adapted(config=LLAMA, cache_bytes=3 * row, last_layers=1)
    for _ in range(2):
        for start in range(20):
            prompt = tuple(range(start, start + 26))
            found = language.score("action", [prompt], [((1, 2), (1, 3))]).log_probs
            torch.testing.assert_close(found, score_trie(language.base, [prompt], [((1, 2), (1, 3))]).log_probs)
    assert 0 < language.frozen_layers.num_bytes <= 3 * row


@pytest.mark.long
def test_models_on_one_base_score_in_several_threads_and_their_states_stay_kept():
    """IMPALA learns in a thread of its own while its process acts."""
    shared = SharedBase(LlamaForCausalLM(LLAMA).eval(), train_tokenizer(["a b"], VOCABULARY))
    row, candidates = 30 * SIZES["hidden_size"] * 4, ((1, 2), (1, 3))
    teams = [adapted(base=shared, cache_bytes=12 * row, last_layers=1) for _ in range(2)]

    def play(team, seed):
        generator = np.random.default_rng(seed)
        for _ in range(30):
            score(team, generator.permutation(16)[:8])

    def score(team, starts):
        with torch.no_grad():
            team.score("action", [tuple(range(start, start + 26)) for start in starts], [candidates] * len(starts))

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor() as threads:
            for each in [threads.submit(play, team, seed) for seed, team in enumerate(teams)]:
                each.result()
    finally:
        sys.setswitchinterval(before)
    kept = teams[0].frozen_layers
    for _ in range(2):
        misses = kept.misses
        score(teams[0], range(10))
    assert kept.misses == misses


@pytest.mark.parametrize("last_layers", [1, 9])
def test_a_model_without_such_layers_is_refused_with_the_flag(last_layers):
    gpt2 = GPT2LMHeadModel(GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=VOCABULARY)).eval()
    with pytest.raises(LanguageModelError, match="last-layers"):
        adapted(base=gpt2 if last_layers == 1 else None, last_layers=last_layers)
