"""Texts to token ids and back, each text tokenised once a process.

Prompts and what follows them are tokenised apart and joined, so that no token spans the boundary and a candidate has
the same tokens after every prompt. Messages are bounded here: one line, some words.
"""

from __future__ import annotations

import functools
from typing import Any, TypeAlias

from rl_models.llm.base_model import LanguageModelError, first_line, model_folder

Ids: TypeAlias = tuple[int, ...]
"""Token ids of one text."""
Candidates: TypeAlias = tuple[Ids, ...]
"""Token ids of K texts, one of which is to follow a prompt."""
_TEXTS_KEPT = 2**16


def load_tokenizer(name: str) -> Tokens:
    """The tokenizer of a language model, without its weights.

    Args:
        name: hub id or folder.

    Raises:
        LanguageModelError: there is none of this name.
    """
    folder = model_folder(name)
    from transformers import AutoConfig, AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # tokenizers has types of its own for a damaged file
        raise LanguageModelError(
            f"{name} has no tokenizer that transformers can load ({first_line(error)}); "
            "give a folder that was saved whole"
        ) from error
    return Tokens(tokenizer, context_length(config))


def context_length(config: Any) -> int:
    """Most tokens that a model of transformers reads."""
    return int(getattr(config, "max_position_embeddings", 2**20))


class Tokens:
    """A tokenizer with a memory.

    Attributes:
        end: id of the token that ends a text.
        most: most tokens that the model reads.
    """

    def __init__(self, tokenizer: Any, most: int) -> None:
        """Wrap a tokenizer of transformers for a model that reads `most` tokens."""
        self._tokenizer, self.most = tokenizer, most
        self.end = int(tokenizer.eos_token_id)
        # Some tokenizers put a space before every text themselves, and a second one would be a token of its own.
        self._gap = "" if tokenizer.tokenize("a")[0].startswith("▁") else " "
        self.prompt = functools.lru_cache(_TEXTS_KEPT)(self._prompt)
        self.completion = functools.lru_cache(_TEXTS_KEPT)(self._completion)
        self.text = functools.lru_cache(_TEXTS_KEPT)(self._text)
        self.words = functools.lru_cache(_TEXTS_KEPT)(self._words)

    def __reduce__(self) -> tuple[type[Tokens], tuple[Any, int]]:
        """Copies and other processes start with empty caches."""
        return Tokens, (self._tokenizer, self.most)

    def check_length(self, prompt: Ids, following: int) -> None:
        """Check that the model can read a prompt and a completion of this length.

        Raises:
            LanguageModelError: it cannot.
        """
        if len(prompt) + following > self.most:
            raise LanguageModelError(
                f"a prompt of {len(prompt)} tokens with {following} behind it is longer than the {self.most} that this "
                "language model reads; shorten the narrator's texts or take a model with a longer context"
            )

    def _prompt(self, text: str) -> Ids:
        """Token ids of a prompt, with the mark of a beginning if the tokenizer sets one; at least one token."""
        ids: Ids = tuple(self._tokenizer(text)["input_ids"])
        if not ids:
            raise LanguageModelError("a prompt has no token; the narrator must return text in every situation")
        return ids

    def _completion(self, text: str) -> Ids:
        """Token ids of a text that follows another one after a space."""
        return tuple(self._tokenizer(self._gap + text.strip(), add_special_tokens=False)["input_ids"])

    def _text(self, ids: Ids, max_words: int) -> str:
        """Text of generated ids: their first line, at most `max_words` words, single spaces."""
        written = self._tokenizer.decode(list(ids), skip_special_tokens=True).strip()
        first_line = written.splitlines()[0] if written else ""
        return " ".join(first_line.split()[:max_words])

    def _words(self, ids: Ids) -> int:
        """Number of words in generated ids, at least 1."""
        return max(1, len(self._tokenizer.decode(list(ids), skip_special_tokens=True).split()))
