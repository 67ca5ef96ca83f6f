"""A global state for small worlds: all agents' vectors, one after the other."""

from torch import Tensor, nn


class VectorState(nn.Module):
    """Global state that concatenates the observations of all agents.

    Attributes:
        features: S, N times the width of one agent's observation.
    """

    def __init__(self, key: str, features: int, num_agents: int) -> None:
        super().__init__()
        self.key, self.features = key, num_agents * features

    def forward(self, obs: dict[str, Tensor]) -> Tensor:
        """The observation under `key` [B, T, N, ...], as [B, T, S] float32."""
        return obs[self.key].float().flatten(2)
