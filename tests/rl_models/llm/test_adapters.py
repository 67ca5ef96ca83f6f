"""One adapter learns at a time, and adapters are all that travels and is kept."""

import copy
import json

import pytest
import torch
from transformers import GemmaConfig, GemmaForCausalLM, LlamaConfig, LlamaForCausalLM

from rl_models.llm.adapters import ADAPTERS, BASE_FILE, fuse_norms
from rl_models.llm.base_model import LanguageModelError, load_base_model
from rl_models.llm.llm_config import LanguageModelSettings, LoraSettings
from rl_models.llm.messages import generate
from rl_models.runtime.fixed_weights import WeightChangeDetector
from rl_models.teams.llm_team import adapted_model
from tests.rl_models.llm.small import SMALL, corpus, stir

FILES = ("adapter_config.json", "adapter_model.safetensors")
PROMPTS, CANDIDATES = [(1, 20, 30, 40), (1, 50)], [((60, 61), (60, 62)), ((70,), (71,))]


def fresh(**changed):
    known = {"small": SMALL, "lora": LoraSettings(rank=4, alpha=8)}
    return adapted_model(LanguageModelSettings(**(known | changed)), corpus)


def stirred(**changed):
    language = fresh(**changed)
    stir(language.parameters())
    return language


@pytest.mark.parametrize("name", ADAPTERS)
def test_only_the_adapter_that_learns_gets_a_gradient(name):
    language = stirred()
    language.train_adapter(name)
    other = next(one for one in ADAPTERS if one != name)
    assert not language.score(other, PROMPTS, CANDIDATES).log_probs.requires_grad
    assert not language.score(None, PROMPTS, CANDIDATES).log_probs.requires_grad
    language.score(name, PROMPTS, CANDIDATES).log_probs.sum().backward()
    assert all(weight.grad is not None and weight.grad.any() for weight in getattr(language, name).values())
    assert all(weight.grad is None for weight in getattr(language, other).values())
    assert all(weight.grad is None for key, weight in language.base.named_parameters() if f".{name}." not in key)


def test_fresh_adapters_change_nothing_and_come_from_their_seed():
    language = fresh()
    bare, one, other = (language.score(name, PROMPTS, CANDIDATES).log_probs for name in (None, *ADAPTERS))
    torch.testing.assert_close(one.detach(), bare)
    torch.testing.assert_close(other.detach(), bare)
    torch.manual_seed(99)
    again = fresh()
    torch.testing.assert_close(again.state_dict(), language.state_dict(), rtol=0, atol=0)


def test_adapters_are_kept_in_pefts_own_format(tmp_path):
    from peft import PeftModel  # takes seconds, in every process that collects

    language = stirred()
    language.save_adapters(tmp_path)
    files = {str(file.relative_to(tmp_path)) for file in tmp_path.glob("*/adapter*")}
    assert files == {f"{name}/{file}" for name in ADAPTERS for file in FILES}
    other = fresh()
    other.load_adapters(tmp_path)
    for name in ADAPTERS:
        assert torch.equal(*(one.score(name, PROMPTS, CANDIDATES).log_probs for one in (other, language)))
    base, _ = load_base_model(str(language.base.name_or_path))
    theirs = PeftModel.from_pretrained(base, str(tmp_path / "action"))
    tokens = torch.tensor([PROMPTS[0] + CANDIDATES[0][1]])
    logits = theirs(tokens).logits[0].log_softmax(-1)
    wanted = language.score("action", PROMPTS, CANDIDATES).log_probs[0, 1]
    torch.testing.assert_close(logits[3, 60] + logits[4, 62], wanted, atol=1e-5, rtol=0)


def test_one_adapter_alone_can_be_loaded(tmp_path):
    language = stirred()
    language.save_adapters(tmp_path)
    for file in (tmp_path / "action").iterdir():
        file.unlink()
    other = fresh()
    other.load_adapters(tmp_path)
    for key, value in other.state_dict().items():
        assert torch.equal(value, language.state_dict()[key]) == key.startswith("message."), key


