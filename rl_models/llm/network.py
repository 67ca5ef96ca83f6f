"""A team of N agents that share one language model: they write, read each other, and weigh their actions (Verco).

One pass over a batch turns codes and messages into prompts, computes each distinct moment once, and hands scores of
actions and the state that the critic reads to the heads. What is said here of prompts and messages is laid out in
docs/papers/verco.md. It knows no world: words come from the narrator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from rl_models.llm.adapters import AdaptedModel
from rl_models.llm.llm_config import LanguageTeamSettings
from rl_models.llm.memory import Memory
from rl_models.llm.messages import PADDING, Writer, message_of
from rl_models.llm.narration import Array, Narrator, situations
from rl_models.llm.scoring import normalise
from rl_models.llm.trie import Candidates, Ids
from rl_models.networks.speech import MESSAGES
from rl_models.policy import UNVALUED, Features, State

ACTION_SCORES = "action_scores"
"""Extra: [B, T, N, A] float32, normalised log-probabilities of the actions' phrases."""
_KEPT = 2**16


@dataclass(frozen=True)
class Moment:
    """All that an agent's choice depends on; equal ones are computed once.

    Attributes:
        prompt: situation and messages heard.
        candidates: phrases of the legal actions.
        actions: their numbers.
        lengths: what their scores are divided by.
    """

    prompt: Ids
    candidates: Candidates
    actions: tuple[int, ...]
    lengths: tuple[int, ...]


