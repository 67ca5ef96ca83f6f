"""The learner connector: fragments in, one flat batch of tensors out."""

from __future__ import annotations

import warnings
from typing import Any

from ray.rllib.connectors.connector_v2 import ConnectorV2
from ray.rllib.core import DEFAULT_MODULE_ID

from rl_models.batch import to_batch
from rl_models.fragment import Fragment

# Arrays out of Ray's object store are read-only, and nothing here writes to them.
warnings.filterwarnings("ignore", message="The given NumPy array is not writable")


class FragmentsToBatch(ConnectorV2):
    """Joins fragments side by side. Everything else (returns, minibatches) is the objective's."""

    def __call__(self, *, episodes: list[Fragment], **kwargs: Any) -> dict[str, Any]:
        """Batch of the default module, on the CPU."""
        return {DEFAULT_MODULE_ID: to_batch(Fragment.join(episodes))}


def fragments_to_batch(observation_space: Any, action_space: Any) -> FragmentsToBatch:
    """What `AlgorithmConfig.learners(learner_connector=...)` wants."""
    return FragmentsToBatch()
