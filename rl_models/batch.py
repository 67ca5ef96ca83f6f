"""Fragments, which env runners send to learners, batches, which learners compute with, and what learners share.

A fragment is T steps of B worlds: NumPy arrays, or tensors if the worlds give them. It is no dict, list or tuple: RLlib
passes the result of `sample()` through dm_tree, which would flatten those. `len` counts worlds, because RLlib shards
fragments over learners by slicing `fragment[:k]` along `len`.

A batch is a fragment as a flat dictionary of tensors. Keys: `obs/NAME` [B, T + 1, N, ...], `is_first` [B, T + 1], the
fragment's steps and ends under their own names, and `texts/KEY` [D, L] for token tables. A token table belongs to no
world and is never sliced.

Each of several learners holds some consecutive rows of one joint batch. All cut the joint batch alike, weigh their
losses by what the whole minibatch holds, and sum their gradients, so the update is that of one learner on the joint
batch. This file uses neither Ray nor processes: the caller passes a function that sums tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from rl_models.distributions.joint_policy import JointActions
from rl_models.policy import VALUED, TeamOutput
from rl_models.runtime.device import to_device
from rl_models.team_world import Array


class Fragment:
    """T consecutive steps of B worlds.

    The observation `decides` says which agents only carry on with a decision. The world's info `duration` is not here:
    returns discount each env step by gamma and count the steps of a decision together (`values_of_decisions`), so a
    decision of d steps is discounted by gamma ** d.

    Attributes:
        obs: name -> [B, T + 1, N, ...]; the last one follows the last step. A network's own noise is an observation
            too, so that all epochs use the same noise.
        is_first: [B, T + 1] bool, an episode begins with this observation.
        steps: name -> [B, T, ...]: `reward` [B, T, N] float32, `terminated` and `truncated` [B, T] bool,
            `log_prob` and `component` [B, T], `agent_log_prob` and `values` [B, T, N] float32,
            `final_values` [B, T, N] float32 (values of the final observation where the episode was truncated) and
            `actions` [B, T, N] int, or `actions/NAME` for each factor; numbers are `actions/continuous` and, before
            tanh, `actions/before_tanh`, [B, T, N, D] float32.
        ends: name -> [B, ...]: `last_values` [B, N] float32 and `state/NAME`, the recurrent state before the first
            step.
        texts: observation key -> [D, L] int, the token rows that the numbers under this key point at.
        versions: [B] int64, number of updates of the policy that acted.
    """

    __slots__ = ("ends", "is_first", "obs", "steps", "texts", "versions")

    def __init__(
        self,
        obs: dict[str, Array],
        is_first: Array,
        steps: dict[str, Array],
        ends: dict[str, Array],
        texts: dict[str, Array] | None = None,
        versions: Array | None = None,
    ) -> None:
        self.obs = obs
        self.is_first = is_first
        self.steps = steps
        self.ends = ends
        self.texts = texts or {}
        self.versions = versions if versions is not None else np.zeros(len(is_first), np.int64)

    def __len__(self) -> int:
        """B, the number of worlds."""
        return len(self.is_first)

    def __getitem__(self, worlds: slice) -> Fragment:
        """All steps of some of the worlds."""
        return Fragment(
            {key: value[worlds] for key, value in self.obs.items()},
            self.is_first[worlds],
            {key: value[worlds] for key, value in self.steps.items()},
            {key: value[worlds] for key, value in self.ends.items()},
            self.texts,
            self.versions[worlds],
        )

    def slice(self, worlds: slice, len_lookback_buffer: int | None = None) -> Fragment:
        """RLlib's name for `fragment[worlds]`. There is no look-back buffer, because `ends` holds the state."""
        return self[worlds]

    def env_steps(self) -> int:
        """Number of joint steps, B * T."""
        return len(self) * (self.is_first.shape[1] - 1)

    def agent_steps(self) -> int:
        """Number of agent steps, B * T * N."""
        return self.env_steps() * self.steps["reward"].shape[-1]

    @staticmethod
    def join(fragments: Iterable[Fragment]) -> Fragment:
        """One fragment of all worlds. T must be equal; the rows of the token tables get new numbers."""
        fragments = list(fragments)
        if len(fragments) == 1:
            return fragments[0]
        texts, observations = _join_texts(fragments)
        return Fragment(
            _concatenate(observations),
            np.concatenate([fragment.is_first for fragment in fragments]),
            _concatenate([fragment.steps for fragment in fragments]),
            _concatenate([fragment.ends for fragment in fragments]),
            texts,
            np.concatenate([fragment.versions for fragment in fragments]),
        )


def _concatenate(parts: list[dict[str, Array]]) -> dict[str, Array]:
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}