class LanguageNetwork(nn.Module):
    """Codes in, scores of actions out.

    Attributes:
        language: model and adapters; the only thing here with weights.
        writer: of messages.
        moments: scores of moments, kept while the weights stay and nobody wants gradients.
    """

    def __init__(
        self, language: AdaptedModel, narrator: Narrator, settings: LanguageTeamSettings, num_agents: int, actions: int
    ) -> None:
        """Put the parts together.

        Args:
            language: model and adapters.
            narrator: who puts codes into words.
            settings: how messages are written and actions scored.
            num_agents: N.
            actions: A.
        """
        super().__init__()
        self.num_agents, self.actions, self.features = num_agents, actions, language.width
        self.language, self.settings = language, settings
        self.writer = Writer(language, settings.messages)
        self.moments: Memory[Moment, tuple[Tensor, Tensor]] = Memory(_KEPT)
        self._narrator = narrator
        self._states: Memory[Ids, Tensor] = Memory(_KEPT)
        self._message_prompts: Memory[bytes, Ids] = Memory(_KEPT)
        self._action_prompts: Memory[tuple[bytes, tuple[str, ...]], Ids] = Memory(_KEPT)
        self._phrases: Memory[bytes, tuple[tuple[Ids, ...], tuple[int, ...]]] = Memory(_KEPT)

    def initial_state(self, batch: int) -> State:
        """Nothing is remembered from step to step."""
        return {}

    @property
    def speech_draws(self) -> int:
        """Uniforms that an agent needs for one message; 0 unless words are drawn."""
        messages = self.settings.messages
        return messages.most_tokens if messages.sampled and messages.heard != "silence" else 0

    @property
    def hears_another_world(self) -> bool:
        """What reaches the others is what was written in another world."""
        return self.settings.messages.heard == "shuffled"

    @torch.no_grad()
    def speak(self, obs: dict[str, Tensor], uniforms: Tensor | None = None) -> Tensor:
        """What every agent writes about what it sees, [B, T, N, L] int32 as the others get it; L is 0 in silence."""
        codes, rows = situations(obs, self.settings.situation)
        if self.settings.messages.heard == "silence":
            return torch.zeros(*rows.shape, 0, dtype=torch.int32)
        prompts = self._prompts_of_messages(codes)
        if uniforms is None:
            table = self.writer.table(self.writer.write(prompts))[rows]
        else:
            each = [prompts[row] for row in rows.ravel()]
            written = self.writer.write(each, uniforms.flatten(0, -2))
            table = self.writer.table(written).reshape(*rows.shape, -1)
        if self.hears_another_world:
            table = np.roll(table, 1, axis=0) if len(table) > 1 else np.full_like(table, PADDING)
        return torch.from_numpy(table)

    def forward(self, obs: dict[str, Tensor], state: State, is_first: Tensor) -> Features:
        """Scores of actions and states for the critic at every step; `is_first` [B, T] and the state change nothing.

        Args:
            obs: codes as `narration.situations` describes, `legal` [B, T, N, A] bool; perhaps `decides` and `alive`
                [B, T, N] bool, and `messages` [B, T, N, L] int32.
            state: empty.
            is_first: an episode begins at this step.
        """
        said = obs[MESSAGES] if MESSAGES in obs else self.speak(obs)
        counted = _counted(obs)
        moments, rows = self._moments_of(obs, said.cpu().numpy(), counted)
        scores, states = self._thoughts(moments)
        place = torch.from_numpy(counted).to(scores.device)
        each = torch.from_numpy(rows).to(scores.device)
        lead = counted.shape
        all_scores = scores.new_zeros(*lead, self.actions).masked_scatter(place[..., None], scores[each])
        all_states = states.new_zeros(*lead, self.features).masked_scatter(place[..., None], states[each])
        extras = {ACTION_SCORES: all_scores, MESSAGES: said} | _left_out(obs, counted)
        return Features(all_states, {}, None, extras, obs["legal"].bool())

    def _moments_of(self, obs: dict[str, Tensor], said: Array, counted: Array) -> tuple[list[Moment], Array]:
        """Distinct moments of the K agents that count, and which of them each is in, [K] int64."""
        codes, rows = situations(obs, self.settings.situation)
        texts, heard = self._heard(said)
        legal = obs["legal"].bool().cpu().numpy()
        keys = np.concatenate([rows[..., None], heard, legal], axis=-1)[counted]
        distinct, which = np.unique(keys, axis=0, return_inverse=True)
        others = heard.shape[-1]
        told = [
            self._moment(codes[key[0]], tuple(texts[text] for text in key[1 : 1 + others]), key[1 + others :])
            for key in distinct
        ]
        number = {moment: index for index, moment in enumerate(dict.fromkeys(told))}  # codes can read the same
        return list(number), np.array([number[moment] for moment in told], np.int64)[which.ravel()]

    def _heard(self, said: Array) -> tuple[list[str], Array]:
        """Distinct texts, and which of them each agent hears from agents i + 1, i + 2, ..., [B, T, N, N - 1]."""
        lead = said.shape[:-1]
        if said.shape[-1] == 0:
            return [], np.zeros((*lead, 0), np.int64)
        rows, which = np.unique(said.reshape(-1, said.shape[-1]), axis=0, return_inverse=True)
        own = which.reshape(lead)
        others = (np.arange(self.num_agents)[:, None] + np.arange(1, self.num_agents)) % self.num_agents
        return [self.writer.text(message_of(row)) for row in rows], own[..., others]

    def _moment(self, code: Array, heard: tuple[str, ...], legal: Array) -> Moment:
        prompt = self._prompt_of_action(code, heard)
        phrases, lengths = self._phrases_of(code)
        some = tuple(np.flatnonzero(legal).tolist())
        return Moment(prompt, tuple(phrases[a] for a in some), some, tuple(lengths[a] for a in some))

    def _thoughts(self, moments: list[Moment]) -> tuple[Tensor, Tensor]:
        """Scores [U, A], 0 where illegal, and states [U, F] for the critic."""
        if not moments:
            device = self.language.base.device
            return torch.zeros(0, self.actions, device=device), torch.zeros(0, self.features, device=device)
        if torch.is_grad_enabled():
            return self._compute(moments)
        found = self.moments.of(moments, self.language.weights("action"), self._rows)
        scores, states = zip(*found, strict=True)
        return torch.stack(scores), torch.stack(states)

    def _rows(self, moments: list[Moment]) -> list[tuple[Tensor, Tensor]]:
        return list(zip(*self._compute(moments), strict=True))

    def _compute(self, moments: list[Moment]) -> tuple[Tensor, Tensor]:
        scored = self.language.score("action", [m.prompt for m in moments], [m.candidates for m in moments])
        device, most = scored.log_probs.device, scored.log_probs.shape[1]
        lengths = torch.tensor([m.lengths + (1,) * (most - len(m.lengths)) for m in moments], device=device)
        # Padding goes to a column of its own, which is cut off.
        columns = torch.tensor([m.actions + (self.actions,) * (most - len(m.actions)) for m in moments], device=device)
        rows = scored.log_probs.new_zeros(len(moments), self.actions + 1)
        scores = rows.scatter(-1, columns.long(), normalise(scored.log_probs, lengths))[:, :-1]
        is_frozen = self.settings.critic_base == "frozen"
        return scores, self._frozen_states(moments) if is_frozen else scored.states.detach()

    def _frozen_states(self, moments: list[Moment]) -> Tensor:
        """What the bare model makes of the prompts, [U, F]."""

        def compute(prompts: list[Ids]) -> list[Tensor]:
            return list(self.language.score(None, prompts, [()] * len(prompts)).states)

        return torch.stack(self._states.of([moment.prompt for moment in moments], self.language.weights(None), compute))

    def _prompts_of_messages(self, codes: Array) -> list[Ids]:
        def compute(keys: list[bytes]) -> list[Ids]:
            said = (self._narrator.message_prompt(np.frombuffer(key, codes.dtype)) for key in keys)
            return [self.language.tokens.prompt(text) for text in said]

        return self._message_prompts.of([code.tobytes() for code in codes], (), compute)

    def _prompt_of_action(self, code: Array, heard: tuple[str, ...]) -> Ids:
        def compute(keys: list[tuple[bytes, tuple[str, ...]]]) -> list[Ids]:
            return [self.language.tokens.prompt(self._narrator.action_prompt(code, heard)) for _ in keys]

        return self._action_prompts.of([(code.tobytes(), heard)], (), compute)[0]

    def _phrases_of(self, code: Array) -> tuple[tuple[Ids, ...], tuple[int, ...]]:
        """Token ids of all A phrases, and what their scores are divided by."""

        def compute(keys: list[bytes]) -> list[tuple[tuple[Ids, ...], tuple[int, ...]]]:
            return [self._tokenised(self._narrator.actions(code)) for _ in keys]

        return self._phrases.of([code.tobytes()], (), compute)[0]

    def _tokenised(self, phrases: Sequence[str]) -> tuple[tuple[Ids, ...], tuple[int, ...]]:
        ids = tuple(self.language.tokens.behind(phrase) for phrase in phrases)
        if self.settings.normalisation == "word":
            return ids, tuple(max(1, len(phrase.split())) for phrase in phrases)
        return ids, tuple(len(each) if self.settings.normalisation == "token" else 1 for each in ids)


def _counted(obs: dict[str, Tensor]) -> Array:
    """[B, T, N] bool, the agents that are worth computing.

    Those that decide; at the last of several steps all, because V-trace bootstraps from there. (Who acts and wants
    values of agents that carry on asks without `decides`.)
    """
    counted = np.ones(tuple(obs["legal"].shape[:3]), bool)
    for key in ("decides", "alive"):
        if key in obs:
            counted &= obs[key].bool().cpu().numpy()
    if counted.shape[1] > 1:
        counted[:, -1] = True
    return counted


def _left_out(obs: dict[str, Tensor], counted: Array) -> dict[str, Tensor]:
    """Whom nobody computes though another agent chooses, as an extra; nothing where there is nobody."""
    left_out = counted.any(-1, keepdims=True) & ~counted
    if "alive" in obs:
        left_out &= obs["alive"].bool().cpu().numpy()
    return {UNVALUED: torch.from_numpy(left_out)} if left_out.any() else {}
