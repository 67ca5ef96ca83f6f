"""A causal language model on this machine that scores phrases after a conversation, as SayCan and TWOSOME do.

It generates no text. The newest scores are cached by conversation and phrases, and new ones are scored in one batch.
"""

import functools
from collections.abc import Sequence
from functools import cached_property
from typing import TypeAlias

import torch

from rl_models.chat.exchange import Message
from rl_models.llm.adapters import supports_masks
from rl_models.llm.llm_config import Normalisation
from rl_models.llm.scoring import Scorer, normalise, score_alone, score_trie
from rl_models.llm.shared_base import SharedBase, shared_base
from rl_models.llm.shared_prefix import SharedPrefix, can_share_prefixes
from rl_models.llm.tokens import Candidates, Ids, Tokens, load_tokenizer
from rl_models.planners.scored import Scored, ScoringQuestion
from rl_models.runtime.device import building_device
from rl_models.runtime.fixed_weights import LRUCache

_PREFIXES_KEPT, _ANSWERS_KEPT = 8, 20_000
Tokenised: TypeAlias = tuple[Ids, Candidates, Ids]
"""Prompt, phrases, and the prompt's beginning that other prompts share."""


class PhraseScorer:
    """Scores phrases; the model of the catalogue, folder or hub id is loaded at the first call."""

    def __init__(self, name: str, normalisation: Normalisation) -> None:
        self.name, self.normalisation = name, normalisation
        self._known: LRUCache[ScoringQuestion, Scored] = LRUCache(_ANSWERS_KEPT)
        self._prefix = functools.lru_cache(_PREFIXES_KEPT)(SharedPrefix)

    def check(self) -> None:
        """Raise LanguageModelError unless the model loads and its chat template takes planners' conversations."""
        self._tokens.conversation([(role, "text") for role in ("system", "user", "assistant")])

    def __call__(self, questions: Sequence[ScoringQuestion]) -> list[Scored]:
        """Normalised log-probabilities of each question's phrases, and the tokens that were read for them.

        Raises LanguageModelError where the model cannot be loaded, or a conversation is too long for it or refused by
        its chat template.
        """
        with torch.inference_mode(False), torch.no_grad():  # teams of this process may share the model's weights
            return self._known.get(questions, (), self._score)

    def _score(self, questions: Sequence[ScoringQuestion]) -> list[Scored]:
        tokenised = [self._tokenise(*one) for one in questions]
        by_prefix: dict[Ids, list[int]] = {}
        for place, (_, _, prefix) in enumerate(tokenised):
            by_prefix.setdefault(prefix, []).append(place)
        found: dict[int, Scored] = {}
        for prefix, places in by_prefix.items():
            scores = self._log_probs(prefix, [tokenised[place] for place in places])
            found |= zip(places, scores, strict=True)
        return [found[place] for place in range(len(questions))]

    def _log_probs(self, prefix: Ids, some: Sequence[Tokenised]) -> list[Scored]:
        prompts, candidates = [prompt for prompt, _, _ in some], [phrases for _, phrases, _ in some]
        score = functools.partial(score_trie, encode=self._prefix(prefix)) if prefix else self._scorer(some)
        scored = score(self._base.model, prompts, candidates)
        most = scored.log_probs.shape[1]
        found = [[self._tokens.length(phrase, self.normalisation) for phrase in each] for each in candidates]
        lengths = torch.tensor([[*each, *[1] * (most - len(each))] for each in found])
        rows = normalise(scored.log_probs.cpu(), lengths).tolist()
        return [
            Scored(tuple(row[: len(phrases)]), len(prompt) + sum(map(len, phrases)))
            for row, prompt, phrases in zip(rows, prompts, candidates, strict=True)
        ]

    def _scorer(self, some: Sequence[Tokenised]) -> Scorer:
        """Without a prefix cache: as a trie where the model obeys masks, which a sliding window replaces."""
        longest = max(len(prompt) + max(map(len, phrases)) for prompt, phrases, _ in some)
        window = getattr(self._base.model.config, "sliding_window", None) or longest
        return score_trie if self._base.supports_masks and longest <= window else score_alone

    def _tokenise(self, messages: Sequence[Message], phrases: Sequence[str]) -> Tokenised:
        turns = [(one.role, one.content) for one in messages]
        prompt, candidates = self._tokens.conversation(turns), tuple(map(self._tokens.completion, phrases))
        self._tokens.check_length(prompt, max(map(len, candidates)))
        if not self._shares_prefixes:
            return prompt, candidates, ()
        first = self._tokens.conversation(turns[:1], is_continued=False)
        pairs = enumerate(zip(prompt[:-1], first, strict=False))
        end = next((place for place, (one, other) in pairs if one != other), min(len(prompt) - 1, len(first)))
        return prompt, candidates, prompt[:end]

    @cached_property
    def _base(self) -> SharedBase:
        base = shared_base(self.name, torch.bfloat16 if building_device().type == "cuda" else torch.float32)
        if base.supports_masks is None:
            base.supports_masks = supports_masks(base.model)
        return base

    @cached_property
    def _tokens(self) -> Tokens:
        return load_tokenizer(self.name)

    @cached_property
    def _shares_prefixes(self) -> bool:
        model = self._base.model
        has_window = getattr(model.config, "sliding_window", None)
        return bool(self._base.supports_masks) and not has_window and can_share_prefixes(model)
