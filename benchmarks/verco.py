"""Verco: the trie scorer against scoring every candidate alone, on the default model; and the salad kitchen's world.

Scorers: a decision is a prompt of 160 tokens with 8 candidates of 3 to 7 tokens, which begin with one of 3 pairs of
words, as the actions of a kitchen do. Both scorers get the same decisions, 16 in a batch (one per world), then alone.
`backward` is forward and backward of the action adapter. Equality is measured over 1,000 random prompts and candidate
sets of all sizes.

Real model, where `concord models fetch smollm2-135m-instruct` has brought it: 32 decisions of the kitchen's size with
adapters in all layers, and in the last 6 alone with the states of the others kept (`warm`) or not yet (`cold`).

World: B = 256, random legal actions, observations and resets included. Authors' numbers (reference: TWOSOME's
environments, timed): 27 microseconds a primitive step without text, 109 to 119 a primitive step of macro actions.
"""

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from benchmarks.harness.clock import median, median_ratio, timed
from benchmarks.harness.measurements import RATIO, Measurement
from benchmarks.harness.world_steps import Chooser, microseconds_by_part, microseconds_per_joint_step
from rl_envs.core.world import World
from rl_envs.registry import make
from rl_models.hub.catalog import CATALOG
from rl_models.llm.adapters import AdaptedModel
from rl_models.llm.base_model import load_base_model
from rl_models.llm.llm_config import LoraSettings, SmallModelSettings
from rl_models.llm.scoring import Scorer, build_trie, score_alone, score_trie
from rl_models.llm.shared_base import SharedBase
from rl_models.llm.small_model import train_tokenizer
from rl_models.llm.tokens import Candidates, Ids

MILLISECONDS, MICROSECONDS = "ms a decision", "us"
PROMPT, CANDIDATES, BATCH = 160, 8, 16
"""Tokens of a prompt, candidates of a decision, decisions of a batch."""
REPEATS = 9
REAL_MODEL, LAST_LAYERS, REAL_DECISIONS, REAL_PROMPT, REAL_CANDIDATES = "smollm2-135m-instruct", 6, 32, 49, (3, 3, 4)
"""Model, layers with adapters, decisions, tokens of a prompt and of its candidates (medians of the kitchen)."""
RANDOM = 1000
"""Random prompts and candidate sets whose scores are compared."""
WORLDS, WORLD_STEPS, WORLD_REPEATS = 256, 100, 9
"""Number of worlds, env steps of a repeat, and number of repeats."""
FULL: dict[str, Any] = {"kitchen": "full", "recipes": ("lettuce-tomato",)}
SETTINGS: dict[str, dict[str, Any]] = {
    "primitive": {"layout": "A", "actions": "primitive"} | FULL,
    "primitive_b": {"layout": "B", "actions": "primitive"} | FULL,
    "primitive_no_text": {"layout": "A", "actions": "primitive", "text": False} | FULL,
    "macro": {"layout": "A"} | FULL,
    "macro_b": {"layout": "B"} | FULL,
    "macro_no_text": {"layout": "A", "text": False} | FULL,
}
HEADLINE = ("primitive", "primitive_b")
"""The slower of these settings is the headline number of the world."""
WORLD_PARTS = ("step", "_checked", "_advance", "_look", "_observe", "_start")


def measure() -> Iterator[Measurement]:
    """All measurements of this part."""
    language = _language()
    random = np.random.default_rng(0)
    yield from _speed(language, random, "", BATCH)
    yield from _speed(language, random, "_single", 1)
    yield from _equality(language, random)
    if CATALOG[REAL_MODEL].is_present:
        yield from _real_model(random)
    yield from _world_steps()


def _speed(language: AdaptedModel, random: np.random.Generator, name: str, rows: int) -> Iterator[Measurement]:
    """Time both scorers on the same decisions, in turns."""
    decisions = [_decision(language, random) for _ in range(rows)]
    prompts, candidates = [prompt for prompt, _ in decisions], [some for _, some in decisions]
    for pass_name, work in (("", _forward), ("_backward", _forward_backward)):
        times: dict[Scorer, list[float]] = {score_trie: [], score_alone: []}
        for repeat in range(REPEATS + 1):
            for scorer, seconds in times.items():
                taken = timed(work, language, scorer, prompts, candidates)[1]
                if repeat:  # the first one warms up
                    seconds.append(taken)
        trie, alone = times[score_trie], times[score_alone]
        yield Measurement(f"verco.scorer{name}{pass_name}.speedup", median_ratio(alone, trie), RATIO)
        yield Measurement(f"verco.scorer{name}{pass_name}.trie", 1e3 * median(trie) / rows, MILLISECONDS)
        yield Measurement(f"verco.scorer{name}{pass_name}.alone", 1e3 * median(alone) / rows, MILLISECONDS)
    if rows == 1:
        yield Measurement("verco.scorer.candidate_tokens", sum(map(len, candidates[0])), "tokens")
        yield Measurement("verco.scorer.trie_nodes", len(build_trie(candidates[0]).tokens), "tokens")


