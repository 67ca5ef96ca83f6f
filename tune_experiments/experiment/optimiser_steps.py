"""Number of optimiser steps of a run, compared with its paper."""

from rl_models.algorithms.learner_config import AlgorithmConfig
from rl_models.rllib.workers import Workers


def optimiser_steps(learner: AlgorithmConfig, workers: Workers, env_steps: int) -> int:
    """Number of optimiser steps in a number of env steps, unless `target_kl` ends updates early."""
    return -(-env_steps // _batch(learner, workers)) * _steps_per_update(learner, workers)


def describe_optimiser_steps(
    learner: AlgorithmConfig, workers: Workers, env_steps: int, reference: int, who: str = "the paper", how: str = ""
) -> str:
    """Sentence that compares a run's optimiser steps with the `reference` of its paper; `how` is its end."""
    steps, batch = optimiser_steps(learner, workers, env_steps), _batch(learner, workers)
    each = f"{_steps_per_update(learner, workers):,} for each batch of {batch:,} env steps"
    return f"the run makes {steps:,} optimiser steps, {each}; {who} makes {reference:,} steps{how}"


def _steps_per_update(learner: AlgorithmConfig, workers: Workers) -> int:
    length = 1 if learner.decision_minibatches else workers.fragment_length
    return learner.num_epochs * min(learner.num_minibatches, _batch(learner, workers) // length)


def _batch(learner: AlgorithmConfig, workers: Workers) -> int:
    from rl_models.algorithms.configured import algorithm_class

    return workers.env_steps_learned_at_once(algorithm_class(learner.algorithm).takes_turns)
