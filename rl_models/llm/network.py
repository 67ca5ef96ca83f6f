"""A team of N agents that share one language model: they write, read each other, and weigh their actions (Verco).

One pass over a batch reads prompts and phrases as token ids, computes each distinct decision once, and passes scores of
actions and the state that the critic reads to the heads (docs/papers/verco.md describes prompts and messages). Texts
are handled beside the environment, by the narration.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from rl_models.distributions.joint_policy import legal_logits
from rl_models.distributions.mixture import MixtureOfMarginals
from rl_models.layers.dense import dense
from rl_models.llm.adapters import AdaptedModel
from rl_models.llm.llm_config import LanguageTeamSettings
from rl_models.llm.messages import Array, Writer, to_message
from rl_models.llm.narration import PHRASES, PROMPT, Narration, Narrator
from rl_models.llm.scoring import normalise
from rl_models.llm.tokens import Candidates, Ids
from rl_models.policy import UNVALUED, VALUED, Features, State, Stateless, deciding_agents
from rl_models.runtime.added_observations import MESSAGES
from rl_models.runtime.device import to_device, to_host
from rl_models.runtime.fixed_weights import LRUCache
from rl_models.runtime.texts import TEXTS, MissingTextsError

ACTION_SCORES = "action_scores"
"""Extra: [B, T, N, A] float32, normalised log-probabilities of the actions' phrases."""
_KEPT = 2**16
_ILLEGAL = -1


@dataclass(frozen=True)
class Decision:
    """Inputs of an agent's action distribution; equal ones are computed once.

    The prompt has the situation and the messages heard, the candidates are phrases of the legal `actions`, whose scores
    are divided by `lengths`.
    """

    prompt: Ids
    candidates: Candidates
    actions: tuple[int, ...]
    lengths: tuple[int, ...]


class LanguageNetwork(Stateless):
    """Prompts and phrases in, scores of actions out; only narrations use the narrator.

    Scores of decisions are kept until a weight changes or gradients are needed.
    """

    def __init__(
        self, language: AdaptedModel, narrator: Narrator, settings: LanguageTeamSettings, num_agents: int, actions: int
    ) -> None:
        super().__init__()
        self.num_agents, self.actions, self.features = num_agents, actions, language.width
        self.language, self.settings = language, settings
        self.writer = Writer(language, settings.messages)
        self.score_cache: LRUCache[Decision, tuple[Tensor, Tensor]] = LRUCache(_KEPT)
        self.narrator = narrator
        self._states: LRUCache[Ids, Tensor] = LRUCache(_KEPT)

    def message_text(self, row: Array) -> str:
        """Text of a message from its row [L] int32 of token ids."""
        return self.writer.text(to_message(row))

    def message_row(self, text: str) -> Array:
        """A given text as a message, [L] int32 of token ids: a message written by a person or another program."""
        row: Array = self.writer.from_texts([text])[0]
        return row

    def speech(self) -> Narration:
        """Adapter from a world's observations to this network's inputs."""
        return Narration(self.narrator, self.writer, self.language.tokens, self.settings)

    def forward(self, obs: dict[str, Tensor], state: State, is_first: Tensor) -> Features:
        """Scores of actions and states for the critic at every step.

        Inputs: rows of `prompt` [B, T, N] and `phrases` [B, T, N, A] with their texts, as `speech` makes them; `legal`
        [B, T, N, A] bool; perhaps `decides` and `alive` [B, T, N] bool, and `messages`, which are passed on. Raises
        MissingTextsError where the observations have no prompts.
        """
        read = _on_host(obs)
        deciding = _deciding(read)
        # Worth computing: agents that decide, and those whose value a loss reads.
        counted = deciding | read[VALUED] if VALUED in read else deciding
        decisions, rows = self._distinct_decisions(read, counted)
        scores, states = self._score_decisions(decisions)
        place, each = to_device({"place": counted, "each": rows}, scores.device).values()
        lead = counted.shape
        all_scores = scores.new_zeros(*lead, self.actions).masked_scatter(place[..., None], scores[each])
        all_states = states.new_zeros(*lead, self.features).masked_scatter(place[..., None], states[each])
        extras = {ACTION_SCORES: all_scores} | {key: obs[key] for key in (MESSAGES,) if key in obs}
        extras |= _left_out(read, deciding)
        return Features(all_states, {}, None, extras, obs["legal"].bool())

    def _distinct_decisions(self, obs: dict[str, Array], counted: Array) -> tuple[list[Decision], Array]:
        """Distinct decisions of the K agents that count, and which of them each is in, [K] int64."""
        prompts, prompt = _shown(obs, PROMPT)
        phrases, phrase = _shown(obs, PHRASES)
        legal = np.where(obs["legal"], phrase, _ILLEGAL)
        keys = np.concatenate([prompt[..., None], legal], axis=-1)[counted]
        distinct, which = np.unique(keys, axis=0, return_inverse=True)
        decisions = [self._decision(prompts[key[0]], phrases, key[1:]) for key in distinct]
        number = {one: index for index, one in enumerate(dict.fromkeys(decisions))}  # joined texts can be equal
        return list(number), np.array([number[decision] for decision in decisions], np.int64)[which.ravel()]

    def _decision(self, prompt: Ids, phrases: list[Ids], rows: Array) -> Decision:
        actions = tuple(np.flatnonzero(rows != _ILLEGAL).tolist())
        candidates = tuple(phrases[rows[action]] for action in actions)
        tokens, by = self.language.tokens, self.settings.normalisation
        return Decision(prompt, candidates, actions, tuple(tokens.length(phrase, by) for phrase in candidates))

    def _score_decisions(self, decisions: list[Decision]) -> tuple[Tensor, Tensor]:
        """Scores [U, A], 0 where illegal, and states [U, F] for the critic."""
        if not decisions:
            device = self.language.base.device
            return torch.zeros(0, self.actions, device=device), torch.zeros(0, self.features, device=device)
        if torch.is_grad_enabled():
            return self._compute(decisions)

        def compute(some: list[Decision]) -> list[tuple[Tensor, Tensor]]:
            return list(zip(*self._compute(some), strict=True))

        found = self.score_cache.get(decisions, self.language.weights("action"), compute)
        scores, states = zip(*found, strict=True)
        return torch.stack(scores), torch.stack(states)

    def _compute(self, decisions: list[Decision]) -> tuple[Tensor, Tensor]:
        scored = self.language.score("action", [m.prompt for m in decisions], [m.candidates for m in decisions])
        most = scored.log_probs.shape[1]
        lengths = np.array([m.lengths + (1,) * (most - len(m.lengths)) for m in decisions], np.int64)
        # Padding goes to a column of its own, which is cut off.
        columns = np.array([m.actions + (self.actions,) * (most - len(m.actions)) for m in decisions], np.int64)
        laid = to_device({"lengths": lengths, "columns": columns}, scored.log_probs.device)
        rows = scored.log_probs.new_zeros(len(decisions), self.actions + 1)
        scores = rows.scatter(-1, laid["columns"], normalise(scored.log_probs, laid["lengths"]))[:, :-1]
        is_frozen = self.settings.critic_base == "frozen"
        return scores, self._frozen_states(decisions) if is_frozen else scored.states.detach()

    def _frozen_states(self, decisions: list[Decision]) -> Tensor:
        """States of the bare model at the prompts' last tokens, [U, F]."""

        def compute(prompts: list[Ids]) -> list[Tensor]:
            return list(self.language.score(None, prompts, [()] * len(prompts)).states)

        return torch.stack(self._states.get([one.prompt for one in decisions], self.language.weights(None), compute))


