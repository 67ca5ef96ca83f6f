"""One network per agent, with nothing shared, as in EnDi's released code.

The members have no memory and exchange no messages. Texts that the networks store are looked up once for all members,
so a row number means the same text for each of them; each member encodes the texts with its own weights.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn

from rl_models.policy import FeatureNetwork, Features, State, Stateless
from rl_models.runtime.added_observations import noise_shape
from rl_models.runtime.texts import ENCODED, TEXTS, Encoded, encode_texts
from rl_models.team_world import Texts

_SHARED = TEXTS, ENCODED


class PrivateNetworks(Stateless):
    """N networks side by side, each for the observations of one agent.

    Attributes:
        features: F, width of each member's features.
        own_texts: observation key -> table of the texts that the members store.
    """

    def __init__(self, members: Sequence[FeatureNetwork]) -> None:
        super().__init__()
        self.members = nn.ModuleList(cast(Sequence[nn.Module], members))
        self.num_agents, self.features = len(members), members[0].features
        self.own_texts: Mapping[str, Texts] = getattr(members[0], "own_texts", {})
        for key, texts in self.own_texts.items():  # with the weights, so that they move to a device once
            self.register_buffer(f"_table_of_{key}", torch.as_tensor(texts.table), persistent=False)

    @property
    def shows_attention(self) -> bool:
        """Whether the extras hold attention maps."""
        return any(member.shows_attention for member in self.members)

    @shows_attention.setter
    def shows_attention(self, value: bool) -> None:
        for member in cast(Any, self.members):
            member.shows_attention = value

    def noise_shape(self, obs: Mapping[str, Any]) -> tuple[int, ...] | None:
        """Shape of the noise that one member needs at one step; `obs` is name -> [B, N, ...]."""
        return noise_shape(cast(FeatureNetwork, self.members[0]), obs)

    def encode_text(self, key: str, tokens: Tensor) -> Encoded:
        """Encodings of D texts by every member: tokens [D, L] int -> name -> [D, N, ...]."""
        encodings = [member.encode_text(key, tokens) for member in cast(Any, self.members)]
        return {name: torch.stack([one[name] for one in encodings], 1) for name in encodings[0]}

    def forward(self, obs: dict[str, Tensor], state: State, is_first: Tensor) -> Features:
        """Features [B, T, N, F] float32 of every step, an agent's by its own network from `obs` [B, T, 1, ...]."""
        obs = self._with_encodings(obs)
        outputs = [member(self._select_agent(obs, agent), {}, is_first) for agent, member in enumerate(self.members)]
        extras = {name: torch.cat([one.extras[name] for one in outputs], 2) for name in outputs[0].extras}
        legal = None if outputs[0].legal is None else torch.cat([one.legal for one in outputs], 2)
        return Features(torch.cat([one.features for one in outputs], 2), {}, None, extras, legal)

    def _with_encodings(self, obs: dict[str, Tensor]) -> dict[str, Tensor]:
        for key in self.own_texts:
            table = {f"{TEXTS}{key}": self.get_buffer(f"_table_of_{key}")}
            shown = encode_texts(obs | table, key, self.encode_text)
            named = {f"{ENCODED}{key}/{name}": value for name, value in shown.encoded.items()}
            obs = obs | named | {key: shown.rows.view(obs[key].shape)}
        return obs

    def _select_agent(self, obs: dict[str, Tensor], agent: int) -> dict[str, Tensor]:
        own = {key: value[:, :, agent : agent + 1] for key, value in obs.items() if not key.startswith(_SHARED)}
        encoded = {key: value[:, agent] for key, value in obs.items() if key.startswith(ENCODED)}
        return own | encoded | {key: value for key, value in obs.items() if key.startswith(TEXTS)}


def shared_or_private(build: Callable[[], FeatureNetwork], members: int) -> FeatureNetwork:
    """One network that all agents share if `members` is 1, else `members` networks, one per agent."""
    return build() if members == 1 else PrivateNetworks([build() for _ in range(members)])
