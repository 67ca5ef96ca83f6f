"""Supervised learning of scripted decisions by a team that sees numbers, before its PPO (`symbolic_imitation_ppo`).

The decisions are those of the small model's corpus, in the same generated kitchens, with as many random ones among
them. Those whose macro action the run's kitchen lacks are left out. It replaces RLlib's algorithm in this stage,
and its env steps are those of the corpus, which count in the row's budget. This file must not know PPO.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from rl_models.device import device_of
from rl_models.policy import TeamPolicy
from rl_models.schedule import Progress
from rl_models.training.algorithm import Tensors
from tune_experiments.experiment.plan import TrialPlan
from tune_experiments.verco.config import VercoConfig, make_world
from tune_experiments.verco.supervised_data import expert_decisions


class Imitation:
    """Behaviour cloning with the `Algorithm` interface; one call of `train` does all of it."""

    def __init__(self, config: VercoConfig, plan: TrialPlan) -> None:
        """Build the team; nothing is learned yet."""
        self._config, self._seed, self._policy = config, plan.seed, plan.new_policy()
        self._progress = Progress()

    def train(self) -> dict[str, float]:
        """All epochs; the mean cross-entropy of the last one."""
        settings = self._config.imitation
        vectors, legal, chosen = (one.to(device_of(self._policy)) for one in _decisions(self._config))
        generator = torch.Generator().manual_seed(self._seed)
        optimiser = torch.optim.Adam(self._policy.parameters(), lr=settings.learning_rate)
        losses: list[Tensor] = []
        for _ in range(settings.num_epochs):
            losses = []
            shuffled = torch.randperm(len(chosen), generator=generator).to(chosen.device)
            for rows in shuffled.split(settings.batch_size):
                loss = cross_entropy(self._policy, vectors[rows], legal[rows], chosen[rows])
                optimiser.zero_grad(set_to_none=True)
                loss.backward()
                optimiser.step()
                losses.append(loss.detach())
        self._progress = Progress(env_steps=self._config.corpus_env_steps, updates=1)
        return {"imitation/decisions": float(len(chosen)), "imitation/loss": float(torch.stack(losses).double().mean())}

    def progress(self) -> Progress:
        """Nothing, or everything."""
        return self._progress

    def policy(self, weights: dict[str, Any] | None = None) -> TeamPolicy:
        """The team with its present weights, which are those of the checkpoint that was taken last, if any was."""
        return self._policy.eval()

    def checkpoint(self) -> tuple[Tensors, Progress]:
        """Weights of network and heads."""
        weights = {name: value.detach().cpu().clone() for name, value in self._policy.state_dict().items()}
        return {"weights": weights}, self._progress

    def restore(self, tensors: Tensors, progress: Progress) -> None:
        """Take the weights."""
        self._policy.load_state_dict({name: torch.as_tensor(value) for name, value in tensors["weights"].items()})
        self._progress = progress

    def close(self) -> None:
        """Nothing runs anywhere else."""


def cross_entropy(policy: TeamPolicy, vectors: Tensor, legal: Tensor, chosen: Tensor) -> Tensor:
    """Mean of -log P(chosen) over K decisions: vectors [K, 30], legal [K, A] bool, chosen [K]; each a team of one."""
    obs = {"vector": vectors[:, None, None], "legal": legal[:, None, None]}
    features = policy.network(obs, {}, torch.ones(len(chosen), 1, dtype=torch.bool, device=chosen.device))
    marginals = policy.policy_head(features).marginals()[:, 0, 0]
    return -marginals.gather(-1, chosen[:, None]).clamp(min=1e-9).log().mean()


def _decisions(config: VercoConfig) -> tuple[Tensor, Tensor, Tensor]:
    """Vectors [K, 30], legal actions [K, A] and chosen actions [K] in the numbers of the run's kitchen."""
    found, macros = expert_decisions(config.corpus), make_world(config).macros
    number = np.full(found.legal.shape[1], -1)
    number[macros] = np.arange(len(macros))
    is_known = number[found.chosen] >= 0
    vectors, legal = found.vectors[is_known], found.legal[is_known][:, macros]
    return torch.from_numpy(vectors), torch.from_numpy(legal), torch.from_numpy(number[found.chosen[is_known]])
