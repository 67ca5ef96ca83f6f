"""SmolLM2 as it is fetched acts, writes and learns in the kitchen, with adapters in its last layers."""

import dataclasses
import functools

import pytest
import torch

from rl_models.llm.llm_config import LoraSettings
from rl_models.llm.messages import generate
from rl_models.llm.scoring import score_trie
from rl_models.training.loop import Learner
from tests.rl_models.training.small import begun
from tune_experiments.verco.trials import plan
from tune_experiments.verco_salad import SMOKE

MODEL = "smollm2-135m-instruct"


@pytest.fixture(scope="module")
def trial(real_model):
    """The cooking stage of a team that writes."""
    language = dataclasses.replace(SMOKE.team.language, lora=LoraSettings(last_layers=6))
    team = dataclasses.replace(SMOKE.team, language=language)
    config = dataclasses.replace(SMOKE, model=real_model(MODEL), task="secret_order", team=team)
    return plan(config, "verco", 0).stages[1].plan


@pytest.fixture(scope="module")
def policy(trial):
    """Its team; building one takes seconds."""
    return trial.build_policy()


def test_smollm2_scores_in_two_parts_what_it_scores_whole(policy):
    language = policy.network.language
    tokens = language.tokens
    prompts = [
        tokens.prompt(text) for text in ("Alice sees a tomato. Now Alice should", "Bob holds an onion. Bob should")
    ]
    candidates = [tuple(map(tokens.completion, ("chop the tomato", "take the tomato", "wait")))] * 2
    kept = language.frozen_layers
    hits = kept.hits
    with torch.no_grad():
        split, again = (language.score("action", prompts, candidates).log_probs for _ in range(2))
        whole = score_trie(language.base, prompts, candidates).log_probs
    torch.testing.assert_close(split, whole, atol=1e-3, rtol=1e-4)
    torch.testing.assert_close(split, again)
    assert kept.hits >= hits + 2


def test_a_team_on_smollm2_writes_english_and_learns_to_act(trial, policy):
    network = policy.network
    collector = begun(trial.make_world(num_worlds=2, first_world=0), policy, 2, seed=0)
    before = {name: value.clone() for name, value in policy.state_dict().items()}
    fragment = collector.collect()
    said = {
        network.message_text(row) for row in fragment.obs["messages"].reshape(-1, fragment.obs["messages"].shape[-1])
    }
    assert any(said)
    assert all(len(text.split()) <= network.settings.messages.max_words for text in said)
    Learner(policy, trial.objective, trial.optimiser).update([fragment])
    changed = {name for name, value in policy.state_dict().items() if not torch.equal(value, before[name])}
    assert any(".action." in name for name in changed) and not any(".message." in name for name in changed)


def test_greedy_text_of_smollm2_is_that_of_transformers(policy):
    language = policy.network.language
    prompt = language.tokens.prompt("To make a tomato salad, you should first")
    write = functools.partial(generate, language.base, [prompt], 8, language.tokens.end, None)
    with language.using(None):
        (written,) = write()
        theirs = language.base.generate(torch.tensor([prompt]), max_new_tokens=8, do_sample=False)[0, len(prompt) :]
    assert written == tuple(theirs.tolist())
