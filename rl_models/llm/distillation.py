"""Distillation of a teacher's messages into the message adapter: rounds of SFT (Verco, eq. 1, alg. 1).

Each round adds pairs of prompt and message, from rollouts of the initial action policy, and trains on all pairs so far.
Held-out prompts stay held out.
"""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from torch import Tensor

from rl_models.llm.adapters import AdaptedModel
from rl_models.llm.llm_config import DistillationSettings
from rl_models.llm.messages import Writer
from rl_models.llm.small_model import Pair
from rl_models.llm.tokens import Ids


@dataclass(frozen=True)
class RoundReport:
    """Results of one round of distillation.

    Attributes:
        pairs: number of pairs in training.
        held_out: number of pairs that were held out.
        loss: mean cross-entropy a token over the last epoch.
        held_out_loss: mean cross-entropy a token of the held-out messages.
        exact_match: share of held-out prompts whose greedy message is one that the teacher wrote for them.
    """

    pairs: int
    held_out: int
    loss: float
    held_out_loss: float
    exact_match: float

    def sentence(self) -> str:
        """One sentence with all numbers, for the log."""
        return (
            f"{self.pairs} pairs, loss {self.loss:.3f} a token; {self.held_out} held out, {self.held_out_loss:.3f} a "
            f"token, {self.exact_match:.1%} of their prompts answered exactly"
        )


class MessageDistillation:
    """The SFT stage of one message adapter, with the reports of its rounds."""

    def __init__(self, language: AdaptedModel, writer: Writer, settings: DistillationSettings) -> None:
        """Set up training; `writer` generates with the same model."""
        self._language, self._writer, self._settings = language, writer, settings
        self._optimiser = torch.optim.AdamW(
            language.message.values(), lr=settings.learning_rate, weight_decay=0.0, eps=1e-5
        )
        self._generator = torch.Generator().manual_seed(settings.seed)
        self._learned: list[tuple[Ids, Ids]] = []
        self._held_out: list[Pair] = []
        self.reports: list[RoundReport] = []

    def learn(self, pairs: Sequence[Pair], shows_progress: bool = True) -> RoundReport:
        """Train for one round on new pairs of prompt and message, and all before; raises ValueError without any."""
        for prompt, message in pairs:
            if is_held_out(prompt, self._settings.held_out):
                self._held_out.append((prompt, message))
            else:
                self._learned.append(self._ids(prompt, message))
        if not self._learned:
            raise ValueError("there is no pair of prompt and message to learn from; collect more, or hold out fewer")
        before = self._language.trains
        self._language.train_adapter("message")
        try:
            loss = self._epochs(shows_progress)
        finally:
            self._language.train_adapter(before)
        counts = len(self._learned), len(self._held_out)
        tested = (self._held_out_loss(), self._exact_match()) if self._held_out else (math.nan, math.nan)
        self.reports.append(RoundReport(*counts, loss, *tested))
        return self.reports[-1]

    def _ids(self, prompt: str, message: str) -> tuple[Ids, Ids]:
        """Token ids of a pair; the message is cut off where the writer would be, and ends."""
        tokens = self._language.tokens
        return tokens.prompt(prompt), (*self._writer.cut(tokens.completion(message)), tokens.end)

    def _epochs(self, shows_progress: bool) -> float:
        """Mean loss of a token in the last epoch."""
        settings = self._settings
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        nats, tokens = torch.zeros((), dtype=torch.float64, device=self._language.base.device), 0
        with Progress(*columns, transient=True, disable=not shows_progress) as bar:
            steps = settings.num_epochs * -(-len(self._learned) // settings.batch_size)
            task = bar.add_task(f"distilling messages, round {len(self.reports) + 1}", total=steps)
            for _ in range(settings.num_epochs):
                nats, tokens = torch.zeros_like(nats), 0
                for rows in torch.randperm(len(self._learned), generator=self._generator).split(settings.batch_size):
                    batch = [self._learned[row] for row in rows]
                    nats = nats + self._step(batch)
                    tokens += sum(len(message) for _, message in batch)
                    bar.advance(task)
        return float(nats) / tokens

    def _step(self, pairs: list[tuple[Ids, Ids]]) -> Tensor:
        """One optimiser step; returns the summed loss of all messages in nats, a scalar that is not synchronised."""
        scores = self._language.score("message", [prompt for prompt, _ in pairs], [(message,) for _, message in pairs])
        # The paper sums over agents (eq. 1); with pairs of all agents in one pool that is this mean times N.
        loss = -scores.log_probs[:, 0].mean()
        self._optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._language.message.values(), self._settings.max_grad_norm)
        self._optimiser.step()
        return loss.detach() * len(pairs)

    @torch.no_grad()
    def _held_out_loss(self) -> float:
        pairs = [self._ids(*pair) for pair in self._held_out]
        scores = self._language.score("message", [prompt for prompt, _ in pairs], [(message,) for _, message in pairs])
        return float(-scores.log_probs.sum() / sum(len(message) for _, message in pairs))

    def _exact_match(self) -> float:
        taught: dict[Ids, set[str]] = {}
        for prompt, message in self._held_out:
            ids, message_ids = self._ids(prompt, message)
            taught.setdefault(ids, set()).add(self._writer.text(message_ids))
        written = self._writer.write(list(taught))
        matches = [self._writer.text(one) in texts for one, texts in zip(written, taught.values(), strict=True)]
        return sum(matches) / len(matches)


def is_held_out(prompt: str, share: float) -> bool:
    """Whether a prompt is among the share that is never learned from; a hash of it decides."""
    return int.from_bytes(hashlib.sha256(prompt.encode()).digest()[:4]) < share * 2**32
