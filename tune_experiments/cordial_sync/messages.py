"""Messages between agents: the weights of talk and reply while a team acts (A Cordial Sync, section 5, A.5).

A message is a mixture of two learned symbols; its weight is the share of the first. Its sign is arbitrary: which
symbol means what differs from one training run to the next.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tune_experiments.play.spectator import Note, Spectator

if TYPE_CHECKING:
    from torch import Tensor, nn

    from rl_models.policy import TeamPolicy

ROUNDS = ("talk", "reply")
Weights = dict[str, np.ndarray]
"""Round -> [B, N] float32, the weight of the first symbol in each agent's message."""


def talks(policy: TeamPolicy) -> bool:
    """Whether agents exchange messages: not in a central policy, nor without communication."""
    from rl_models.layers.communication import CommunicationRound

    rounds = [getattr(policy.network, name, None) for name in ROUNDS]
    return all(isinstance(one, CommunicationRound) and one.communicates for one in rounds)


@contextlib.contextmanager
def listening(policy: TeamPolicy) -> Iterator[Weights]:
    """Context whose dictionary holds the weights of the team's latest messages; empty if there are none."""
    heard: Weights = {}

    def keep(name: str) -> contextlib.AbstractContextManager[object]:
        def hook(_module: nn.Module, _inputs: object, logits: Tensor) -> None:
            heard[name] = logits.detach().softmax(-1)[..., 0].cpu().numpy()

        return getattr(policy.network, name).classifier.register_forward_hook(hook)  # type: ignore[no-any-return]

    with contextlib.ExitStack() as hooks:
        for name in ROUNDS if talks(policy) else ():
            hooks.enter_context(keep(name))
        yield heard


class TalkSpectator(Spectator):
    """Shows the weights of the latest messages."""

    def __enter__(self) -> Self:
        self._listening = listening(self.loaded.policy)
        self._heard = self._listening.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listening.__exit__(kind, error, trace)

    def notes(self, world: Any, index: int) -> tuple[Note, ...]:
        """Notes on each agent's latest messages in both rounds; none without messages."""
        agents = [f"{agent}: weight of the first symbol {{:.2f}}" for agent in world.agents]
        return tuple(
            Note(name, "\n".join(text.format(value) for text, value in zip(agents, weights[index], strict=True)))
            for name, weights in self._heard.items()
        )
