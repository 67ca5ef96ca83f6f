"""Share of time steps in which a sprite attends to its own sentence, to tell failures of reading from those of control.

In a single agent's test, a metric for each entity is the share of an episode's time steps in which its sprite attends
most to its own sentence, that about its symbol in its role; a manual calls decoys enemies. A sprite counts while it is
alone in its cell, since EMMA's attention is that of a cell. The team does not observe any of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rl_envs.messenger.symbols import ENEMY, FIRST_ENTITY, GOAL, MESSAGE, SIDE
from rl_envs.messenger.world import Messenger
from rl_models.fragment import Array
from rl_models.policy import TeamOutput, TeamPolicy
from tune_experiments.experiment.plan import Tests
from tune_experiments.messenger import evaluation
from tune_experiments.messenger.config import MessengerRunConfig, corpus_of_run
from tune_experiments.messenger.evaluation import WithRandomMoves
from tune_experiments.messenger.tables import game_tables
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperTable, make_table, with_note

GIVEN_ROLES = {
    "reads_enemy": ENEMY,
    "reads_message": MESSAGE,
    "reads_goal": GOAL,
    "reads_message_decoy": ENEMY,
    "reads_goal_decoy": ENEMY,
}
"""Metric of each entity, in the world's order -> the role that a manual gives it."""
_RIGHT, _COUNTED = "_right", "_counted"
_EXPLAINED = (
    "Shares of an episode's time steps in which a sprite, alone in its cell, attends most to the sentence about it, "
    "averaged over test episodes. By chance it is one in three, in stage 3 one in six. There a message and its decoy "
    "look alike until they move: without movements in queries both always attend to the same sentence, and with them "
    "they can only be distinguished once they move."
)


class ReadingEvaluation(WithRandomMoves):
    """An evaluation with the additional metrics of `GIVEN_ROLES`."""

    world: Messenger

    def __init__(self, about: Array, world: Messenger, policy: TeamPolicy) -> None:
        """Set up the evaluation of a team that reads; `about` [D, 3] int64: entity, role, movement of each sentence."""
        super().__init__(world, policy, self.readings)
        self._about = about

    def run(self, seed: int, episodes_per_world: int = 1) -> dict[str, Array]:
        """See `Evaluation.run`; an episode in which a sprite never counts is left out of its metric."""
        network: Any = self.policy.network
        before, network.shows_attention = network.shows_attention, True
        try:
            episodes = super().run(seed, episodes_per_world)
        finally:
            network.shows_attention = before
        right, counted = (episodes.pop(name).T for name in (_RIGHT, _COUNTED))
        names = list(GIVEN_ROLES)[: len(counted)]
        return episodes | {
            name: own[here > 0] / here[here > 0] for name, own, here in zip(names, right, counted, strict=True)
        }

    def readings(self, output: TeamOutput, obs: dict[str, Tensor]) -> dict[str, Tensor]:
        """Whether each entity's sprite counts, and attends most to its own sentence, [B, 1, E] bool each."""
        state = self.world.state
        attended = output.extras["attention/manual"][:, 0, 0].argmax(-1).cpu().numpy()
        symbols, cells = (obs[name][:, 0, 0, -1].cpu().numpy() for name in ("symbols", "cells"))
        row, column = np.moveaxis(state["entity_places"] >> 1, -1, 0)
        here = (row * SIDE + column)[:, :, None] == cells[:, None]
        own = here & (state["entity_symbols"][:, :, None] == symbols[:, None])
        counts = state["entity_here"] & ((here & (symbols > 0)[:, None]).sum(-1) == 1) & own.any(-1)
        sentence = np.take_along_axis(attended, own.argmax(-1), 1)
        about = self._about[np.take_along_axis(obs["manual"][:, 0, 0].cpu().numpy().astype(np.int64), sentence, 1)]
        roles = np.array(list(GIVEN_ROLES.values()))[: counts.shape[1]]
        is_own = (about[..., 0] + FIRST_ENTITY == state["entity_symbols"]) & (about[..., 1] == roles)
        found = {_COUNTED: counts, _RIGHT: counts & is_own}
        return {name: torch.from_numpy(value)[:, None] for name, value in found.items()}


def evaluate(config: MessengerRunConfig, stage: int, policy: TeamPolicy) -> Tests:
    """See `evaluation.evaluate`; also the sprites' attention where the manual describes the game."""
    corpus, _ = corpus_of_run(config)
    return evaluation.evaluate(config, stage, policy, way_where_told=partial(ReadingEvaluation, corpus.about))


def reading_table(results: Sequence[Result], caption: str) -> list[PaperTable]:
    """One table of training and test games of all stages, or none for results without readings."""
    title = f"{caption}: attention of sprites to sentences"
    cells = game_tables(results, caption, title, tuple(GIVEN_ROLES))
    if not cells:
        return []
    there = {cell.metric for cell in cells}
    made = make_table(cells, title, [name for name in GIVEN_ROLES if name in there])
    return with_note([made], _EXPLAINED)
