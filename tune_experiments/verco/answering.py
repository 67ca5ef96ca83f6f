"""Teams without weights whose actions are answers to prompts, by a chat model or by lookup in a corpus."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor

from rl_envs.core.spec import Array
from rl_models.heads.mixture_heads import LayeredValueHead
from rl_models.llm.network import ACTION_SCORES, CandidateHead
from rl_models.policy import Features, State, Stateless, TeamPolicy

_NOT_CHOSEN = -50.0
"""Score of all actions except the answer, which has 0."""


class AnsweringNetwork(Stateless, ABC):
    """Base of networks of N cooks that choose one of the legal actions for every cook that decides."""

    def __init__(self, num_agents: int) -> None:
        super().__init__()
        self.num_agents, self.features = num_agents, 1

    @abstractmethod
    def answers(
        self, situations: Sequence[Array], agents: Sequence[int], choices: Sequence[Sequence[int]]
    ) -> list[int]:
        """Choose one of the `choices` for every cook that decides.

        For each of them, `situations` has those of its team, [N, F] int, and `agents` its index in the team.
        """

    @torch.no_grad()
    def forward(self, obs: dict[str, Tensor], state: State, is_first: Tensor) -> Features:
        """Scores [B, T, N, A], 0 for the answer; only for cooks that decide.

        `obs` has `legal` [B, T, N, A] and `situation` [B, T, N, F], and `decides` [B, T, N] if cooks can wait.
        """
        legal, codes = obs["legal"].bool().cpu(), obs["situation"].cpu().numpy()
        deciding = obs["decides"].bool().cpu() if "decides" in obs else torch.ones(legal.shape[:-1], dtype=torch.bool)
        places = deciding.nonzero().tolist()
        choices = [torch.nonzero(legal[tuple(place)]).flatten().tolist() for place in places]
        scores = torch.full(legal.shape, _NOT_CHOSEN)
        chosen = self.answers(
            [codes[world, step] for world, step, _ in places], [place[-1] for place in places], choices
        )
        for place, action in zip(places, chosen, strict=True):
            scores[(*place, action)] = 0.0
        scores, legal = scores.to(is_first.device), legal.to(is_first.device)
        return Features(scores.new_zeros(*legal.shape[:-1], 1), {}, None, {ACTION_SCORES: scores}, legal)


def answering_team(network: AnsweringNetwork, num_actions: int) -> TeamPolicy:
    """Build a team of an `AnsweringNetwork`, without values."""
    return TeamPolicy(network, CandidateHead(num_actions), LayeredValueHead(1))
