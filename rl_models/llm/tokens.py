"""Texts to token ids and back, each text tokenised once a process.

Prompts and what follows them are tokenised apart and joined, so that no token spans the boundary and a candidate has
the same tokens after every prompt. Messages are bounded here: one line, some words.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, TypeAlias

from rl_models.errors import first_line
from rl_models.llm.base_model import LanguageModelError, model_folder
from rl_models.llm.llm_config import Normalisation

Ids: TypeAlias = tuple[int, ...]
"""Token ids of one text."""
Candidates: TypeAlias = tuple[Ids, ...]
"""Token ids of K texts, one of which is to follow a prompt."""
_TEXTS_KEPT = 2**16


def load_tokenizer(name: str, chat_template: bool = False) -> Tokens:
    """The tokenizer of a hub id or folder, without the weights.

    Raises LanguageModelError where there is no such tokenizer, or it has no chat template.
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
    return Tokens(tokenizer, context_length(config), chat_template)


def context_length(config: Any) -> int:
    """Most tokens that a model of transformers reads."""
    return int(getattr(config, "max_position_embeddings", 2**20))


class Tokens:
    """A tokenizer with caches.

    `end` is the id of the token that ends a text, `most` how many tokens the model reads.
    """

    def __init__(self, tokenizer: Any, most: int, chat_template: bool = False) -> None:
        """Wrap a tokenizer of transformers; with `chat_template` prompts are the user's turn, which is answered.

        Raises LanguageModelError where the tokenizer has no chat template.
        """
        if chat_template and not tokenizer.chat_template:
            raise LanguageModelError(
                "--team.language.chat-template needs a model whose tokenizer has a chat template, and this one has "
                "none: leave the flag out, or name a model that is tuned to conversations"
            )
        self._tokenizer, self.most, self._chat_template = tokenizer, most, chat_template
        self.end = int(tokenizer.eos_token_id)
        # An answer begins without a space. Some tokenizers put a space before every text themselves, and a second one
        # would be a token of its own.
        self._gap = "" if chat_template or tokenizer.tokenize("a")[0].startswith("▁") else " "
        self.prompt = functools.lru_cache(_TEXTS_KEPT)(self._prompt)
        self.completion = functools.lru_cache(_TEXTS_KEPT)(self._completion)
        self.text = functools.lru_cache(_TEXTS_KEPT)(self._text)
        self.words = functools.lru_cache(_TEXTS_KEPT)(self._words)

    def __reduce__(self) -> tuple[type[Tokens], tuple[Any, int, bool]]:
        """Copies and other processes start with empty caches."""
        return Tokens, (self._tokenizer, self.most, self._chat_template)

    def check_length(self, prompt: Ids, following: int) -> None:
        """Check that the model can read a prompt and a completion of this length; raises LanguageModelError."""
        if len(prompt) + following > self.most:
            raise LanguageModelError(
                f"a prompt of {len(prompt)} tokens with {following} behind it is longer than the {self.most} that this "
                "language model reads: shorten the texts, or name a model with a longer context"
            )

    def _prompt(self, text: str) -> Ids:
        """Token ids of a prompt, with the mark of a beginning if the tokenizer sets one; at least one token."""
        if self._chat_template:
            turns = [{"role": "user", "content": text}]
            text = self._tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        ids = self._continued(text, add_special_tokens=not self._chat_template)
        if not ids:
            raise LanguageModelError("a prompt has no token; the narrator must return text in every situation")
        return ids

    def _continued(self, text: str, add_special_tokens: bool) -> Ids:
        """Token ids of a text that goes on: some tokenizers mark its end too. A template writes its marks itself."""
        ids: Ids = tuple(self._tokenizer(text, add_special_tokens=add_special_tokens)["input_ids"])
        return ids[:-1] if add_special_tokens and ids[-1:] == (self.end,) else ids

    def conversation(self, messages: Sequence[tuple[str, str]], is_continued: bool = True) -> Ids:
        """Token ids of a conversation of roles and texts, in the model's chat template if it has one.

        Raises LanguageModelError where the template refuses the conversation.
        """
        if not self._tokenizer.chat_template:
            return self._continued("\n\n".join(text for _, text in messages), add_special_tokens=True)
        turns = [{"role": role, "content": text} for role, text in messages]
        try:
            text = self._tokenizer.apply_chat_template(turns, tokenize=False, continue_final_message=is_continued)
        except Exception as error:  # jinja2 has types of its own; some templates refuse a system's message
            raise LanguageModelError(
                f"the model's chat template refuses a planner's conversation ({first_line(error)}): name another model"
            ) from error
        return self._continued(text, add_special_tokens=False)

    def _completion(self, text: str) -> Ids:
        """Token ids of a text that follows a prompt: after a space, or as the assistant's answer."""
        return tuple(self._tokenizer(self._gap + text.strip(), add_special_tokens=False)["input_ids"])

    def _text(self, ids: Ids, max_words: int) -> str:
        """Text of generated ids: their first line, at most `max_words` words, single spaces."""
        lines = self._lines(ids)
        return " ".join(lines[0].split()[:max_words]) if lines else ""

    def is_cut(self, ids: Ids, max_words: int) -> bool:
        """Whether `text` leaves out the end of these ids, so that what may follow them changes nothing."""
        lines = self._lines(ids)
        return len(lines) > 1 or (bool(lines) and len(lines[0].split()) > max_words)

    def _lines(self, ids: Ids) -> list[str]:
        written: str = self._tokenizer.decode(list(ids), skip_special_tokens=True)
        return written.strip().splitlines()

    def length(self, phrase: Ids, normalisation: Normalisation) -> int:
        """Length of a phrase by which its score is divided: words, tokens, or 1."""
        if normalisation == "word":
            return self.words(phrase)
        return len(phrase) if normalisation == "token" else 1

    def _words(self, ids: Ids) -> int:
        """Number of words in generated ids, at least 1."""
        return max(1, len(self._tokenizer.decode(list(ids), skip_special_tokens=True).split()))
