"""Test episodes of FurnMove that record message weights, sight and actions: the data of `communication.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

from rl_envs import World
from rl_envs.furnlift.sight import sees_lifted
from rl_models.policy import TeamPolicy
from rl_models.training.evaluation import Evaluation
from tune_experiments.cordial_sync.communication import DATA
from tune_experiments.cordial_sync.config import Config
from tune_experiments.cordial_sync.evaluation import (
    EVALUATION_SEED,
    FurnMoveProbe,
    coordination_set,
    test_starts,
    world_from,
)
from tune_experiments.cordial_sync.messages import ROUNDS, Weights, listening
from tune_experiments.experiment.plan import Episodes


class Listener(Evaluation):
    """An evaluation of FurnMove that records message weights, sight and actions in the first episode of each world."""

    world: World

    def __init__(self, world: World, policy: TeamPolicy, heard: Weights) -> None:
        """Set up the evaluation of a team whose latest message weights are `heard` (`listening`)."""
        super().__init__(world, policy, FurnMoveProbe(coordination_set(world)))
        self._heard, self._rows = heard, []  # type: ignore[var-annotated]
        self._running = np.ones(world.num_worlds, bool)

    def _step(self, steps: dict[str, np.ndarray], step: int) -> dict[str, Any]:
        state, running = self.world.state, self._running.copy()
        sees = sees_lifted(state["agent_cells"], state["agent_headings"], state["tv"])
        time = state["episode_length"].copy()
        record = super()._step(steps, step)
        which = np.flatnonzero(running)
        actions = record["actions"][:, 0].cpu().numpy()
        received = (self._heard[name][which] for name in ROUNDS)
        self._rows.append((which, time[which], *received, actions[which].astype(np.int8), sees[which]))
        self._running &= ~self._is_first
        return record

    def data(self) -> dict[str, np.ndarray]:
        """All rows, by the names of `DATA`; those of an episode in order."""
        columns = [np.concatenate(column) for column in zip(*self._rows, strict=True)]
        order = np.lexsort((columns[1], columns[0]))
        return {name: column[order] for name, column in zip(DATA, columns, strict=True)}


def play_and_listen(config: Config, policy: TeamPolicy) -> Episodes:
    """Play one episode from each start of the test: the paper's metrics, and the data under the names of `DATA`."""
    starts = test_starts(config)
    with listening(policy) as heard:
        listener = Listener(world_from(config, starts, len(starts)), policy, heard)
        played = listener.run(EVALUATION_SEED)
    played["return"] = played["return"].sum(-1)
    metrics = {name: values for name, values in played.items() if name[0] != "_"}
    return metrics | listener.data()
