"""Behaviour cloning and distillation as stages of a trial, in place of RLlib's algorithm (RED, section 4).

The first stage clones scripts. A distillation repeats some of these decisions together with as many from games that the
team has won without commands, so that it keeps both abilities. A call of `train` is one epoch (`drawn_rows`); its env
steps are its decisions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rl_envs.minirts.actions import CONTINUE
from rl_models.algorithms.optimiser import clip_gradients, load_optimiser, optimiser_tensors
from rl_models.policy import TeamPolicy
from rl_models.runtime.device import get_device
from rl_models.schedule import Progress
from rl_models.training.algorithm import Tensors
from tune_experiments.experiment.plan import TrialPlan
from tune_experiments.experiment.supervised_stage import SupervisedStage
from tune_experiments.red.config import RedConfig
from tune_experiments.red.decisions import Decisions, decisions_of_scripts, own_won_decisions

_START = "start"
"""Group of a checkpoint: the weights with which the stage began, so that it resumes with the same won games."""


class Cloning(SupervisedStage):
    """Supervised learning of decisions with the `Algorithm` interface."""

    def __init__(self, config: RedConfig, is_distillation: bool, plan: TrialPlan) -> None:
        """Build the team.

        Args:
            config: configuration of the run.
            is_distillation: whether half of the decisions are of own won games.
            plan: plan of this stage.
        """
        super().__init__(plan)
        self._config, self._is_distillation = config, is_distillation
        self._optimiser = torch.optim.Adam(self._policy.parameters(), lr=config.cloning.learning_rate)
        self._start = self.weights()
        self._decisions: Decisions | None = None
        self._won = 0

    def train(self) -> dict[str, float]:
        """One epoch; the mean of -log P(decision) over the drawn decisions, in nats."""
        decisions = self._gathered()
        number = self._progress.updates
        generator = torch.Generator().manual_seed(self._plan.seed + number)
        losses, known = [], 0
        drawn = drawn_rows(decisions, self._config.cloning.frequency_power, generator)
        for rows in drawn.split(self._config.cloning.batch_size):
            log_prob = compute_log_prob(self._policy, decisions.rows(rows.numpy()))
            loss = -log_prob.mean()
            self._optimiser.zero_grad(set_to_none=True)
            loss.backward()
            gradients = [weight.grad for weight in self._policy.parameters() if weight.grad is not None]
            clip_gradients(self._plan.optimiser, gradients)
            self._optimiser.step()
            losses.append(loss.detach() * len(rows))
            known += len(rows)
        self._progress = Progress(env_steps=self._progress.env_steps + known, updates=number + 1)
        return {
            "cloning/loss": float(torch.stack(losses).double().sum()) / known,
            "cloning/decisions": float(known),
            "cloning/own_won_decisions": float(self._won),
        }

    def policy(self, weights: dict[str, Any] | None = None) -> TeamPolicy:
        """See `Algorithm.policy`; it stays in training mode: on a GPU its LSTM has no gradients in evaluation mode."""
        return self._policy

    def checkpoint(self) -> tuple[Tensors, Progress]:
        """Weights now and at the stage's start, and the optimiser's state."""
        optimiser = optimiser_tensors(self._optimiser)
        return {"weights": self.weights(), "optimizer": optimiser, _START: self._start}, self._progress

    def restore(self, tensors: Tensors, progress: Progress) -> None:
        """Resume a stage, or begin one with the weights of the stage before."""
        self._policy.load_state_dict(_tensors(tensors["weights"]))
        self._start = _tensors(tensors[_START]) if progress.env_steps else self.weights()
        if progress.env_steps:
            load_optimiser(self._optimiser, _tensors(tensors["optimizer"]))
        self._progress = progress

    def _gathered(self) -> Decisions:
        """The scripts' decisions; in a distillation also as many of won games, repeated if there are fewer."""
        if self._decisions is None:
            settings = self._config.cloning
            frames = settings.distillation_frames if self._is_distillation else settings.frames
            decisions = decisions_of_scripts(self._config, self._plan.seed, frames)
            if self._is_distillation:
                team = self._plan.new_policy()
                team.load_state_dict(self._start)
                own = own_won_decisions(self._config, team.eval(), self._plan.seed)
                if own is not None:
                    self._won = len(own)
                    drawn = np.random.default_rng(self._plan.seed).integers(len(own), size=len(decisions))
                    decisions = Decisions.join([decisions, own.rows(drawn)])
            self._decisions = decisions
        return self._decisions


def cloning_budget(config: RedConfig, is_distillation: bool) -> int:
    """Env steps of a stage of cloning; a distillation without won games repeats the scripts' instead."""
    settings = config.cloning
    if is_distillation:
        return settings.distillation_frames * 2 * settings.distillation_epochs
    return settings.frames * settings.num_epochs


def _tensors(values: Mapping[str, Any]) -> dict[str, Tensor]:
    return {name: torch.as_tensor(value) for name, value in values.items()}


def drawn_rows(decisions: Decisions, frequency_power: float, generator: torch.Generator) -> Tensor:
    """The rows of one epoch, [D]: each once, or sampled with higher shares of rare commands.

    A script builds in one decision of 200, and a team that has not learned to build trains no army. With power 0.5 this
    is square-root sampling (Mahajan et al., 2018): a kind of frequency f is drawn in proportion to f ** 0.5, with
    replacement. A joint decision has the kind of its rarest command.

    Args:
        decisions: D of them.
        frequency_power: 1 for each row once.
        generator: random number generator.
    """
    if frequency_power == 1:
        return torch.randperm(len(decisions), generator=generator)
    kinds = np.where(decisions.actions[CONTINUE], -1, decisions.actions["command"])
    _, kind, counts = np.unique(kinds, return_inverse=True, return_counts=True)
    weights = (counts[kind] ** (frequency_power - 1.0)).reshape(kinds.shape).max(1)
    return torch.multinomial(torch.from_numpy(weights), len(decisions), replacement=True, generator=generator)


def compute_log_prob(policy: TeamPolicy, decisions: Decisions) -> Tensor:
    """Joint log-probabilities of K decisions, [K] float32."""
    device = get_device(policy)
    obs = {name: torch.from_numpy(value).to(device)[:, None] for name, value in decisions.obs.items()}
    actions = {name: torch.from_numpy(value).to(device)[:, None] for name, value in decisions.actions.items()}
    is_first = torch.ones(len(decisions), 1, dtype=torch.bool, device=device)
    log_prob: Tensor = policy(obs, {}, is_first).policy.log_prob(actions)
    return log_prob.squeeze(1)
