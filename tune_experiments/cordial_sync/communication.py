"""Meaning of talk and reply weights: data of test episodes and the three models of A Cordial Sync (appendix A.5).

One row is a joint step: each agent's talk and reply weight, whether it sees the television before it acts, and its
action's kind. The models concern the first agent, and are equal up to the names of the symbols: equation 8, whether it
sees the television, from its own talk, reply and their product; equations 9 and 10, whether it will pass, or move with
the television, from all agents' talk and reply. In FurnMove seeing means: within 1.25 m, and in the camera's view.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from rl_envs.furnmove.actions import MODALITY, MOVE_WITH_OBJECT, PASS
from tune_experiments.cordial_sync.messages import ROUNDS
from tune_experiments.cordial_sync.regression import Fit, NotIdentified, fit
from tune_experiments.experiment.plan import Episodes

DATA = ("_episode", "_step", "_talk", "_reply", "_actions", "_sees")
"""Names of the data among the results of an evaluation: [R] int, [R] int, and four of [R, N]."""

DEVIATIONS = tuple(f"{name}_deviation_percent" for name in ROUNDS)
"""Metrics: standard deviation of a round's weights over all steps, averaged over agents, times 100."""

ODDS = "_odds"
"""Suffix of metrics that are odds."""

SEES_NAME = "sees"
TALK_TURNS = f"{SEES_NAME}_talk_1_turns_at_reply_1"
"""Metric of `talk_turns_at`, given if such weights occur and the product's interval excludes 0."""

_TENTH = 0.1
_ROUNDING = 1e-6
"""Smaller deviations of a weight are rounding errors of float32."""

Estimate: TypeAlias = tuple[str, float, float, float]
"""Metric, value, and both ends of its interval; equal if there is none."""


@dataclass(frozen=True)
class Model:
    """One regression.

    Attributes:
        name: prefix of its metrics.
        equation: number of the paper's equation.
        explained: predicted event of the first agent.
    """

    name: str
    equation: int
    explained: str


SEES = Model(SEES_NAME, 8, "agent 1 sees the television")
PASSES = Model("passes", 9, "agent 1 will pass")
MOVES = Model("moves", 10, "agent 1 will move with the television")
MODELS = (SEES, PASSES, MOVES)


# --------------------------------------------------------------------------------------------------------------- models


def column_names(model: Model, num_agents: int) -> tuple[str, ...]:
    """Names of the regressors, in order."""
    if model is SEES:
        return ("talk_1", "reply_1", "talk_1_x_reply_1")
    return tuple(f"{name}_{agent + 1}" for name in ROUNDS for agent in range(num_agents))


def fitted(model: Model, data: Episodes, draws: int) -> Fit:
    """Fit a model, with slopes for one standard deviation of a weight.

    So a weight that hardly changes, as in a new team, has no huge slope. The product of equation 8 is that of the two
    deviations, so each of its other slopes holds where the other weight has its mean (`talk_turns_at`).

    Args:
        model: model to fit.
        data: as `play_and_listen` gives it.
        draws: number of bootstrap draws.

    Raises:
        NotIdentified: no finite slopes.
    """
    talk, reply = (_in_deviations(data[f"_{name}"]) for name in ROUNDS)
    if model is SEES:
        columns = np.stack([talk[:, 0], reply[:, 0], talk[:, 0] * reply[:, 0]], axis=1)
    else:
        columns = np.concatenate([talk, reply], axis=1)
    try:
        return fit(columns, get_outcome(model, data), data["_episode"], draws)
    except NotIdentified as error:
        raise NotIdentified(f"{model.explained}: {error}") from error


def get_outcome(model: Model, data: Episodes) -> np.ndarray:
    """Outcome that a model explains, [R] bool."""
    if model is SEES:
        return np.asarray(data["_sees"][:, 0])
    action = data["_actions"][:, 0]
    return np.asarray(action == PASS if model is PASSES else MODALITY[action] == MOVE_WITH_OBJECT)


def deviations(data: Episodes) -> Iterator[Estimate]:
    """Standard deviations of the message weights."""
    for metric, name in zip(DEVIATIONS, ROUNDS, strict=True):
        value = 100 * float(data[f"_{name}"].std(axis=0).mean())
        yield metric, value, value, value


def slopes(data: Episodes, draws: int) -> Iterator[Estimate]:
    """Estimates of the models with finite slopes, and of where talk changes its meaning (equation 8).

    `NAME_COLUMN` is a slope for one standard deviation. `NAME_COLUMN_odds` is the factor of the odds when a weight
    rises by 0.1, given where its range is at least 0.1. `NAME_mcfadden` has no interval: both ends are its value.
    """
    for model in MODELS:
        try:
            found = fitted(model, data, draws)
        except NotIdentified:
            continue
        names = column_names(model, data["_talk"].shape[1])
        for name, value, low, high in zip(names, found.slopes, found.low, found.high, strict=True):
            yield f"{model.name}_{name}", value, low, high
            if _ranges(data, name) >= _TENTH:
                tenth = _TENTH / _weights(data, name).std()
                odds = (float(np.exp(tenth * number)) for number in (value, low, high))
                yield (f"{model.name}_{name}{ODDS}", *odds)  # type: ignore[misc]
        if model is SEES and (turns := talk_turns_at(found, data)) is not None:
            yield TALK_TURNS, turns, turns, turns
        yield f"{model.name}_mcfadden", found.mcfadden, found.mcfadden, found.mcfadden


def talk_turns_at(found: Fit, data: Episodes) -> float | None:
    """The reply weight where the slope of talk changes its sign in equation 8: -b_talk / b_product; .821 in the paper.

    The slope of talk at a reply weight r is b_talk + b_product (r - mean) / deviation, with the slopes of `fitted`.
    None where replies range over less than 0.1, the interval of the product holds 0, or the result is no weight.
    """
    if _ranges(data, "reply_1") < _TENTH or found.low[-1] <= 0 <= found.high[-1]:
        return None
    reply, (talk_slope, _, product) = _weights(data, "reply_1"), found.slopes
    turns = float(reply.mean() - reply.std() * talk_slope / product)
    return turns if 0 <= turns <= 1 else None


def _in_deviations(weights: np.ndarray) -> np.ndarray:
    """[R, N] float64, standardised weights; 0 for a constant one."""
    weights = weights.astype(float)
    deviation = weights.std(axis=0)
    never = deviation < _ROUNDING
    return np.where(never, 0.0, (weights - weights.mean(axis=0)) / np.where(never, 1.0, deviation))


def _ranges(data: Episodes, column: str) -> float:
    """Range of weights from the 1st to the 99th percentile; 0 for a product."""
    if not column.rpartition("_")[2].isdigit() or "_x_" in column:
        return 0.0
    low, high = np.quantile(_weights(data, column), (0.01, 0.99))
    return float(high - low)


def _weights(data: Episodes, column: str) -> np.ndarray:
    """`talk_1` -> the weights of the first agent's talk, [R] float64."""
    name, _, agent = column.partition("_")
    return np.asarray(data[f"_{name}"][:, int(agent) - 1], float)
