"""What all experiments in MESSENGER have in common: worlds, how actions are chosen, and what a run shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rl_envs.messenger.world import Messenger
from tune_experiments.experiment.experiment import Experiment
from tune_experiments.messenger.config import MessengerRunConfig, make_world

__all__ = ["MessengerExperiment"]


class MessengerExperiment(Experiment):
    """One table on MESSENGER."""

    is_greedy = True

    def methods(self, config: Any) -> Sequence[str]:
        """As configured."""
        rows: Sequence[str] = config.methods
        return rows

    def test_world(self, config: MessengerRunConfig, num_worlds: int) -> Messenger:
        """New games of the last stage."""
        return make_world(config, config.last_stage, num_worlds, split="test")

    def valid_world(self, config: MessengerRunConfig, num_worlds: int) -> Messenger:
        """Games of validation of the last stage."""
        return make_world(config, config.last_stage, num_worlds, split="val")