def _on_host(obs: dict[str, Tensor]) -> dict[str, Array]:
    """Observations that this file reads and the model does not, name -> [...] on the CPU, in one copy."""
    keys = (PROMPT, PHRASES, "legal", "decides", "alive", VALUED, f"{TEXTS}{PROMPT}", f"{TEXTS}{PHRASES}")
    found = to_host({key: obs[key] for key in keys if key in obs})
    masks = {key: found[key].bool() for key in ("legal", "decides", "alive", VALUED) if key in found}
    return {key: value.numpy() for key, value in (found | masks).items()}


def _shown(obs: dict[str, Array], key: str) -> tuple[list[Ids], Array]:
    """The texts that are shown under a key, and which of them each of its rows points at."""
    if key not in obs or f"{TEXTS}{key}" not in obs:
        raise MissingTextsError(f"observations lack {key!r} with its texts: take what `narrated` makes of them")
    used, rows = np.unique(obs[key], return_inverse=True)
    return [to_message(row) for row in obs[f"{TEXTS}{key}"][used]], rows.reshape(obs[key].shape)


def _deciding(obs: dict[str, Array]) -> Array:
    """[B, T, N] bool, agents that decide; at the last of several steps all, because V-trace bootstraps from there."""
    mask = deciding_agents(obs)
    found = np.ones(obs["legal"].shape[:3], bool) if mask is None else mask.copy()
    if found.shape[1] > 1:
        found[:, -1] = True
    return found


def _left_out(obs: dict[str, Array], deciding: Array) -> dict[str, Tensor]:
    """Extra `unvalued`: agents skipped while acting because they carry on; empty if there are none."""
    left_out = ~deciding & obs["alive"] if "alive" in obs else ~deciding
    return {UNVALUED: torch.from_numpy(left_out)} if left_out.any() else {}


class CandidateHead(nn.Module):
    """Each agent draws for itself by the softmax over its legal actions' scores; there is nothing to learn here."""

    def __init__(self, actions: int) -> None:
        super().__init__()
        self.components, self.num_actions = 1, actions

    def forward(self, features: Features) -> MixtureOfMarginals:
        """Scores [B, T, N, A] -> joint policy over [B, T] with M = 1."""
        logits = legal_logits(features.extras[ACTION_SCORES], features.legal)
        return MixtureOfMarginals.of_one(logits)


class PromptValueHead(nn.Module):
    """A ReLU network without biases on the state of a prompt's last token; a state of zeros is worth 0."""

    def __init__(self, features: int, hidden: Sequence[int]) -> None:
        """Widths: F, those of the hidden layers, 1."""
        super().__init__()
        widths = (features, *hidden)
        self.layers = nn.Sequential(*dense(widths, nn.ReLU, bias=False), nn.Linear(widths[-1], 1, bias=False))

    def forward(self, features: Features) -> Tensor:
        """[B, T, N, F] -> [B, T, N]."""
        values: Tensor = self.layers(features.features)
        return values.squeeze(-1)
