"""Meaning of talk and reply weights: data of test episodes and the three models of A Cordial Sync (appendix A.5).

One row is a joint step: each agent's talk and reply weight, whether it sees the television before it acts, and its
action's kind. The models concern the first agent, and are equal up to the names of the symbols: equation 8, whether it
sees the television, from its own talk, reply and their product; equations 9 and 10, whether it will pass, or move with
the television, from all agents' talk and reply. In FurnMove seeing means: within 1.25 m, and in the camera's view.

The regression is fitted by Newton's method, as by R's `glm`, with a bootstrap over whole episodes, whose steps depend
on each other. Separable data have no finite slopes: this is an error instead of a huge number.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from rl_envs.core.spec import Array
from rl_envs.furnmove.actions import MODALITY, MOVE_WITH_OBJECT, PASS
from tune_experiments.cordial_sync.messages import ROUNDS
from tune_experiments.experiment.plan import Episodes

_ROUNDS, _TOLERANCE = 40, 1e-8
_MAX_SLOPE, _MAX_STEP = 40.0, 4.0
"""Largest slope of an uncorrelated column of deviation 1, and largest change of a weight in one round. Beyond that
slope all but a few rows have a probability of 0 or 1."""
_MIN_DEVIATION = 1e-9
_MIN_CURVATURE = 1e-12
_FITTED_SHARE = 0.95
"""Smallest share of draws with slopes; below it, data are nearly separable and an interval is meaningless."""


class NotIdentified(ValueError):
    """There are no finite slopes; the message says why."""


@dataclass(frozen=True)
class Fit:
    """A model: slopes for a change of 1, and lower and upper ends of their 95 % intervals, [F] float64 each.

    `mcfadden` is 1 - log-likelihood / log-likelihood of a constant, in [0, 1].
    """

    slopes: Array
    low: Array
    high: Array
    mcfadden: float


def fit(columns: Array, outcome: Array, episode: Array, draws: int) -> Fit:
    """Slopes with bootstrap intervals (2.5 to 97.5 %) from `draws` draws of whole episodes.

    Args:
        columns: [R, F] float, regressors; a constant is added.
        outcome: [R] bool, outcome to explain.
        episode: [R] int, episode of each row.
        draws: number of draws.

    Raises:
        NotIdentified: the outcome or a column is constant, columns are equal, or the outcomes are separable.
    """
    scaled, back = _whitened(np.asarray(columns, float))
    outcome = np.asarray(outcome, float)
    if outcome.min() == outcome.max():
        raise NotIdentified(f"the outcome is {'always' if outcome[0] else 'never'} true")
    weights = maximum_likelihood(scaled, outcome, np.ones(len(outcome)))
    _, number = np.unique(episode, return_inverse=True)
    episodes = int(number.max()) + 1
    random, found = np.random.Generator(np.random.PCG64(0)), []
    for _ in range(draws):
        counts = random.multinomial(episodes, np.full(episodes, 1 / episodes))[number].astype(float)
        try:
            found.append(back @ maximum_likelihood(scaled, outcome, counts, weights)[1:])
        except NotIdentified:
            continue
    if len(found) < _FITTED_SHARE * draws:
        raise NotIdentified(f"of {draws:,} draws of episodes {draws - len(found):,} have no finite slopes")
    low, high = np.quantile(found, (0.025, 0.975), axis=0)
    share, constant = outcome.mean(), np.zeros_like(weights)
    constant[0] = np.log(share / (1 - share))
    likelihood = log_likelihood(scaled, outcome, weights) / log_likelihood(scaled, outcome, constant)
    return Fit(back @ weights[1:], low, high, 1 - likelihood)


def maximum_likelihood(columns: Array, outcome: Array, counts: Array, start: Array | None = None) -> Array:
    """Constant and slopes, [1 + F] float64, by Newton's method; NotIdentified if there is no finite maximum.

    `columns` [R, F] have mean 0 and deviation 1, `outcome` [R] is 0 or 1, `counts` [R] are weights of rows, and `start`
    [1 + F] are initial values.
    """
    design = np.concatenate([np.ones((len(columns), 1)), columns], axis=1)
    weights = np.zeros(design.shape[1]) if start is None else start.copy()
    for _ in range(_ROUNDS):
        probability = 0.5 * (1 + np.tanh(design @ weights / 2))
        curvature = design.T @ (design * (counts * probability * (1 - probability))[:, None]) / counts.sum()
        if np.linalg.eigvalsh(curvature)[0] < _MIN_CURVATURE:
            raise NotIdentified("the outcomes are separable")
        step = np.linalg.solve(curvature, design.T @ (counts * (outcome - probability)) / counts.sum())
        weights = weights + step * min(1.0, _MAX_STEP / abs(step).max())
        if abs(weights[1:]).max() > _MAX_SLOPE:
            raise NotIdentified("the outcomes are separable: the slopes grow without bound")
        if abs(step).max() < _TOLERANCE:
            return weights
    raise NotIdentified("the outcomes are separable: the slopes grow without bound")


def log_likelihood(columns: Array, outcome: Array, weights: Array) -> float:
    """Log-likelihood, in nats, of all rows: columns [R, F], outcomes [R] of 0 and 1, weights [1 + F]."""
    line = weights[0] + columns @ weights[1:]
    return float((outcome * line - np.logaddexp(0, line)).sum())


def _whitened(columns: Array) -> tuple[Array, Array]:
    """Uncorrelated columns [R, F] of deviation 1, and the matrix [F, F] that transforms their slopes back."""
    centred = columns - columns.mean(axis=0)
    deviation = centred.std(axis=0)
    if (deviation < _MIN_DEVIATION).any():
        raise NotIdentified(f"column {int(deviation.argmin()) + 1} is constant")
    uncorrelated, triangle = np.linalg.qr(centred / deviation)
    if abs(np.diag(triangle)).min() < _MIN_DEVIATION * len(columns) ** 0.5:
        raise NotIdentified("two columns are equal")
    scale = len(columns) ** 0.5
    return uncorrelated * scale, np.linalg.inv(triangle) * scale / deviation[:, None]


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
    """One regression: prefix of its metrics, number of the paper's equation, and the event that it predicts."""

    name: str
    equation: int
    explained: str


SEES = Model(SEES_NAME, 8, "agent 1 sees the television")
PASSES = Model("passes", 9, "agent 1 will pass")
MOVES = Model("moves", 10, "agent 1 will move with the television")
MODELS = (SEES, PASSES, MOVES)


def column_names(model: Model, num_agents: int) -> tuple[str, ...]:
    """Names of the regressors, in order."""
    if model is SEES:
        return ("talk_1", "reply_1", "talk_1_x_reply_1")
    return tuple(f"{name}_{agent + 1}" for name in ROUNDS for agent in range(num_agents))


def fitted(model: Model, data: Episodes, draws: int) -> Fit:
    """Fit a model to the data of `play_and_listen`, with slopes for one standard deviation of a weight.

    So a weight that hardly changes, as in a new team, has no huge slope. The product of equation 8 is that of the two
    deviations, so each of its other slopes holds where the other weight has its mean (`talk_turns_at`). NotIdentified
    if there are no finite slopes.
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
