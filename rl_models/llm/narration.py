"""Narration: turns states of a world into token ids, so that a language model can act in it.

A narration runs beside the world and makes prompts, messages and phrases. The learner reads token ids alone; the texts
come from the experiment's `Narrator`.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from rl_models.llm.llm_config import LanguageTeamSettings
from rl_models.llm.messages import PADDING, Array, Writer, to_message
from rl_models.llm.tokens import Ids, Tokens
from rl_models.policy import deciding_agents
from rl_models.runtime.added_observations import MESSAGES
from rl_models.runtime.texts import TEXTS, MissingTextsError

PROMPT, PHRASES = "prompt", "phrases"
"""Observation keys: [B, T, N] int32 and [B, T, N, A] int32, rows of an agent's action prompt and of
the phrases of its A actions; the token ids lie beside them, padded with -1."""


class Narrator(Protocol):
    """Turns an agent's situation into prompts and phrases. Equal codes must give equal texts in every process."""

    def message_prompt(self, code: Array) -> str:
        """Prompt that an agent reads before it writes; `code` [F] is its situation."""

    def action_prompt(self, code: Array, heard: Sequence[str]) -> str:
        """Prompt that it reads before it acts: its situation, and the messages of agents i + 1, i + 2, ... modulo N.

        `heard` is empty where agents do not write. The text must lead to an action's phrase, which follows it.
        """

    def actions(self, code: Array) -> Sequence[str]:
        """A phrases, one per action."""


class TokenTable:
    """Distinct texts of any length, each a row."""

    def __init__(self) -> None:
        """Begin empty."""
        self._rows: dict[Ids, int] = {}
        self._table: Array = np.zeros((0, 0), np.int32)

    def add(self, texts: Sequence[Ids]) -> Array:
        """Rows [K] int32 of these texts; a text that is there keeps its row."""
        return np.array([self._rows.setdefault(ids, len(self._rows)) for ids in texts], np.int32)

    @property
    def table(self) -> Array:
        """[D, L] int32, padded with -1."""
        known = len(self._table)
        new = list(self._rows)[known:]
        if new:
            width = max(self._table.shape[1], *map(len, new))
            table = np.full((known + len(new), width), PADDING, np.int32)
            table[:known, : self._table.shape[1]] = self._table
            for row, ids in enumerate(new, known):
                table[row, : len(ids)] = ids
            self._table = table
        return self._table

    def keep(self, rows: Array) -> Array:
        """Keep only these rows [...] int, renumbered by text; returns the new numbers, [...] int32."""
        texts = list(self._rows)
        used, which = np.unique(rows, return_inverse=True)
        kept = [texts[row] for row in used]
        self._rows, self._table = {}, np.zeros((0, 0), np.int32)
        self.add(sorted(kept))
        return self.add(kept)[which].reshape(np.shape(rows))


