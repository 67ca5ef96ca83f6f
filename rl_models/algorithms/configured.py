"""The objective of PPO or IMPALA that a configuration describes."""

from __future__ import annotations

from typing import Any

from rl_models.algorithms.impala import Impala
from rl_models.algorithms.learner_config import AlgorithmConfig, EntropyKind, ImpalaConfig, PpoConfig
from rl_models.algorithms.objective import Objective
from rl_models.algorithms.ppo import Ppo
from rl_models.configuration import constants_of
from rl_models.losses.extra_loss import ExtraLoss
from rl_models.schedule import Schedule


def make_objective(
    config: AlgorithmConfig,
    entropy_coef: Schedule,
    extra_losses: tuple[ExtraLoss, ...] = (),
    entropy_kind: EntropyKind = "component",
) -> Objective:
    """Build the objective of the configured algorithm.

    Args:
        config: the constants.
        entropy_coef: weight of the entropy bonus.
        extra_losses: declared additions.
        entropy_kind: of what the bonus is: `component`, component and action together; `marginal`, the agent's action.
    """
    beside: dict[str, Any] = {
        "entropy_coef": entropy_coef,
        "entropy_kind": entropy_kind,
        "extra_losses": extra_losses,
    }
    if config.algorithm == "impala":
        return Impala(**constants_of(config, ImpalaConfig), **beside)
    return Ppo(**constants_of(config, PpoConfig), **beside)
