"""Generation of agents' messages from prompts, token by token, for all prompts of a batch at once.

Each token is the most likely one, or drawn by inverse CDF from a uniform number that the caller brings. Greedy messages
are cached until the message adapter changes.
"""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rl_models.distributions.joint_policy import inverse_cdf
from rl_models.llm.adapters import AdaptedModel
from rl_models.llm.llm_config import MessageSettings
from rl_models.llm.tokens import Ids
from rl_models.runtime.device import to_device
from rl_models.runtime.fixed_weights import LRUCache

_PROMPTS_AT_ONCE = 64
_END_CHECK_INTERVAL = 8


@torch.no_grad()
def generate(
    model: Any,
    prompts: Sequence[Ids],
    max_tokens: int,
    end: int,
    uniforms: Tensor | None,
    is_whole: Callable[[Ids], bool] = lambda text: False,
) -> list[Ids]:
    """Continue R prompts with whichever adapter is active: R texts of at most L tokens, without `end`.

    `uniforms` [R, L] in [0, 1) are drawn with; without, the most likely token is taken. `is_whole` says that a text is
    complete and ends there.
    """
    texts: list[Ids] = [()] * len(prompts)
    rows = sorted(range(len(prompts)), key=lambda row: len(prompts[row]))
    for first in range(0, len(rows), _PROMPTS_AT_ONCE):
        some = rows[first : first + _PROMPTS_AT_ONCE]
        drawn = None if uniforms is None else uniforms[some].to(model.device)
        written = _continue(model, [prompts[row] for row in some], max_tokens, end, drawn, is_whole)
        for row, text in zip(some, written, strict=True):
            texts[row] = text
    return texts


def _continue(
    model: Any,
    prompts: Sequence[Ids],
    max_tokens: int,
    end: int,
    uniforms: Tensor | None,
    is_whole: Callable[[Ids], bool],
) -> list[Ids]:
    """Generate completions of some prompts, which are padded on the left."""
    width = max(map(len, prompts))
    rows = np.array([(end,) * (width - len(prompt)) + prompt for prompt in prompts], np.int64)
    laid = to_device({"tokens": rows, "lengths": np.array([len(prompt) for prompt in prompts])}, model.device)
    tokens, lengths = laid["tokens"], laid["lengths"]
    positions = (torch.arange(width, device=model.device) - (width - lengths)[:, None]).clamp(min=0)
    mask = (torch.arange(width, device=model.device) >= (width - lengths)[:, None]).long()
    ended, cache, written = torch.zeros(len(prompts), dtype=torch.bool, device=model.device), None, []
    # As a tensor, so that the last states are copied: a slice of them would be multiplied one prompt at a time.
    last = torch.tensor([-1], device=model.device)
    asked_every = 1 if ended.device.type == "cpu" else _END_CHECK_INTERVAL
    for step in range(max_tokens):
        output = model(
            input_ids=tokens,
            attention_mask=mask,
            position_ids=positions,
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=last,
        )
        cache = output.past_key_values
        chosen = _chosen(output.logits[:, -1].float(), None if uniforms is None else uniforms[:, step])
        ended = ended | (chosen == end)
        written.append(chosen.masked_fill(ended, end))
        # On an accelerator checked every few tokens: generating a few too many costs less than synchronising.
        if (step + 1) % asked_every == 0:
            ended = ended | torch.tensor([is_whole(text) for text in _texts(written, end)], device=ended.device)
            if bool(ended.all()):
                break
        tokens, positions = written[-1][:, None], positions[:, -1:] + 1
        mask = nn.functional.pad(mask, (0, 1), value=1)
    texts = _texts(written, end)
    return texts if asked_every == 1 else [_shortest(text, is_whole) for text in texts]


def _shortest(text: Ids, is_whole: Callable[[Ids], bool]) -> Ids:
    """The shortest complete beginning of a text; the whole text if it has none."""
    return next((text[:size] for size in range(1, len(text)) if is_whole(text[:size])), text)


def _texts(written: list[Tensor], end: int) -> list[Ids]:
    """R texts of columns of tokens [R], without their ends."""
    return [tuple(row[: row.index(end)] if end in row else row) for row in torch.stack(written, 1).tolist()]


def _chosen(logits: Tensor, uniforms: Tensor | None) -> Tensor:
    """Tokens [R] of logits [R, V]."""
    return logits.argmax(-1) if uniforms is None else inverse_cdf(logits.log_softmax(-1), uniforms)


Array = NDArray[Any]

PADDING = -1
"""Padding after the end of a message; token ids are at least 0."""
_MESSAGES_KEPT = 2**16


class Writer:
    """Generates messages with the message adapter, without gradients; greedy ones are kept by prompt."""

    def __init__(self, language: AdaptedModel, settings: MessageSettings) -> None:
        self._language, self._settings = language, settings
        self.memory: LRUCache[Ids, Ids] = LRUCache(_MESSAGES_KEPT)

    def write(self, prompts: Sequence[Ids], uniforms: Tensor | None = None) -> list[Ids]:
        """A message for each prompt: the most likely tokens one by one, or drawn with uniforms [R, L]."""
        if uniforms is not None:
            return self._generate(prompts, uniforms)
        return self.memory.get(prompts, self._language.weights("message"), self._write_greedily)

    def text(self, message: Ids) -> str:
        """Text of a message as the others read it: its first line, cut off at the largest number of words."""
        return self._language.tokens.text(message, self._settings.max_words)

    def table(self, messages: Sequence[Ids]) -> Array:
        """Messages as [R, L] int32, cut off at L tokens."""
        table = np.full((len(messages), self._settings.max_tokens), PADDING, np.int32)
        for row, message in enumerate(messages):
            some = self.cut(message)
            table[row, : len(some)] = some
        return table

    def cut(self, message: Ids) -> Ids:
        """A message cut off at the largest number of tokens; a warning says once that a given one was longer."""
        most = self._settings.max_tokens
        if len(message) > most:
            warnings.warn(
                f"a message is longer than {most} tokens and is cut off there: raise --team.messages.max-tokens",
                stacklevel=2,
            )
        return message[: self._settings.max_tokens]

    def from_texts(self, texts: Sequence[str]) -> Array:
        """Given texts (a teacher's) as messages, [R, L] int32."""
        return self.table([self._language.tokens.completion(text) if text else () for text in texts])

    def _write_greedily(self, prompts: Sequence[Ids]) -> list[Ids]:
        """Messages for distinct prompts; shared by all teams of this process."""
        known = self._language.messages(self._settings)
        new = [prompt for prompt in prompts if prompt not in known]
        if new:
            known.update(zip(new, self._generate(new), strict=True))
        written = [known[prompt] for prompt in prompts]
        if len(known) > _MESSAGES_KEPT:
            known.clear()
        return written

    def _generate(self, prompts: Sequence[Ids], uniforms: Tensor | None = None) -> list[Ids]:
        language, most = self._language, self._settings.max_tokens
        for prompt in prompts:
            language.tokens.check_length(prompt, most)
        with torch.no_grad(), language.using("message"):
            return generate(language.base, prompts, most, language.tokens.end, uniforms, self._is_whole)

    def _is_whole(self, message: Ids) -> bool:
        return self._language.tokens.is_cut(message, self._settings.max_words)


def to_message(row: Array) -> Ids:
    """The token ids of one row [L] of a table, without padding."""
    return tuple(row[row != PADDING].tolist())
