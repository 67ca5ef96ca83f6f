"""How likely each of several candidate texts is behind a prompt: log P(candidate | prompt) (Verco, eq. 3).

`score_trie` reads the prompt once and all candidates as one prefix tree. `score_alone` reads every prompt and candidate
for itself; it is what the former must equal, and serves models that cannot be given a mask of their own. Both work with
whichever adapter is active, and both carry gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from rl_models.device import to_device
from rl_models.llm.trie import Candidates, Ids, pack

Normalisation = Literal["sum", "token", "word"]
_TOKENS_AT_ONCE = 8192
"""Tokens of a batch, padding included, that go through the model together."""


@dataclass(frozen=True)
class Scores:
    """What a model says about R prompts.

    Attributes:
        log_probs: [R, K] float32, summed over a candidate's tokens; 0 where a prompt has fewer candidates.
        states: [R, F] the last block's state at each prompt's last token.
    """

    log_probs: Tensor
    states: Tensor


Scorer: TypeAlias = Callable[[Any, Sequence[Ids], Sequence[Candidates]], Scores]
"""Model, R prompts (at least one token each), their candidates -> scores."""


def score_trie(model: Any, prompts: Sequence[Ids], candidates: Sequence[Candidates]) -> Scores:
    """Each prompt once, with its candidates as a trie."""
    sizes = [len(prompt) + sum(map(len, some)) for prompt, some in zip(prompts, candidates, strict=True)]
    return _in_parts(_score_trie, model, prompts, candidates, sizes)


def score_alone(model: Any, prompts: Sequence[Ids], candidates: Sequence[Candidates]) -> Scores:
    """Each prompt and candidate for itself, padded on the right: nothing but the model's own causal mask."""
    sizes = [
        max(1, len(some)) * (len(prompt) + max(map(len, some), default=0))
        for prompt, some in zip(prompts, candidates, strict=True)
    ]
    return _in_parts(_score_alone, model, prompts, candidates, sizes)


def normalise(log_probs: Tensor, lengths: Tensor) -> Tensor:
    """Divide each candidate's score [R, K] by its length [R, K] in tokens or words, or by 1."""
    return log_probs / lengths.to(log_probs)


def inner_model(model: nn.Module) -> Any:
    """The transformer within a causal language model, without the layer that predicts tokens."""
    return getattr(model, str(model.base_model_prefix))


def _score_trie(model: Any, prompts: Sequence[Ids], candidates: Sequence[Candidates]) -> Scores:
    packed = pack(prompts, candidates, model.device)
    dtype = model.dtype
    mask = torch.zeros(packed.sees.shape, dtype=dtype, device=model.device)
    mask = mask.masked_fill(~packed.sees, torch.finfo(dtype).min)
    states = inner_model(model)(
        input_ids=packed.tokens, attention_mask=mask, position_ids=packed.positions, use_cache=False
    ).last_hidden_state.flatten(0, 1)
    logits = model.get_output_embeddings()(states[packed.speakers]).float()
    of_nodes = logits.log_softmax(-1)[packed.asked, packed.targets]
    of_paths = torch.cat([of_nodes, of_nodes.new_zeros(1)])[packed.paths]
    return Scores(of_paths.sum(-1), states[packed.ends].float())


def _score_alone(model: Any, prompts: Sequence[Ids], candidates: Sequence[Candidates]) -> Scores:
    rows = [(*prompt, *each) for prompt, some in zip(prompts, candidates, strict=True) for each in some or ((),)]
    lengths = torch.tensor([len(row) for row in rows], device=model.device)
    width = int(lengths.max())
    tokens = torch.tensor([row + (0,) * (width - len(row)) for row in rows], device=model.device)
    place = torch.arange(width, device=model.device)
    mask = (place < lengths[:, None]).long()
    output = model(input_ids=tokens, attention_mask=mask, use_cache=False, output_hidden_states=True)
    log_probs = output.logits[:, :-1].float().log_softmax(-1).gather(-1, tokens[:, 1:, None]).squeeze(-1)
    starts = [len(prompt) for prompt, some in zip(prompts, candidates, strict=True) for _ in some or ((),)]
    first = torch.tensor(starts, device=model.device)[:, None]
    counts = (place[1:] >= first) & (place[1:] < lengths[:, None])
    sums = (log_probs * counts).sum(-1).split([max(1, len(some)) for some in candidates])
    table = nn.utils.rnn.pad_sequence(list(sums), batch_first=True)[:, : max(map(len, candidates))]
    of_rows = output.hidden_states[-1][torch.arange(len(rows), device=model.device), first[:, 0] - 1].float()
    states = torch.stack([part[0] for part in of_rows.split([max(1, len(some)) for some in candidates])])
    return Scores(table, states)


def _in_parts(
    score: Scorer, model: Any, prompts: Sequence[Ids], candidates: Sequence[Candidates], sizes: Sequence[int]
) -> Scores:
    """Score rows of like length together, so that little is padded, and put them back in order."""
    parts, places = [], []
    for rows in _groups(sizes):
        parts.append(score(model, [prompts[row] for row in rows], [candidates[row] for row in rows]))
        places += rows
    most = max(part.log_probs.shape[1] for part in parts)
    padded = [nn.functional.pad(part.log_probs, (0, most - part.log_probs.shape[1])) for part in parts]
    log_probs, states = torch.cat(padded), torch.cat([part.states for part in parts])
    if places == sorted(places):
        return Scores(log_probs, states)
    back = to_device({"places": np.argsort(places)}, log_probs.device)["places"]
    return Scores(log_probs[back], states[back])


def _groups(sizes: Sequence[int]) -> Iterator[list[int]]:
    """Rows in order of size, as many at once as fit."""
    group: list[int] = []
    for row in sorted(range(len(sizes)), key=sizes.__getitem__):
        if group and sizes[row] * (len(group) + 1) > _TOKENS_AT_ONCE:
            yield group
            group = []
        group.append(row)
    yield group
