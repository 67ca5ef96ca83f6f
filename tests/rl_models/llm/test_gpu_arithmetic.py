"""Norms are fused only where torch's kernel computes the same, and nothing changes on the CPU."""

import copy

import pytest
import torch
from transformers import GemmaConfig, GemmaForCausalLM, LlamaConfig, LlamaForCausalLM

from rl_models.llm.adapters import fuse_norms

SIZES = {"vocab_size": 20, "hidden_size": 16, "intermediate_size": 8, "num_hidden_layers": 2, "head_dim": 8}
HEADS = {"num_attention_heads": 2, "num_key_value_heads": 2}
TOKENS = torch.tensor([[3, 1, 4, 1, 5]])


@pytest.fixture
def llama():
    torch.manual_seed(0)
    return LlamaForCausalLM(LlamaConfig(**SIZES, **HEADS)).eval()


@torch.no_grad()
def compute_logits(model):
    return model(input_ids=TOKENS).logits


def test_all_norms_of_llama_are_fused_and_the_cpu_computes_as_before(llama):
    before = compute_logits(llama)
    assert fuse_norms(llama) == 2 * SIZES["num_hidden_layers"] + 1
    assert torch.equal(compute_logits(llama), before)


def test_a_norm_that_adds_one_to_its_weights_is_left_alone():
    assert fuse_norms(GemmaForCausalLM(GemmaConfig(**SIZES, **HEADS))) == 0


def test_a_copy_of_a_fused_norm_computes_with_its_own_weights(llama):
    fuse_norms(llama)
    other = copy.deepcopy(llama)
    with torch.no_grad():
        other.model.norm.weight.mul_(0)
    assert not compute_logits(other).any()
    assert compute_logits(llama).any()
