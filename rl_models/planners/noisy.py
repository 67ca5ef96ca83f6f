"""A noisy planner: the offline rules, wrong with a given probability in each phase.

It simulates weaker models, whose plans reflection can correct. Its errors depend on the seed and on the request only:
like a model at temperature 0 it repeats an error if nothing has changed, and may correct it when the request contains
its failures.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import singledispatchmethod
from typing import get_args

from rl_models.chat.exchange import ChatReply, ChatRequest, Outcome
from rl_models.planners.domain import Domain, Phase
from rl_models.planners.offline import OfflineBackend
from rl_models.planners.replies import (
    AllocationReply,
    AskAllocation,
    AskDecomposition,
    AskFault,
    DecompositionReply,
    FaultReply,
    Reply,
)


@dataclass(frozen=True)
class Noise:
    """Probabilities of a wrong answer in each phase."""

    decomposition: float = 0.0
    allocation: float = 0.0
    fault: float = 0.0


NOISES = {"weak": Noise(0.25, 0.15, 0.1), "weaker": Noise(0.6, 0.4, 0.3)}
"""Two simulated weaker models."""


class NoisyBackend:
    """A `Transport` that answers by rule, or wrongly."""

    def __init__(self, domain: Domain, noise: Noise, seed: int = 0) -> None:
        """Give wrong answers with these probabilities, drawn by `seed`."""
        self._domain, self._noise, self._seed = domain, noise, seed
        self._offline = OfflineBackend(domain)
        self.model = f"noisy-{noise.decomposition}-{noise.allocation}-{noise.fault}-{seed}"
        """Model name in requests, so that their records stay apart."""

    def complete(self, request: ChatRequest) -> Outcome:
        """Answer one request, the same way each time."""
        numbers = random.Random(f"{self._seed} {request.key}")
        wrong = self._wrong(request.context, numbers)
        return self._offline.complete(request) if wrong is None else ChatReply(wrong.model_dump_json())

    @singledispatchmethod
    def _wrong(self, ask: object, numbers: random.Random) -> Reply | None:
        """A wrong reply, or None to answer by rule; questions without a method below are always answered by rule."""
        return None

    @_wrong.register
    def _(self, ask: AskDecomposition, numbers: random.Random) -> Reply | None:
        if numbers.random() >= self._noise.decomposition:
            return None
        texts = [numbers.choice(self._domain.subgoals) for _ in self._domain.agents]
        return DecompositionReply(
            thoughts="A guess.", goal=ask.goal or numbers.choice(self._domain.goals), subgoals=texts
        )

    @_wrong.register
    def _(self, ask: AskAllocation, numbers: random.Random) -> Reply | None:
        if numbers.random() >= self._noise.allocation:
            return None
        shuffled = list(range(1, len(ask.subgoals) + 1))
        numbers.shuffle(shuffled)
        return AllocationReply(thoughts="A guess.", numbers=shuffled)

    @_wrong.register
    def _(self, ask: AskFault, numbers: random.Random) -> Reply | None:
        if numbers.random() >= self._noise.fault:
            return None
        return FaultReply(thoughts="A guess.", phase=numbers.choice(get_args(Phase)))
