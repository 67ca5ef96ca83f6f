"""A noisy planner: the offline rules, wrong with a given probability in each phase.

It simulates weaker models, whose plans reflection can correct. Its errors depend on the seed and on the request only:
like a model at temperature 0 it repeats an error if nothing has changed, and may correct it when the request contains
its failures.
"""

import random
from dataclasses import dataclass
from typing import get_args

from rl_models.chat.exchange import ChatReply, ChatRequest, Outcome
from rl_models.planners.domain import Domain
from rl_models.planners.offline import OfflineBackend
from rl_models.planners.replies import AllocationReply, DecompositionReply, Fault, Phase, Reply


@dataclass(frozen=True)
class Noise:
    """Probabilities of a wrong answer in each stage."""

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
        self.model = f"noisy-{noise.decomposition}-{noise.allocation}-{noise.fault}-{seed}"
        """Model name in requests, so that their records stay apart."""

    def complete(self, request: ChatRequest) -> Outcome:
        """Answer one request, the same way each time."""
        numbers = random.Random(f"{self._seed} {request.key}")
        if numbers.random() >= getattr(self._noise, request.stage, 0.0):
            return OfflineBackend().complete(request)
        return ChatReply(self._guess(request.stage, numbers).model_dump_json())

    def _guess(self, stage: str, numbers: random.Random) -> Reply:
        domain = self._domain
        if stage == "decomposition":
            texts = [numbers.choice(domain.subgoals) for _ in domain.agents]
            return DecompositionReply(thoughts="A guess.", goal=numbers.choice(domain.goals), subgoals=texts)
        if stage == "allocation":
            shuffled = list(range(1, len(domain.agents) + 1))
            numbers.shuffle(shuffled)
            return AllocationReply(thoughts="A guess.", numbers=shuffled)
        return Fault(thoughts="A guess.", phase=numbers.choice(get_args(Phase)))