def _join_texts(fragments: list[Fragment]) -> tuple[dict[str, Array], list[dict[str, Array]]]:
    """One table of distinct texts for each key, and each fragment's observations with row numbers of that table."""
    observations = [dict(fragment.obs) for fragment in fragments]
    tables = {}
    for key in fragments[0].texts:
        parts = [fragment.texts[key] for fragment in fragments]
        width = max(part.shape[1] for part in parts)
        padded = [np.pad(part, ((0, 0), (0, width - part.shape[1])), constant_values=-1) for part in parts]
        stacked = np.concatenate(padded)
        tables[key], new_row = np.unique(stacked, axis=0, return_inverse=True)
        first_row = 0
        for fragment, obs in zip(fragments, observations, strict=True):
            obs[key] = new_row.ravel()[first_row + obs[key]].astype(obs[key].dtype)
            first_row += len(fragment.texts[key])
    return tables, observations


Batch: TypeAlias = dict[str, Tensor]


def to_batch(fragment: Fragment, device: torch.device | str = "cpu") -> Batch:
    """The tensors of a fragment, name -> [B, ...] and `texts/KEY` -> [D, L], as `to_device` brings them there.

    Tensors are not copied.
    """
    arrays = {f"obs/{key}": value for key, value in fragment.obs.items()}
    arrays["is_first"] = fragment.is_first
    arrays |= {**fragment.steps, **fragment.ends}
    arrays |= {f"texts/{key}": value for key, value in fragment.texts.items()}
    arrays["versions"] = fragment.versions
    return arrays if isinstance(fragment.is_first, Tensor) else to_device(arrays, device)


def select_worlds(batch: Batch, worlds: Tensor | slice) -> Batch:
    """Select some of the worlds with all their steps, [B, ...] to [K, ...], by a slice or numbers [K] from 0."""
    return {key: value if key.startswith("texts/") else _rows(value, worlds) for key, value in batch.items()}


def _rows(value: Tensor, rows: Tensor | slice) -> Tensor:
    """`value[rows]`; `index_select` copies whole rows, and bytes in a tenth of the time."""
    return value[rows] if isinstance(rows, slice) else value.index_select(0, rows)


def without_last_observation(batch: Batch) -> Batch:
    """Remove observation T + 1: `obs/NAME` and `is_first` go from [B, T + 1, ...] to [B, T, ...].

    It is for objectives that do not use the policy's output after the last step.
    """
    cut = {key: value[:, :-1] for key, value in batch.items() if key == "is_first" or key.startswith("obs/")}
    return batch | cut


def decision_steps(batch: Batch) -> Batch:
    """The K steps that the losses use, each as its own sequence: [B, T, ...] -> [K, 1, ...]; K may be 0.

    An agent decides there, or a value is learned (`valued_mask`; all where it is None). Entries of a whole fragment
    (`last_values`) are left out.
    """
    if any(key.startswith("state/") for key in batch):
        raise ValueError("a team with memory learns from whole fragments; leave `decision_minibatches` off")
    mask, valued = decision_mask(batch), valued_mask(batch)
    everywhere = torch.ones_like(batch["terminated"])
    selected = everywhere if mask is None or valued is None else (mask | valued).any(-1)
    per_step = [key for key, value in batch.items() if value.shape[:2] == selected.shape and key != "last_values"]
    where = selected.nonzero(as_tuple=True)  # computed once for all entries
    cut = {key: batch[key][where][:, None] for key in per_step if not key.startswith("texts/")}
    return cut | {key: value for key, value in batch.items() if key.startswith("texts/")}


@dataclass(frozen=True)
class Share:
    """The part of a minibatch that a batch holds; other learners, or later batches, hold the other parts.

    A loss consists of means over steps. Weighted by these shares, the means of all parts add up to the mean over the
    minibatch.

    Attributes:
        steps: share of the B * T joint steps, in [0, 1], for means over all steps.
        decisions: share of the steps at which an agent decides, in [0, 1], for means over these steps.
        values: share of the steps at which values are learned, in [0, 1], for the value loss.
    """

    steps: Tensor | float = 1.0
    decisions: Tensor | float = 1.0
    values: Tensor | float = 1.0


WHOLE = Share()
"""The share of a batch that holds the whole minibatch."""


def count_steps(batch: Batch) -> Tensor:
    """Number of joint steps [3] int64: all (B * T), where an agent decides, where values are learned."""
    ended = batch["terminated"]
    steps = torch.full((), ended.numel(), device=ended.device)
    masks = decision_mask(batch), valued_mask(batch)
    return torch.stack([steps, *(steps if mask is None else mask.any(-1).sum() for mask in masks)])


def compute_share(part: Batch, whole: Tensor) -> Share:
    """The share that a part has of a minibatch with these numbers of steps [3] (`count_steps`)."""
    return Share(*(count_steps(part) / whole.clamp(min=1)))


