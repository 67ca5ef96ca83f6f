"""COLE: one learner trains with a growing population of frozen copies of itself (Li et al., ICML 2023).

In a generation the learner trains with the present members, drawn by the solver's weights, and with itself. At its end
the learner plays with all members in both orders; if it fits the population it joins as a frozen copy, else it trains
on. The first generations have no partners. A full population loses its oldest member. A checkpoint holds the members
and the results of every generation, so a killed trial continues exactly. This file is independent of the game.
"""

import dataclasses
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rl_envs.core.spec import Array
from rl_models.policy import TeamPolicy
from rl_models.schedule import Progress
from rl_models.training.algorithm import Algorithm, Tensors
from tune_experiments.experiment.plan import TrialPlan, make_team_algorithm
from tune_experiments.overcooked.cole_solver import is_accepted, partner_weights
from tune_experiments.overcooked.config import ColeSettings

STATE, HISTORY = "cole", "history"
"""Group of a checkpoint's tensors, and the generations in it."""
_BEGAN, _REFUSALS, _MEMBER, _PAYOFFS = "began", "refusals", "member_", "payoffs"

MakeWorlds = Callable[[Sequence[TeamPolicy], Sequence[float], int], Callable[..., Any]]
"""`(members, weights, env_steps)`, factory of training worlds from these env steps on with these partners."""


@dataclass(frozen=True)
class Generation:
    """Results at the end of a generation, for its members from old to new and the learner, which is the last.

    Attributes:
        env_steps: number of env steps of training so far.
        members: names; a member's name is the number of env steps after which it joined.
        payoffs: [n + 1, n + 1], rows chef 0, columns chef 1.
        accepted: whether the learner joined.
    """

    env_steps: int
    members: list[int]
    payoffs: list[list[float]]
    accepted: bool


class Cole:
    """Wrapper of an algorithm whose worlds change with each generation."""

    def __init__(
        self,
        settings: ColeSettings,
        plan: TrialPlan,
        make_worlds: MakeWorlds,
        payoff: Callable[[TeamPolicy, TeamPolicy], float],
        make_algorithm: Callable[[TrialPlan], Algorithm] = make_team_algorithm,
    ) -> None:
        """Begin with self-play.

        Args:
            settings: settings of the population.
            plan: plan of the learner, with its whole budget; its worlds are replaced.
            make_worlds: factory of its worlds.
            payoff: mean reward of one team's first agent with another's second.
            make_algorithm: algorithm factory.
        """
        self._settings, self._plan = settings, plan
        self._make_worlds, self._payoff, self._make_algorithm = make_worlds, payoff, make_algorithm
        self._members: dict[int, TeamPolicy] = {}
        self._payoffs = np.zeros((0, 0))
        self._refusals, self._began = 0, 0
        self.generations: list[Generation] = []
        self._algorithm = self._build()

    def train(self) -> dict[str, float]:
        """Train the algorithm; at the end of a generation, also log its payoffs."""
        row = self._algorithm.train()
        end = self._plan.budget_env_steps * (len(self.generations) + 1) / self._settings.generations
        if self.progress().env_steps < math.ceil(end):
            return row
        self._end_generation()
        last = self.generations[-1]
        own, others = last.payoffs[-1][-1], [line[-1] for line in last.payoffs[:-1]] + last.payoffs[-1][:-1]
        row |= {"cole/members": float(len(self._members)), "cole/own_payoff": own}
        return row | ({"cole/payoff_with_members": float(np.mean(others))} if others else {})

    def progress(self) -> Progress:
        """Progress of training."""
        return self._algorithm.progress()

    def policy(self, weights: dict[str, Any] | None = None) -> TeamPolicy:
        """The learner."""
        return self._algorithm.policy(weights)

    def checkpoint(self) -> tuple[Tensors, Progress]:
        """The algorithm's checkpoint, with members and generations."""
        tensors, progress = self._algorithm.checkpoint()
        text = json.dumps([dataclasses.asdict(generation) for generation in self.generations])
        own: dict[str, Any] = {HISTORY: np.frombuffer(text.encode(), np.uint8).copy(), _PAYOFFS: self._payoffs.copy()}
        own |= {_BEGAN: np.array(self._began), _REFUSALS: np.array(self._refusals)}
        members = {f"{_MEMBER}{name}": dict(team.state_dict()) for name, team in self._members.items()}
        return tensors | members | {STATE: own}, progress

    def restore(self, tensors: Tensors, progress: Progress) -> None:
        """Continue where `checkpoint` was taken."""
        own = tensors[STATE]
        self.generations = [Generation(**found) for found in json.loads(bytes(np.asarray(own[HISTORY])))]
        self._payoffs = np.asarray(own[_PAYOFFS], np.float64)
        self._began, self._refusals = int(own[_BEGAN]), int(own[_REFUSALS])
        names = sorted(int(group.removeprefix(_MEMBER)) for group in tensors if group.startswith(_MEMBER))
        self._members = {name: self._member(tensors[f"{_MEMBER}{name}"]) for name in names}
        self.close()
        self._algorithm = self._build()
        self._algorithm.restore(tensors, progress)

    def close(self) -> None:
        """Stop the algorithm."""
        self._algorithm.close()

    @property
    def _is_early(self) -> bool:
        return len(self.generations) < self._settings.initial_generations

    def _build(self) -> Algorithm:
        """Build the algorithm of this generation; the first generations are only self-play."""
        members = [] if self._is_early else list(self._members.values())
        weights = partner_weights(self._payoffs).tolist() if members else []
        make_world = self._make_worlds(members, weights, self._began)
        return self._make_algorithm(dataclasses.replace(self._plan, make_world=make_world))

    def _end_generation(self) -> None:
        """Evaluate the learner with all members, perhaps add it, and continue in new worlds."""
        tensors, progress = self._algorithm.checkpoint()
        learner = self._member(tensors["weights"])
        payoffs = self._payoffs_with(learner)
        accepted = self._is_early or is_accepted(payoffs, self._refusals, len(self.generations) + 1)
        self.generations.append(
            Generation(
                env_steps=progress.env_steps,
                members=list(self._members),
                payoffs=payoffs.tolist(),
                accepted=accepted,
            )
        )
        self._refusals = 0 if accepted else self._refusals + 1
        if accepted:
            self._join(progress.env_steps, learner, payoffs)
        self._began = progress.env_steps
        self.close()
        self._algorithm = self._build()
        going_on = {name: values for name, values in tensors.items() if name in ("weights", "optimizer")}
        self._algorithm.restore(going_on, progress)

    def _join(self, name: int, learner: TeamPolicy, payoffs: Array) -> None:
        names = [*self._members, name][-self._settings.population_size :]
        self._members = {one: (self._members | {name: learner})[one] for one in names}
        self._payoffs = payoffs[-len(names) :, -len(names) :]

    def _payoffs_with(self, learner: TeamPolicy) -> Array:
        """The members' payoffs with a further row and column, [n + 1, n + 1] float64."""
        payoffs = np.pad(self._payoffs, (0, 1))
        for number, member in enumerate([*self._members.values(), learner]):
            payoffs[number, -1] = self._payoff(member, learner)
            payoffs[-1, number] = self._payoff(learner, member)
        return payoffs

    def _member(self, weights: dict[str, Any]) -> TeamPolicy:
        team = self._plan.new_policy()
        team.load_state_dict(weights)
        return team.eval().requires_grad_(False)
