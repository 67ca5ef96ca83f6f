"""One RLModule that acts for a whole team, so that messages carry gradients and joint policies are exact.

Our learners train `policy` itself. For users of plain RLlib it also speaks the stock interface: batches with
`obs` (team observations, dict of [B, (T,) N, ...]) in, distribution inputs, values and state out.
"""

from typing import Any

import torch
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
from ray.rllib.core.rl_module.torch.torch_rl_module import TorchRLModule
from torch import Tensor

from rl_models.policy import TeamOutput, TeamPolicy
from rl_models.rllib.distribution import TeamDistribution, team_distribution
from rl_models.rllib.private_ray import PrivateModule
from rl_models.runtime.added_observations import narrated


class TeamModule(PrivateModule, TorchRLModule, ValueFunctionAPI):
    """A `TeamPolicy` as an RLModule; `model_config["build_policy"]()` builds it."""

    policy: TeamPolicy

    def setup(self) -> None:
        """Build the team."""
        self.policy = self.model_config["build_policy"]()

    def get_initial_state(self) -> Any:
        """State of one team before an episode, name -> [...]; empty without memory."""
        return {name: value[0].cpu().numpy() for name, value in self.policy.initial_state(1).items()}

    def forward_columns(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Stock columns of a stock batch."""
        return self._stock(batch, self._stock_output(batch))

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> Tensor:
        """Team value (sum over agents) of a stock batch, [B] or [B, T]."""
        values = self._stock_output(batch).values.sum(-1)
        return values if Columns.STATE_IN in batch else values[:, 0]

    def get_exploration_action_dist_cls(self) -> type[TeamDistribution]:
        """Distribution class over the flat logits that the stock interface passes on."""
        return team_distribution(self.policy)

    get_inference_action_dist_cls = get_exploration_action_dist_cls
    get_train_action_dist_cls = get_exploration_action_dist_cls

    def _stock_output(self, batch: dict[str, Any]) -> TeamOutput:
        has_time = Columns.STATE_IN in batch
        obs = {key: value if has_time else value[:, None] for key, value in batch[Columns.OBS].items()}
        first = next(iter(obs.values()))
        state = batch[Columns.STATE_IN] if has_time else self.policy.initial_state(len(first))
        # Stock connectors cut sequences at episode ends, so no episode begins inside one.
        is_first = torch.zeros(first.shape[:2], dtype=torch.bool, device=first.device)
        return self.policy(narrated(self.policy.network, obs), state, is_first)

    def _stock(self, batch: dict[str, Any], output: TeamOutput) -> dict[str, Any]:
        has_time = Columns.STATE_IN in batch
        inputs = team_distribution(self.policy).to_inputs(output.policy)
        columns = {
            Columns.ACTION_DIST_INPUTS: inputs if has_time else inputs[:, 0],
            Columns.VF_PREDS: output.values.sum(-1) if has_time else output.values.sum(-1)[:, 0],
        }
        return columns | ({Columns.STATE_OUT: output.state} if has_time else {})