def _real_model(random: np.random.Generator) -> Iterator[Measurement]:
    """Decisions a CPU-second, acting and learning, with all layers adapted and with the last ones."""
    base = SharedBase(*load_base_model(REAL_MODEL))
    vocabulary = int(base.model.config.vocab_size)
    prompts = [_ids(random, REAL_PROMPT, vocabulary) for _ in range(REAL_DECISIONS)]
    candidates = [tuple(_ids(random, size, vocabulary) for size in REAL_CANDIDATES) for _ in range(REAL_DECISIONS)]
    rates = {}
    for last_layers, name in ((0, "all_layers"), (LAST_LAYERS, "last_layers")):
        language = AdaptedModel(base, LoraSettings(last_layers=last_layers))
        scorer = functools.partial(score_trie, encode=language.frozen_layers) if last_layers else score_trie
        for work, pass_name in ((_forward, "cold"), (_forward, "acting"), (_forward_backward, "learning")):
            rates[name, pass_name] = REAL_DECISIONS / timed(work, language, scorer, prompts, candidates)[1]
            yield Measurement(f"verco.smollm2.{name}.{pass_name}", rates[name, pass_name], "decisions/CPU-s")
    for pass_name in ("acting", "learning"):
        speedup = rates["last_layers", pass_name] / rates["all_layers", pass_name]
        yield Measurement(f"verco.smollm2.{pass_name}.speedup", speedup, RATIO)
    yield Measurement(
        "verco.smollm2.cache", language.frozen_layers.num_bytes / REAL_DECISIONS / 2**10, "KiB a decision"
    )


def _equality(language: AdaptedModel, random: np.random.Generator) -> Iterator[Measurement]:
    """Largest differences between the scores and the gradients of both scorers."""
    vocabulary = int(language.base.config.vocab_size)
    largest, largest_gradient = 0.0, 0.0
    for _ in range(RANDOM // BATCH + 1):
        decisions = [_any_decision(random, vocabulary) for _ in range(BATCH)]
        found = []
        for scorer in (score_trie, score_alone):
            language.zero_grad()
            scores = scorer(language.base, *map(list, zip(*decisions, strict=True))).log_probs
            scores.sum().backward()
            found.append((scores.detach(), torch.cat([_gradient(weight) for weight in language.action.values()])))
        (one, gradient), (other, wanted) = found
        largest = max(largest, float((one - other).abs().max()))
        largest_gradient = max(largest_gradient, float((gradient - wanted).norm() / wanted.norm()))
    yield Measurement("verco.scorer.largest_difference", largest, "nats")
    yield Measurement("verco.scorer.gradient_difference", largest_gradient, "of its norm")


def _language() -> AdaptedModel:
    """The default model's architecture with random weights, and adapters that are not zero."""
    small = SmallModelSettings()
    config = LlamaConfig(
        vocab_size=small.vocabulary,
        hidden_size=small.width,
        intermediate_size=small.feed_forward,
        num_hidden_layers=small.layers,
        num_attention_heads=small.heads,
        num_key_value_heads=small.heads,
        max_position_embeddings=small.context,
        tie_word_embeddings=True,
    )
    torch.manual_seed(0)
    base = LlamaForCausalLM(config).eval().requires_grad_(False)
    language = AdaptedModel(SharedBase(base, train_tokenizer(["a b"], 300)), LoraSettings())
    with torch.no_grad():
        for weight in language.parameters():
            weight.add_(0.1 * torch.randn_like(weight))
    return language


def _decision(language: AdaptedModel, random: np.random.Generator) -> tuple[Ids, Candidates]:
    vocabulary = int(language.base.config.vocab_size)
    stems = [_ids(random, 2, vocabulary) for _ in range(3)]
    candidates = tuple(
        stems[place % 3] + _ids(random, int(random.integers(1, 6)), vocabulary) for place in range(CANDIDATES)
    )
    return _ids(random, PROMPT, vocabulary), candidates


def _any_decision(random: np.random.Generator, vocabulary: int) -> tuple[Ids, Candidates]:
    """A prompt of 1 to 160 tokens with 1 to 12 candidates that share prefixes of any length."""
    stems = [_ids(random, int(random.integers(1, 4)), vocabulary) for _ in range(3)]
    endings = [_ids(random, int(random.integers(0, 5)), vocabulary) for _ in range(6)]
    count = int(random.integers(1, 13))
    candidates = tuple(stems[random.integers(3)] + endings[random.integers(6)] for _ in range(count))
    return _ids(random, int(random.integers(1, PROMPT + 1)), vocabulary), candidates


def _ids(random: np.random.Generator, count: int, vocabulary: int) -> Ids:
    return tuple(random.integers(vocabulary, size=count).tolist())


@torch.no_grad()
def _forward(language: AdaptedModel, scorer: Scorer, prompts: list[Ids], candidates: list[Candidates]) -> None:
    scorer(language.base, prompts, candidates)


def _forward_backward(language: AdaptedModel, scorer: Scorer, prompts: list[Ids], candidates: list[Candidates]) -> None:
    language.zero_grad()
    scorer(language.base, prompts, candidates).log_probs.sum().backward()


def _gradient(weight: Any) -> torch.Tensor:
    gradient: torch.Tensor = weight.grad
    return gradient.flatten()


def _world_steps() -> Iterator[Measurement]:
    """The world stepped with random legal actions, observations and resets included."""
    costs = {name: _cost(name) for name in SETTINGS}
    yield Measurement("salad.world.us_per_step", max(costs[name] for name in HEADLINE), MICROSECONDS)
    for name, cost in costs.items():
        yield Measurement(f"salad.world_{name}.us_per_step", cost, MICROSECONDS)
    world = _world("macro")
    for part, cost in microseconds_by_part(world, _chooser(world), WORLD_STEPS * WORLD_REPEATS, WORLD_PARTS).items():
        yield Measurement(f"salad.world_macro.part.{part.removeprefix('_')}", cost, MICROSECONDS)


def _cost(name: str) -> float:
    world = _world(name)
    return microseconds_per_joint_step(world, _chooser(world), WORLD_STEPS, WORLD_REPEATS)


def _world(name: str) -> World:
    return make("salad-v0", num_worlds=WORLDS, **SETTINGS[name])


def _chooser(world: World) -> Chooser:
    """Uniform legal actions."""
    random = np.random.default_rng(0)
    return lambda observations: (random.random(observations["legal"].shape) * observations["legal"]).argmax(-1)
