"""A network for every agent: nothing is shared but what each of them sees, as in EnDi's release.

The members have no memory and do not talk. Texts that networks hold themselves are looked up together, so that row
numbers mean the same to everybody; each member encodes texts for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from rl_models.networks.noise import noise_shape
from rl_models.networks.texts import ENCODED, TEXTS, Encoded, shown_texts
from rl_models.policy import Features, State

_OF_ALL = TEXTS, ENCODED


class PrivateNetworks(nn.Module):
    """N networks side by side, each for the observations of one agent.

    Attributes:
        features: F of each.
        own_texts: as those of the members.
    """

    def __init__(self, members: Sequence[nn.Module]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)
        first: Any = members[0]
        self.num_agents, self.features = len(members), first.features
        self.own_texts: Mapping[str, Any] = getattr(first, "own_texts", {})

    @property
    def shows_attention(self) -> bool:
        """Add attention maps to the extras."""
        return any(member.shows_attention for member in self._networks())

    @shows_attention.setter
    def shows_attention(self, value: bool) -> None:
        for member in self._networks():
            member.shows_attention = value

    def initial_state(self, batch: int) -> State:
        """Nothing is remembered."""
        return {}

    def noise_shape(self, obs: Mapping[str, Any]) -> tuple[int, ...] | None:
        """Noise of one agent at one step, as a member needs it."""
        return noise_shape(self.members[0], obs)

    def encode_text(self, key: str, tokens: Tensor) -> Encoded:
        """Encodings of D texts [D, L] by every member, name -> [D, N, ...]."""
        encoded = [member.encode_text(key, tokens) for member in self._networks()]
        return {name: torch.stack([one[name] for one in encoded], 1) for name in encoded[0]}

    def forward(self, obs: dict[str, Tensor], state: State, is_first: Tensor) -> Features:
        """Features of every step, [B, T, N, F], from observations [B, T, N, ...]."""
        obs = self._with_encodings(obs)
        seen = [member(self._of_agent(obs, agent), {}, is_first) for agent, member in enumerate(self.members)]
        extras = {name: torch.cat([one.extras[name] for one in seen], 2) for name in seen[0].extras}
        legal = None if seen[0].legal is None else torch.cat([one.legal for one in seen], 2)
        return Features(torch.cat([one.features for one in seen], 2), {}, None, extras, legal)

    def _networks(self) -> list[Any]:
        return list(self.members)

    def _with_encodings(self, obs: dict[str, Tensor]) -> dict[str, Tensor]:
        for key, texts in self.own_texts.items():
            table = torch.as_tensor(texts.table, device=obs[key].device)
            told = shown_texts(obs | {f"{TEXTS}{key}": table}, key, self.encode_text)
            named = {f"{ENCODED}{key}/{name}": value for name, value in told.encoded.items()}
            obs = obs | named | {key: told.rows.view(obs[key].shape)}
        return obs

    def _of_agent(self, obs: dict[str, Tensor], agent: int) -> dict[str, Tensor]:
        own = {key: value[:, :, agent : agent + 1] for key, value in obs.items() if not key.startswith(_OF_ALL)}
        encoded = {key: value[:, agent] for key, value in obs.items() if key.startswith(ENCODED)}
        return own | encoded | {key: value for key, value in obs.items() if key.startswith(TEXTS)}


def of_agents(build: Callable[[], nn.Module], members: int) -> Any:
    """One network for all agents, or `members` of them, one each."""
    return build() if members == 1 else PrivateNetworks([build() for _ in range(members)])