def test_adapters_that_are_not_there_or_do_not_fit_are_refused(tmp_path):
    with pytest.raises(LanguageModelError, match="adapter"):
        fresh().load_adapters(tmp_path)
    fresh(lora=LoraSettings(rank=2)).save_adapters(tmp_path)
    with pytest.raises(LanguageModelError, match="adapter"):
        fresh().load_adapters(tmp_path)
    with pytest.raises(LanguageModelError, match="nowhere"):
        fresh(lora=LoraSettings(targets=("nowhere",)))


@pytest.mark.parametrize(
    ("file", "changed", "said"),
    [
        ("adapter_config.json", {"lora_alpha": 64}, "rank"),
        ("adapter_config.json", {"use_rslora": True}, "rank"),
        ("adapter_config.json", {"alpha_pattern": {"q_proj": 64}}, "rank"),
        (BASE_FILE, {"weights_sha256": "0" * 64}, "other weights"),
    ],
)
def test_adapters_whose_weights_mean_something_else_are_refused(tmp_path, file, changed, said):
    """The weights have the same shapes, but another factor, or belong to another base."""
    stirred().save_adapters(tmp_path)
    path = tmp_path / "action" / file
    path.write_text(json.dumps(json.loads(path.read_text()) | changed))
    other, before = fresh(), fresh().state_dict()
    with pytest.raises(LanguageModelError, match=said):
        other.load_adapters(tmp_path)
    assert all(torch.equal(value, before[key]) for key, value in other.state_dict().items())


@pytest.mark.parametrize("file", FILES)
def test_a_damaged_adapter_is_one_sentence(tmp_path, file):
    fresh().save_adapters(tmp_path)
    (tmp_path / "message" / file).write_bytes(b"no")
    with pytest.raises(LanguageModelError, match="message"):
        fresh().load_adapters(tmp_path)


def test_values_are_good_for_one_adapters_weights_and_the_bases_place_and_type():
    language = fresh()
    watches = {name: WeightChangeDetector() for name in (*ADAPTERS, None)}

    def changed():
        return {name for name, watch in watches.items() if watch.has_changed(language.weights(name))}

    assert changed() == set(watches)
    assert changed() == set()
    stir(language.action.values())
    assert changed() == {"action"}
    stir(language.message.values())
    assert changed() == {"message"}
    language.double()
    assert changed() == set(watches)


def test_everything_moves_together_and_copies_are_whole():
    """In double precision the base is double, too; a copy's adapters are those that its layers compute with."""
    language = stirred()
    twin = copy.deepcopy(language)
    before = language.score("action", PROMPTS, CANDIDATES).log_probs
    language.double()
    assert language.base.dtype == torch.float64
    after = language.score("action", PROMPTS, CANDIDATES).log_probs
    torch.testing.assert_close(after.float(), before, atol=1e-4, rtol=1e-4)
    stir(twin.action.values(), seed=5)
    assert float((twin.score("action", PROMPTS, CANDIDATES).log_probs - before).detach().abs().max()) > 1e-2
    torch.testing.assert_close(language.score("action", PROMPTS, CANDIDATES).log_probs, after)


def test_recomputing_layers_changes_no_gradient():
    gradients, calls, written = [], [], []
    for recomputes in (False, True):
        language = stirred(gradient_checkpointing=recomputes)
        counted = []
        language.base.model.layers[0].mlp.register_forward_pre_hook(lambda *_, counted=counted: counted.append(1))
        language.score("action", PROMPTS, CANDIDATES).log_probs.sum().backward()
        gradients.append([weight.grad for weight in language.action.values()])
        calls.append(len(counted))
        written.append(generate(language.base, PROMPTS, 5, language.tokens.end, None))
    assert calls == [1, 2]
    assert written[0] == written[1]
    assert any(written[0])
    torch.testing.assert_close(*gradients)


def test_a_half_precision_base_has_adapters_in_single_precision():
    language = fresh(dtype="bfloat16")
    assert language.base.dtype == torch.bfloat16
    assert {weight.dtype for weight in language.parameters()} == {torch.float32}
    scores = language.score("action", PROMPTS, CANDIDATES)
    assert scores.log_probs.dtype == scores.states.dtype == torch.float32
    wanted = fresh().score("action", PROMPTS, CANDIDATES).log_probs
    torch.testing.assert_close(scores.log_probs, wanted, atol=0.3, rtol=0.1)


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
