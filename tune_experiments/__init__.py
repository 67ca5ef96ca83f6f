"""Experiments: one file each, named after what it reproduces; importing this package alone loads none of them.

from tune_experiments import furnmove_sync, load_policy

run = furnmove_sync.EXPERIMENT.run(preset="smoke", out="runs/try")
team = load_policy("runs/try")
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rl_models.device import DeviceChoice
    from tune_experiments.play.loading import LoadedPolicy


def load_policy(path: str | Path, allow: Sequence[str] = (), device: DeviceChoice = "auto") -> LoadedPolicy:
    """A trained team without Ray: `load_policy("runs/NAME/trials/marginal-seed0")`; see `play/loading.py`.

    Args:
        path: a checkpoint, a trial folder or a run folder.
        allow: modules outside Concord that may be imported if the checkpoint names them.
        device: where it acts: `auto` on a GPU if there is one; `cpu`; or `cuda`.
    """
    from tune_experiments.play import loading

    return loading.load_policy(path, allow, device)