class Narration:
    """The `Speech` of a team on one language model."""

    def __init__(self, narrator: Narrator, writer: Writer, tokens: Tokens, settings: LanguageTeamSettings) -> None:
        self._narrator, self._writer, self._tokens = narrator, writer, tokens
        self._keys, self._heard = settings.situation, settings.messages.heard
        is_drawn = settings.messages.sampled and self._heard != "silence"
        self.draws = settings.messages.max_tokens if is_drawn else 0
        self.hears_another_world = self._heard == "shuffled"
        self._tables = {PROMPT: TokenTable(), PHRASES: TokenTable()}

    @torch.no_grad()
    def narrate(self, obs: dict[str, Tensor], uniforms: Tensor | None = None) -> dict[str, Tensor]:
        """See `Speech.narrate`: messages as they reach the others, prompts and phrases."""
        codes, rows = situations(obs, self._keys)
        if MESSAGES in obs:
            messages: Array = obs[MESSAGES].cpu().numpy()
        else:
            messages = self._messages(codes, rows, self._are_read(obs, rows.shape), uniforms)
        texts, heard = self._received_texts(messages)
        keys = np.concatenate([rows[..., None], heard], axis=-1)
        distinct, which = np.unique(keys.reshape(-1, keys.shape[-1]), axis=0, return_inverse=True)
        prompts = [
            self._tokens.prompt(self._narrator.action_prompt(codes[code], tuple(texts[text] for text in others)))
            for code, *others in distinct.tolist()
        ]
        prompt = self._tables[PROMPT].add(prompts)[which.ravel()].reshape(rows.shape)
        phrases = [self._tables[PHRASES].add([*map(self._tokens.completion, self._narrator.actions(c))]) for c in codes]
        found = {MESSAGES: messages, PROMPT: prompt, PHRASES: np.stack(phrases)[rows]}
        return {key: torch.from_numpy(value) for key, value in found.items()}

    def tables(self) -> dict[str, Array]:
        """See `Speech.tables`."""
        return {key: one.table for key, one in self._tables.items()}

    def inputs(self) -> dict[str, Tensor]:
        """See `Speech.inputs`."""
        return {f"{TEXTS}{key}": torch.from_numpy(one) for key, one in self.tables().items()}

    def keep(self, obs: dict[str, Array]) -> dict[str, Array]:
        """See `Speech.keep`."""
        return {key: one.keep(obs[key]) for key, one in self._tables.items()}

    def _are_read(self, obs: dict[str, Tensor], shape: tuple[int, ...]) -> Array:
        """[B, T, N] bool, whether another agent decides at this step, so that it reads the message.

        Messages for another world are all written, since its agents decide at other steps.
        """
        if self.hears_another_world:
            return np.ones(shape, bool)
        mask = deciding_agents(obs)
        reading = np.ones(shape, bool) if mask is None else mask.cpu().numpy()
        are_read: Array = reading.sum(-1, keepdims=True) > reading
        return are_read

    def _messages(self, codes: Array, rows: Array, are_read: Array, uniforms: Tensor | None) -> Array:
        """Messages of agents about their situations as others get them, [B, T, N, L] int32; L is 0 in silence.

        Messages that nobody reads are not written.
        """
        if self._heard == "silence":
            return np.zeros((*rows.shape, 0), np.int32)
        table = self._writer.table([()] * rows.size).reshape(*rows.shape, -1)
        if are_read.any():
            written, which = np.unique(rows[are_read], return_inverse=True)
            prompts = [self._tokens.prompt(self._narrator.message_prompt(codes[row])) for row in written]
            if uniforms is None:
                table[are_read] = self._writer.table(self._writer.write(prompts))[which]
            else:
                drawn = uniforms[torch.from_numpy(are_read)]
                table[are_read] = self._writer.table(self._writer.write([prompts[row] for row in which], drawn))
        if not self.hears_another_world:
            return table
        return np.roll(table, 1, axis=0) if len(table) > 1 else np.full_like(table, PADDING)

    def _received_texts(self, messages: Array) -> tuple[list[str], Array]:
        """Distinct texts, and which of them each agent hears from agents i + 1, i + 2, ..., [B, T, N, N - 1]."""
        *lead, agents, length = messages.shape
        if length == 0:
            return [], np.zeros((*lead, agents, 0), np.int64)
        rows, which = np.unique(messages.reshape(-1, length), axis=0, return_inverse=True)
        others = (np.arange(agents)[:, None] + np.arange(1, agents)) % agents
        return [self._writer.text(to_message(row)) for row in rows], which.reshape(*lead, agents)[..., others]


def situations(obs: dict[str, Tensor], keys: Sequence[str]) -> tuple[Array, Array]:
    """Distinct codes [D, F], and which of them each agent is in, [B, T, N] int64.

    Under each key are a part of the codes [B, T, N, F'], or row numbers [B, T, N] or [B, T, N, K] with the distinct
    parts under `texts/KEY` [D, F'], of which K are joined. Raises MissingTextsError for row numbers without their
    codes.
    """
    codes = np.concatenate([_part(obs, key) for key in keys], axis=-1)
    distinct, rows = np.unique(codes.reshape(-1, codes.shape[-1]), axis=0, return_inverse=True)
    return distinct, rows.reshape(codes.shape[:-1])


def _part(obs: dict[str, Tensor], key: str) -> Array:
    seen: Array = obs[key].cpu().numpy()
    if f"{TEXTS}{key}" in obs:
        table: Array = obs[f"{TEXTS}{key}"].cpu().numpy()
        return table[seen].reshape(*seen.shape[:3], -1)
    if seen.ndim < 4:
        raise MissingTextsError(f"observation {key!r} holds row numbers: pass their codes too, under {TEXTS + key!r}")
    return seen
