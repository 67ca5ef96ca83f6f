"""The learner connector: fragments in, one flat batch of tensors out."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from ray.rllib.connectors.connector_v2 import ConnectorV2
from ray.rllib.core import DEFAULT_MODULE_ID

from rl_models.batch import Batch, select_worlds, to_batch
from rl_models.fragment import Fragment

# Arrays out of Ray's object store are read-only, and nothing here writes to them.
warnings.filterwarnings("ignore", message="The given NumPy array is not writable")


class FragmentsToBatch(ConnectorV2):
    """Joins fragments side by side. Everything else (returns, minibatches) is the objective's."""

    _nothing: Batch | None = None

    def __call__(self, *, episodes: list[Fragment], **kwargs: Any) -> dict[str, Any]:
        """Batch of the default module, on the CPU; without fragments one of no worlds, shaped as those before it.

        (A runner that dies takes along fragments that IMPALA has promised to a learner, and the other learners wait for
        that learner's part of the update.)

        Raises:
            RuntimeError: there were no fragments yet.
        """
        if episodes:
            batch = to_batch(Fragment.join(episodes))
            self._nothing = select_worlds(batch, torch.arange(0))
        elif self._nothing is None:
            raise RuntimeError("a learner got no fragment in its first update: its runner has died; start again")
        else:
            batch = self._nothing
        return {DEFAULT_MODULE_ID: batch}


def fragments_to_batch(observation_space: Any, action_space: Any) -> FragmentsToBatch:
    """What `AlgorithmConfig.learners(learner_connector=...)` wants."""
    return FragmentsToBatch()
