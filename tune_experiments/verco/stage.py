"""The first stage of a team that writes: rounds of supervised warm start for its message adapter (Verco, algorithm 1).

It replaces RLlib's algorithm in this stage. A round is a function of seed and number, so a stage that continues after a
kill repeats the rounds before and comes to the same weights. This file must not know PPO.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rl_models.llm.distillation import MessageDistillation
from rl_models.llm.network import LanguageNetwork
from rl_models.policy import TeamPolicy
from rl_models.schedule import Progress
from rl_models.training.algorithm import Tensors
from tune_experiments.experiment.plan import TrialPlan
from tune_experiments.verco.config import VercoConfig
from tune_experiments.verco.prompted import endpoint_teacher
from tune_experiments.verco.supervised_data import message_pairs, message_pairs_of_policy


class MessageWarmStart:
    """Supervised training with the `Algorithm` interface."""

    def __init__(self, config: VercoConfig, trial_folder: Path | None, plan: TrialPlan) -> None:
        """Build the team; nothing is learned yet.

        Args:
            config: of the warm start and distillation.
            trial_folder: where what is asked of a chat model is kept.
            plan: of this stage.
        """
        self._config, self._seed, self._policy = config, plan.seed, plan.new_policy()
        network = self._policy.network
        assert isinstance(network, LanguageNetwork)
        self._distillation = MessageDistillation(network.language, network.writer, config.distillation)
        self._teacher = endpoint_teacher(config, trial_folder) if config.teacher == "endpoint" else None

    def train(self) -> dict[str, float]:
        """One round; what it came to."""
        number = len(self._distillation.reports)
        teacher = None if self._teacher is None else self._teacher.messages
        if self._config.warm_start_by == "policy":
            pairs = message_pairs_of_policy(self._config, self.policy(), self._seed, number, teacher)
        else:
            pairs = message_pairs(self._config, self._seed, number, teacher)
        report = self._distillation.learn(pairs)
        metrics = {f"distillation/{name}": float(value) for name, value in vars(report).items()}
        return metrics if self._teacher is None else metrics | self._teacher.metrics()

    def progress(self) -> Progress:
        """How far it is: joint steps of the play that was talked about."""
        rounds, settings = len(self._distillation.reports), self._config.warm_start
        return Progress(env_steps=rounds * settings.worlds * settings.env_steps, updates=rounds)

    def policy(self, weights: dict[str, Any] | None = None) -> TeamPolicy:
        """The team with its present weights, which are those of the checkpoint that was taken last, if any was."""
        return self._policy.eval()

    def checkpoint(self) -> tuple[Tensors, Progress]:
        """Weights of adapters and heads."""
        weights = {name: value.detach().cpu().clone() for name, value in self._policy.state_dict().items()}
        return {"weights": weights}, self.progress()

    def restore(self, tensors: Tensors, progress: Progress) -> None:
        """Repeat the rounds until `progress`; they give the weights in `tensors`, and the optimiser's state."""
        while self.progress().env_steps < progress.env_steps:
            self.train()

    def close(self) -> None:
        """Nothing runs anywhere else."""
