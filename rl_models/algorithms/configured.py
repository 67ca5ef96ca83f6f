"""The objective that a configuration describes: PPO, IMPALA or a user's subclass of one of them."""

import importlib
import re
from dataclasses import fields

from rl_models.algorithms.impala import Impala
from rl_models.algorithms.learner_config import AlgorithmConfig, EntropyKind
from rl_models.algorithms.ppo import Ppo
from rl_models.errors import InputError
from rl_models.losses.extra_loss import ExtraLoss
from rl_models.schedule import Schedule

_ALGORITHMS: dict[str, type[Ppo | Impala]] = {"ppo": Ppo, "impala": Impala}
_ENTRY_POINT = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*)", re.ASCII)
"""Entry points, checked before a run folder is opened (`tune_experiments/experiment/finding.py`)."""


def make_objective(
    config: AlgorithmConfig,
    entropy_coef: Schedule,
    extra_losses: tuple[ExtraLoss, ...] = (),
    entropy_kind: EntropyKind = "component",
) -> Ppo | Impala:
    """Build the objective of the configured algorithm, with the constants that it has as fields."""
    cls = algorithm_class(config.algorithm)
    constants = {field.name: getattr(config, field.name) for field in fields(cls) if hasattr(config, field.name)}
    own = {"entropy_coef": entropy_coef, "entropy_kind": entropy_kind, "extra_losses": extra_losses}
    return cls(**constants | own)


def algorithm_class(name: str) -> type[Ppo | Impala]:
    """Class of the algorithm `ppo`, `impala` or `package.module:Class`, whose module is imported; raises InputError."""
    if name in _ALGORITHMS:
        return _ALGORITHMS[name]
    parts = _ENTRY_POINT.fullmatch(name)
    if parts is None:
        raise InputError(f"--learner.algorithm must be ppo, impala or package.module:Class, not {name!r}")
    module, cls = parts.groups()
    try:
        found = getattr(importlib.import_module(module), cls, None)
    except ImportError as error:
        raise InputError(
            f"--learner.algorithm {name} cannot be imported ({error}): install its package, run where its file is, or "
            "add that folder to PYTHONPATH"
        ) from error
    if found is None:
        raise InputError(f"--learner.algorithm {name}: {module} has no class {cls}; correct the name")
    if not (isinstance(found, type) and issubclass(found, Ppo | Impala)):
        raise InputError(f"--learner.algorithm {name} must be a subclass of Ppo or Impala (rl_models.algorithms)")
    return found
