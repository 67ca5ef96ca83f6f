"""Supervised stages before PPO: messages for a language team, decisions for a team with vector observations.

Each replaces RLlib's algorithm in its stage.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from rl_models.llm.distillation import MessageDistillation
from rl_models.llm.network import LanguageNetwork
from rl_models.policy import TeamPolicy
from rl_models.runtime.device import get_device
from rl_models.schedule import Progress
from rl_models.training.algorithm import Tensors
from tune_experiments.experiment.plan import TrialPlan
from tune_experiments.experiment.supervised_stage import SupervisedStage
from tune_experiments.verco.config import VercoConfig, make_world
from tune_experiments.verco.prompted import EndpointTeacher
from tune_experiments.verco.supervised_data import expert_decisions, message_pairs, message_pairs_of_policy


class MessageWarmStart(SupervisedStage):
    """Rounds of supervised training of a message adapter (Verco, algorithm 1).

    A round is a function of seed and number, so a resumed stage repeats the earlier rounds and gets
    the same weights.
    """

    def __init__(self, config: VercoConfig, trial_folder: Path | None, plan: TrialPlan) -> None:
        """Build the team.

        Args:
            config: configuration of the warm start and distillation.
            trial_folder: folder for the record of a chat model.
            plan: plan of this stage.
        """
        super().__init__(plan)
        self._config = config
        network = self._policy.network
        assert isinstance(network, LanguageNetwork)
        self._distillation = MessageDistillation(network.language, network.writer, config.distillation)
        self._teacher = EndpointTeacher(config, trial_folder) if config.teacher == "endpoint" else None

    def train(self) -> dict[str, float]:
        """Train for one round; returns metrics."""
        number = len(self._distillation.reports)
        teacher = None if self._teacher is None else self._teacher.messages
        if self._config.warm_start_by == "policy":
            pairs = message_pairs_of_policy(self._config, self.policy(), self._plan.seed, number, teacher)
        else:
            pairs = message_pairs(self._config, self._plan.seed, number, teacher)
        report = self._distillation.learn(pairs)
        metrics = {f"distillation/{name}": float(value) for name, value in vars(report).items()}
        return metrics if self._teacher is None else metrics | self._teacher.metrics()

    def progress(self) -> Progress:
        """Progress: joint env steps of the rollouts."""
        rounds, settings = len(self._distillation.reports), self._config.warm_start
        return Progress(env_steps=rounds * settings.worlds * settings.env_steps, updates=rounds)

    def restore(self, tensors: Tensors, progress: Progress) -> None:
        """Repeat the rounds until `progress`; they give the weights in `tensors`, and the optimiser's state."""
        while self.progress().env_steps < progress.env_steps:
            self.train()


class Imitation(SupervisedStage):
    """Behaviour cloning of scripted decisions by a team with vector observations, in one call of `train`.

    The decisions are those of the small model's corpus, in the same generated kitchens, with the same share of random
    ones. Macro actions that the run's kitchen lacks are left out. Its env steps are those of the corpus, which count in
    the method's budget.
    """

    def __init__(self, config: VercoConfig, plan: TrialPlan) -> None:
        """Build the team."""
        super().__init__(plan)
        self._config = config

    def train(self) -> dict[str, float]:
        """Train all epochs; the mean cross-entropy of the last one."""
        settings = self._config.imitation
        vectors, legal, chosen = (one.to(get_device(self._policy)) for one in decisions_in_kitchen(self._config))
        generator = torch.Generator().manual_seed(self._plan.seed)
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


def cross_entropy(policy: TeamPolicy, vectors: Tensor, legal: Tensor, chosen: Tensor) -> Tensor:
    """Mean of -log P(chosen) over K decisions: vectors [K, 30], legal [K, A] bool, chosen [K]; each a team of one."""
    obs = {"vector": vectors[:, None, None], "legal": legal[:, None, None]}
    features = policy.network(obs, {}, torch.ones(len(chosen), 1, dtype=torch.bool, device=chosen.device))
    marginals = policy.policy_head(features).marginals()[:, 0, 0]
    return -marginals.gather(-1, chosen[:, None]).clamp(min=1e-9).log().mean()


def decisions_in_kitchen(config: VercoConfig) -> tuple[Tensor, Tensor, Tensor]:
    """Vectors [K, 30], legal actions [K, A] and chosen actions [K] in the numbers of the run's kitchen."""
    found, macros = expert_decisions(config.corpus), make_world(config).macros
    number = np.full(found.legal.shape[1], -1)
    number[macros] = np.arange(len(macros))
    is_known = number[found.chosen] >= 0
    vectors, legal = found.vectors[is_known], found.legal[is_known][:, macros]
    return torch.from_numpy(vectors), torch.from_numpy(legal), torch.from_numpy(number[found.chosen[is_known]])