def forward(policy: Callable[..., TeamOutput], batch: Batch) -> TeamOutput:
    """The policy's output at every observation of the batch, [B, T, ...] or [B, T + 1, ...] as the batch has them."""
    obs = {key.removeprefix("obs/"): value for key, value in batch.items() if key.startswith(("obs/", "texts/"))}
    state = {key.removeprefix("state/"): value for key, value in batch.items() if key.startswith("state/")}
    return policy(obs, state, batch["is_first"])


def chosen_actions(batch: Batch) -> JointActions:
    """The joint actions that were taken, [B, T, N] int64, or factor -> [B, T, N] int64."""
    if "actions" in batch:
        return batch["actions"]
    return {key.removeprefix("actions/"): value for key, value in batch.items() if key.startswith("actions/")}


def decision_mask(batch: Batch) -> Tensor | None:
    """Agents that are in the game and decide at a step: batch, name -> [B, T, ...], to [B, T, N] bool.

    None if all agents of the world always do.
    """
    masks = [mask for key in ("decides", "alive") if (mask := _at_steps(batch, key)) is not None]
    return torch.stack(masks).all(0) if masks else None


def alive_mask(batch: Batch) -> Tensor | None:
    """Agents that are in the game at a step: batch, name -> [B, T, ...], to [B, T, N] bool; None if all always are."""
    return _at_steps(batch, "alive")


def valued_mask(batch: Batch) -> Tensor | None:
    """Agents whose values are learned at a step: batch, name -> [B, T, ...], to [B, T, N] bool.

    None if the objective did not say so (`ActorCritic.prepare`): then all agents' are, at every step.
    """
    return _at_steps(batch, VALUED)


def leaving_mask(batch: Batch) -> Tensor | None:
    """Agents that leave the game after a step while the episode goes on: batch, name -> [B, T, ...], to [B, T, N] bool.

    None if no agent of the world can leave.
    """
    if "obs/alive" not in batch:
        return None
    now, then = batch["obs/alive"][:, :-1], batch["obs/alive"][:, 1:]
    return now & ~then & ~batch["is_first"][:, 1:, None]


def _at_steps(batch: Batch, key: str) -> Tensor | None:
    return batch[f"obs/{key}"][:, : batch["reward"].shape[1]] if f"obs/{key}" in batch else None


OverLearners: TypeAlias = Callable[[Tensor], Tensor]
"""Sums a tensor over all learners, [...] -> [...]; learners may have different numbers of worlds."""


def alone(x: Tensor) -> Tensor:
    """The sum over a single learner: x [...] -> [...], unchanged."""
    return x


@dataclass(frozen=True)
class Rows:
    """The rows of the joint batch that one learner holds: `number` of `total`, from `first` on."""

    first: int
    number: int
    total: int

    def own(self, rows: Tensor) -> Tensor:
        """Those of rows [K] int64 of the joint batch that this learner holds, [k] int64, counted from its first."""
        return rows[(rows >= self.first) & (rows < self.first + self.number)] - self.first


@dataclass(frozen=True)
class Learners:
    """Group of learners that make each update together.

    Attributes:
        rank: rank of this learner, from 0.
        size: number of learners.
        sum: a tensor -> the sum of all learners' tensors of this shape. All learners must call it in the same order.
    """

    rank: int = 0
    size: int = 1
    sum: OverLearners = alone

    def rows(self, number: int, device: torch.device | str = "cpu") -> Rows:
        """Rows of this learner in the joint batch; each learner calls this with the number of rows that it holds."""
        if self.size == 1:
            return Rows(0, number, number)
        held = torch.zeros(self.size, dtype=torch.int64, device=device)
        held[self.rank] = number
        each: list[int] = self.sum(held).tolist()
        return Rows(sum(each[: self.rank]), number, sum(each))

    def sum_gradients(self, weights: Sequence[nn.Parameter]) -> None:
        """Give every weight the sum of all learners' gradients; one without a gradient in all of them keeps None."""
        if self.size == 1:
            return
        flat = [torch.zeros_like(weight) if weight.grad is None else weight.grad for weight in weights]
        present = flat[0].new_tensor([weight.grad is not None for weight in weights])
        summed = self.sum(torch.cat([present, *(gradient.flatten() for gradient in flat)]))
        is_present, gradients = summed.split([len(weights), len(summed) - len(weights)])
        parts = gradients.split([weight.numel() for weight in weights])
        for weight, has_one, part in zip(weights, is_present.tolist(), parts, strict=True):
            # In the layout of the weight, which a fused optimiser assumes.
            weight.grad = torch.empty_like(weight).copy_(part.view_as(weight)) if has_one else None


ALONE = Learners()
"""One learner, which holds every row."""
