"""Builds the RLlib configuration of a training plan, and the connector of its learners.

The connector takes fragments and returns one flat batch of tensors.
"""

import warnings
from typing import Any

from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.algorithms.impala import IMPALAConfig
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.connectors.connector_v2 import ConnectorV2
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.rl_module.rl_module import RLModuleSpec

from rl_models.algorithms.objective import Objective
from rl_models.batch import Batch, Fragment, select_worlds, to_batch
from rl_models.rllib.env_runner import PLACEHOLDER_SPACE, FailedFragment, FragmentEnvRunner
from rl_models.rllib.learner import TeamImpalaLearner, TeamPpoLearner
from rl_models.rllib.module import TeamModule
from rl_models.rllib.workers import TrainingPlan, Workers
from rl_models.team_world import MakeWorld

_MAX_REQUESTS = 1_000_000
"""Largest number of requests that wait at a learner process. At its limit, 3 by default, a learner silently loses its
shard of an update while others get theirs: all later updates of IMPALA would then sum gradients of different fragments.
A training step queues a few updates and waits for the learners, so no limit is needed."""


def rllib_config(plan: TrainingPlan) -> AlgorithmConfig:
    """Configure stock PPO or IMPALA, whichever fits the objective, with our runner, module and learner.

    Raises ValueError where a learner would have no world, or its replay is too small.
    """
    objective, workers = plan.objective, plan.workers
    workers.check_learners(objective)
    config: AlgorithmConfig = PPOConfig() if objective.takes_turns else IMPALAConfig()
    _set_workers(config, plan.make_world, workers)
    _set_batches(config, objective, workers)
    config.learners(
        learner_class=TeamPpoLearner if objective.takes_turns else TeamImpalaLearner,
        learner_config_dict={"objective": objective, "optimiser": plan.optimiser},
    )
    config.rl_module(
        rl_module_spec=RLModuleSpec(
            module_class=TeamModule,
            observation_space=PLACEHOLDER_SPACE,
            action_space=PLACEHOLDER_SPACE,
            model_config={"build_policy": plan.build_policy},
        )
    )
    config.debugging(seed=plan.seed, log_level="ERROR")
    return config


def _set_workers(config: AlgorithmConfig, make_world: MakeWorld, workers: Workers) -> None:
    """Set numbers, devices and fault tolerance of runners and learners."""
    config.environment(
        env="worlds",
        observation_space=PLACEHOLDER_SPACE,
        action_space=PLACEHOLDER_SPACE,
        env_config={"make_world": make_world, "world_groups": workers.world_groups},
        disable_env_checking=True,
    )
    config.env_runners(
        env_runner_cls=FragmentEnvRunner,
        num_env_runners=workers.runners,
        num_gpus_per_env_runner=workers.gpus_per_runner,
        num_envs_per_env_runner=workers.worlds_per_runner,
        rollout_fragment_length=workers.fragment_length,
        sample_timeout_s=600.0,
    )
    config.learners(
        num_learners=workers.learners,
        # The trial's own process chooses for itself (`private_ray.PrivateDevice`).
        num_gpus_per_learner=workers.gpus_per_learner if workers.learners else 0,
        num_aggregator_actors_per_learner=workers.aggregators,
        max_requests_in_flight_per_learner=_MAX_REQUESTS,
        add_default_connectors_to_learner_pipeline=False,
        learner_connector=fragments_to_batch,
    )
    # IMPALA would spin for 10 s an iteration by default.
    config.reporting(min_time_s_per_iteration=0)
    config.fault_tolerance(restart_failed_env_runners=True, delay_between_env_runner_restarts_s=1.0)


def _set_batches(config: AlgorithmConfig, objective: Objective, workers: Workers) -> None:
    """Set the env steps of an update; the objective makes the minibatches."""
    share = workers.worlds * workers.fragment_length // max(workers.learners, 1)
    if objective.takes_turns:
        # RLlib only divides by the size, when it shards fragments over learners; the objective cuts the minibatches.
        config.training(num_epochs=1, minibatch_size=workers.fragment_length)
    else:  # shares out whole fragments of a runner
        share = max(share, workers.worlds_per_runner * workers.fragment_length)
    config.training(train_batch_size_per_learner=share)


# Arrays out of Ray's object store are read-only, and nothing here writes to them.
warnings.filterwarnings("ignore", message="The given NumPy array is not writable")


class FragmentsToBatch(ConnectorV2):
    """Concatenates fragments. The objective computes returns and minibatches."""

    _nothing: Batch | None = None

    def __call__(self, *, episodes: list[Fragment | FailedFragment], **kwargs: Any) -> dict[str, Any]:
        """Batch of the default module, on the CPU; without fragments an empty batch with the shapes of earlier ones.

        (An env runner that dies loses fragments that IMPALA has promised to a learner, while the other learners wait
        for its part of the update.) Raises RuntimeError where there were no fragments yet, and any exception that an
        environment raised.
        """
        fragments = []
        for one in episodes:
            if isinstance(one, FailedFragment):
                raise one.error
            fragments.append(one)
        if fragments:
            batch = to_batch(Fragment.join(fragments))
            self._nothing = select_worlds(batch, slice(0, 0))
        elif self._nothing is None:
            raise RuntimeError("a learner got no fragment in its first update: its runner has died; start again")
        else:
            batch = self._nothing
        return {DEFAULT_MODULE_ID: batch}


def fragments_to_batch(observation_space: Any, action_space: Any) -> FragmentsToBatch:
    """Build the connector that `AlgorithmConfig.learners(learner_connector=...)` asks for."""
    return FragmentsToBatch()
