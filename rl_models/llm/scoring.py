"""Scores of candidate texts after a prompt: log P(candidate | prompt) (Verco, eq. 2).

`score_trie` reads the prompt once and all candidates as one prefix tree: shared beginnings are computed once.
`score_alone` reads every pair of prompt and candidate separately; it is the reference for the former, and is used for
models that take no custom attention mask. Both work with whichever adapter is active, and both carry gradients.

`pack` lays prompts and their tries out as one padded batch: each row is a prompt, then the nodes of its trie, then
padding. Under the causal mask a row's nodes would see the nodes before them; here they see their ancestors alone, and a
node's position is its position after the prompt in its own candidate. Padding stands last, where no node sees it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rl_models.llm.tokens import Candidates, Ids
from rl_models.runtime.device import to_device

Array: TypeAlias = NDArray[Any]
_TOKENS_AT_ONCE = 8192
"""Tokens of a batch, padding included, that go through the model together."""
_TRIES_KEPT = 4096
UNSUPPORTED = ValueError, TypeError, AttributeError, RuntimeError
"""Errors of a model that takes no custom masks, positions or caches."""


@dataclass(frozen=True)
class Scores:
    """Scores of a model for R prompts and their K candidates.

    Attributes:
        log_probs: [R, K] float32, summed over a candidate's tokens; 0 where a prompt has fewer candidates.
        states: [R, F] the last block's state at each prompt's last token.
    """

    log_probs: Tensor
    states: Tensor


Scorer: TypeAlias = Callable[[Any, Sequence[Ids], Sequence[Candidates]], Scores]
"""Model, R prompts (at least one token each), their candidates -> scores."""


Encode: TypeAlias = "Callable[[Any, Packed, Tensor, Sequence[tuple[Ids, Candidates]]], Tensor]"
"""Model, R packed rows, their mask [R, 1, S, S] of its dtype, prompt and candidates of each -> states [R, S, F]."""


def encode(model: Any, packed: Packed, mask: Tensor, keys: Sequence[tuple[Ids, Candidates]]) -> Tensor:
    """All layers at once; see `Encode`."""
    states: Tensor = inner_model(model)(
        input_ids=packed.tokens, attention_mask=mask, position_ids=packed.positions, use_cache=False
    ).last_hidden_state
    return states


@torch.no_grad()
def encodes_alike(model: Any, other: Encode) -> bool:
    """Whether a model's scores are the same if another function encodes the prompts."""
    questions = [tuple(range(1, 8))] * 2, [((1, 2), (1, 3))] * 2
    whole, others = (score_trie(model, *questions, encode=how).log_probs for how in (encode, other))
    tolerance = 1e-4 if model.dtype == torch.float32 else 0.01
    return bool(((whole - others).abs() <= tolerance * whole.abs()).all())


def score_trie(model: Any, prompts: Sequence[Ids], candidates: Sequence[Candidates], encode: Encode = encode) -> Scores:
    """Each prompt once, with its candidates as a trie."""
    sizes = [len(prompt) + sum(map(len, some)) for prompt, some in zip(prompts, candidates, strict=True)]
    return _in_parts(functools.partial(_score_trie, encode), model, prompts, candidates, sizes)


def score_alone(model: Any, prompts: Sequence[Ids], candidates: Sequence[Candidates]) -> Scores:
    """Each prompt and candidate for itself, padded on the right: nothing but the model's own causal mask."""
    sizes = [
        max(1, len(some)) * (len(prompt) + max(map(len, some), default=0))
        for prompt, some in zip(prompts, candidates, strict=True)
    ]
    return _in_parts(_score_alone, model, prompts, candidates, sizes)


def normalise(log_probs: Tensor, lengths: Tensor) -> Tensor:
    """Divide each candidate's score [R, K] by its length [R, K] in tokens or words, or by 1, -> [R, K]."""
    return log_probs / lengths.to(log_probs)


def inner_model(model: nn.Module) -> Any:
    """The transformer within a causal language model, without the layer that predicts tokens."""
    return getattr(model, str(model.base_model_prefix))


def _score_trie(encode: Encode, model: Any, prompts: Sequence[Ids], candidates: Sequence[Candidates]) -> Scores:
    packed = pack(prompts, candidates, model.device)
    dtype = model.dtype
    mask = torch.zeros(packed.sees.shape, dtype=dtype, device=model.device)
    mask = mask.masked_fill(~packed.sees, torch.finfo(dtype).min)
    states = encode(model, packed, mask, list(zip(prompts, candidates, strict=True))).flatten(0, 1)
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


# ------------------------------------------------------------------------------------- candidates as a prefix tree


