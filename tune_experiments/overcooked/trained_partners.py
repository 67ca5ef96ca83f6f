"""The partners of fictitious co-play: teams of self-play at three levels of skill (Strouse et al., NeurIPS 2021).

Each trained team comes three times: before training, at half of its final reward, and fully trained.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rl_models.policy import TeamPolicy
from tune_experiments.core.errors import UserError
from tune_experiments.overcooked.config import OvercookedConfig
from tune_experiments.overcooked.crossplay import SELF_PLAY_OF, find_trials
from tune_experiments.play.loading import load_policy
from tune_experiments.results.trial_log import METRICS_FILE, read_metrics

SELF_PLAY = "selfplay"
"""The method of the partners."""
_REWARD = "valid/reward"


@dataclass(frozen=True)
class Partner:
    """A member of the population.

    Attributes:
        name: trial and env steps of the checkpoint.
        team: frozen policy.
    """

    name: str
    team: TeamPolicy


def load_population(config: OvercookedConfig) -> list[Partner]:
    """All partners of a run that names its population.

    Raises:
        UserError: none is named, or it has no team for this kitchen.
    """
    if not config.population:
        raise UserError(
            "method fcp needs partners: name them with --population RUN, a run of this experiment with "
            "--methods selfplay and several --seeds"
        )
    found = [partner for trial in _trials(Path(config.population)) for partner in _levels(trial, config.task)]
    if not found:
        raise UserError(f"{config.population} has no trained team of method {SELF_PLAY}; train it first")
    return found


def _trials(run: Path) -> list[Path]:
    return [trial.folder for trial in find_trials(run, (SELF_PLAY_OF,)) if trial.method == SELF_PLAY]


def _levels(trial: Path, layout: str) -> Iterator[Partner]:
    """The first, a middle and the last team of a trial; none if it has no checkpoint yet."""
    checkpoints = {int(path.name.split("_")[1]): path for path in sorted((trial / "checkpoints").glob("checkpoint_*"))}
    if not checkpoints:
        return
    last = max(checkpoints)
    loaded = load_policy(checkpoints[last])
    if loaded.config.task != layout:
        raise UserError(f"{trial} cooks in {loaded.config.task}, not in {layout}; name a population of this kitchen")
    yield _frozen(f"{trial.name} untrained", loaded.curriculum.plan.new_policy())
    middle = halfway(rewards_at(trial, list(checkpoints)))
    yield _frozen(f"{trial.name} after {middle:,}", load_policy(checkpoints[middle]).policy)
    yield _frozen(f"{trial.name} after {last:,}", loaded.policy)


def rewards_at(trial: Path, env_steps: list[int]) -> dict[int, float]:
    """Validation reward at, or last before, each of some numbers of env steps; 0 where there was none yet."""
    rows = [(row["env_steps"], row[_REWARD]) for row in read_metrics(trial / METRICS_FILE) if _REWARD in row]
    return {moment: ([0.0] + [value for steps, value in rows if steps <= moment])[-1] for moment in env_steps}


def halfway(rewards: dict[int, float]) -> int:
    """Env steps with the reward nearest to half of the last, the earliest of several; if possible not the last.

    Args:
        rewards: env steps -> reward.
    """
    last = max(rewards)
    others = sorted(rewards.keys() - {last}) or [last]
    return min(others, key=lambda moment: abs(rewards[moment] - rewards[last] / 2))


def _frozen(name: str, team: TeamPolicy) -> Partner:
    return Partner(name, team.eval().requires_grad_(False))
