"""Writing behind prompts, token by token, with the attention's keys and values kept: all prompts of a batch at once.

The likeliest token, or one drawn by inverse CDF from a uniform number that the caller brings. This file must not know
what is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from rl_models.device import to_device
from rl_models.distributions.joint_tensor import inverse_cdf
from rl_models.llm.trie import Ids

_PROMPTS_AT_ONCE = 64
_TOKENS_UNASKED = 8


@torch.no_grad()
def generate(model: Any, prompts: Sequence[Ids], max_tokens: int, end: int, uniforms: Tensor | None) -> list[Ids]:
    """Continue R prompts with whichever adapter is active.

    Args:
        model: a causal language model.
        prompts: at least one token each.
        max_tokens: L, where a text is cut off.
        end: the token that ends a text; it is not part of it.
        uniforms: [R, L] in [0, 1) to draw with; None: always the most likely token.

    Returns:
        R texts of at most L tokens.
    """
    texts: list[Ids] = [()] * len(prompts)
    rows = sorted(range(len(prompts)), key=lambda row: len(prompts[row]))
    for first in range(0, len(rows), _PROMPTS_AT_ONCE):
        some = rows[first : first + _PROMPTS_AT_ONCE]
        drawn = None if uniforms is None else uniforms[some].to(model.device)
        written = _continue(model, [prompts[row] for row in some], max_tokens, end, drawn)
        for row, text in zip(some, written, strict=True):
            texts[row] = text
    return texts


def _continue(model: Any, prompts: Sequence[Ids], max_tokens: int, end: int, uniforms: Tensor | None) -> list[Ids]:
    """Write behind some prompts, which are padded on the left so that all texts begin in one column."""
    width = max(map(len, prompts))
    rows = np.array([(end,) * (width - len(prompt)) + prompt for prompt in prompts], np.int64)
    laid = to_device({"tokens": rows, "lengths": np.array([len(prompt) for prompt in prompts])}, model.device)
    tokens, lengths = laid["tokens"], laid["lengths"]
    positions = (torch.arange(width, device=model.device) - (width - lengths)[:, None]).clamp(min=0)
    mask = (torch.arange(width, device=model.device) >= (width - lengths)[:, None]).long()
    ended, cache, written = torch.zeros(len(prompts), dtype=torch.bool, device=model.device), None, []
    asked_every = 1 if ended.device.type == "cpu" else _TOKENS_UNASKED
    for step in range(max_tokens):
        output = model(
            input_ids=tokens,
            attention_mask=mask,
            position_ids=positions,
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
        )
        cache = output.past_key_values
        chosen = _chosen(output.logits[:, -1].float(), None if uniforms is None else uniforms[:, step])
        ended = ended | (chosen == end)
        # An accelerator is not asked after every token: to write some more that are cut off costs less.
        if (step + 1) % asked_every == 0 and bool(ended.all()):
            break
        written.append(chosen.masked_fill(ended, end))
        tokens, positions = written[-1][:, None], positions[:, -1:] + 1
        mask = nn.functional.pad(mask, (0, 1), value=1)
    if not written:
        return [()] * len(prompts)
    return [tuple(row[: row.index(end)] if end in row else row) for row in torch.stack(written, 1).tolist()]


def _chosen(logits: Tensor, uniforms: Tensor | None) -> Tensor:
    """Tokens [R] of logits [R, V]."""
    return logits.argmax(-1) if uniforms is None else inverse_cdf(logits.log_softmax(-1), uniforms)