@dataclass(frozen=True, eq=False)
class Trie:
    """K candidates as a prefix tree of n nodes, each after its parent.

    Attributes:
        tokens: [n] int64.
        parents: [n] int64, -1 for those that follow the prompt.
        depths: [n] int64, from 0.
        sees: [n, n] bool, a node sees itself and its ancestors.
        paths: nodes of each candidate in order, [l] int64.
    """

    tokens: Array
    parents: Array
    depths: Array
    sees: Array
    paths: tuple[Array, ...]


@functools.lru_cache(maxsize=_TRIES_KEPT)
def build_trie(candidates: Candidates) -> Trie:
    """The prefix tree of these candidates; raises ValueError for a candidate without a token."""
    number: dict[tuple[int, int], int] = {}
    paths = [_path(candidate, number) for candidate in candidates]
    parents = np.array([parent for parent, _ in number], np.int64)
    depths, sees = np.zeros(len(number), np.int64), np.eye(len(number), dtype=bool)
    for node, parent in enumerate(parents):
        if parent >= 0:
            depths[node] = depths[parent] + 1
            sees[node] |= sees[parent]
    return Trie(np.array([token for _, token in number], np.int64), parents, depths, sees, tuple(paths))


def _path(candidate: Sequence[int], number: dict[tuple[int, int], int]) -> Array:
    """A candidate's nodes; those that are new get the next numbers."""
    if not candidate:
        raise ValueError("an action's phrase has no token; give every action at least one word")
    nodes, parent = [], -1
    for token in candidate:
        parent = number.setdefault((parent, token), len(number))
        nodes.append(parent)
    return np.array(nodes, np.int64)


@dataclass(frozen=True)
class Packed:
    """R prompts with their candidates, S places a row, E nodes in all.

    Attributes:
        tokens: [R, S] int64.
        positions: [R, S] int64.
        sees: [R, 1, S, S] bool.
        lengths: R lengths without padding, on the host.
        ends: [R] int64, place of each prompt's last token among all R * S.
        speakers: [Q] int64, indices among all R * S of the tokens whose logits are computed, each once.
        asked: [E] int64, for each node which of the Q places it follows.
        targets: [E] int64, for each node its token.
        paths: [R, K, L] int64, nodes of each candidate; E where there is none.
    """

    tokens: Tensor
    positions: Tensor
    sees: Tensor
    lengths: tuple[int, ...]
    ends: Tensor
    speakers: Tensor
    asked: Tensor
    targets: Tensor
    paths: Tensor


def pack(prompts: Sequence[Ids], candidates: Sequence[Candidates], device: torch.device) -> Packed:
    """Lay R prompts and their candidates out on a device."""
    tries = [build_trie(each) for each in candidates]
    lengths = tuple(len(prompt) + len(trie.tokens) for prompt, trie in zip(prompts, tries, strict=True))
    width = max(lengths)
    tokens, positions = np.zeros((2, len(prompts), width), np.int64)
    sees = np.repeat(np.tri(width, dtype=bool)[None], len(prompts), axis=0)
    for row, (prompt, trie) in enumerate(zip(prompts, tries, strict=True)):
        first, last = len(prompt), lengths[row]
        tokens[row, :last] = np.concatenate([np.array(prompt, np.int64), trie.tokens])
        positions[row, :last] = np.concatenate([np.arange(first), first + trie.depths])
        sees[row, first:last, first:last] = trie.sees
    first_place = np.arange(len(prompts)) * width
    ends = first_place + np.array([len(prompt) - 1 for prompt in prompts])
    parents = [np.where(trie.parents < 0, end, end + 1 + trie.parents) for trie, end in zip(tries, ends, strict=True)]
    speakers, asked = np.unique(np.concatenate(parents), return_inverse=True)
    targets = np.concatenate([trie.tokens for trie in tries])
    arrays = (tokens, positions, sees[:, None], ends, speakers.astype(np.int64), asked, targets, _paths(tries))
    names = (field.name for field in fields(Packed) if field.name != "lengths")
    return Packed(lengths=lengths, **to_device(dict(zip(names, arrays, strict=True)), device))


def _paths(tries: Sequence[Trie]) -> Array:
    """[R, K, L] numbers of nodes among those of all tries, padded with their count."""
    count = sum(len(trie.tokens) for trie in tries)
    most = max((len(trie.paths) for trie in tries), default=0)
    longest = max((len(path) for trie in tries for path in trie.paths), default=0)
    paths = np.full((len(tries), most, longest), count, np.int64)
    first = 0
    for row, trie in enumerate(tries):
        for place, path in enumerate(trie.paths):
            paths[row, place, : len(path)] = first + path
        first += len(trie.tokens)
    return paths
