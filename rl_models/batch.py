"""Fragments as tensors: the flat dictionary that objectives read and that RLlib can slice along worlds.

Keys: `obs/NAME` [B, T + 1, N, ...], `is_first` [B, T + 1], the fragment's steps and ends under their own names, and
`texts/KEY` [D, L] for token tables, which belong to no world and are never sliced.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor

from rl_models.distributions.joint_policy import JointActions
from rl_models.fragment import Fragment
from rl_models.policy import TeamOutput

Batch: TypeAlias = dict[str, Tensor]


def to_batch(fragment: Fragment, device: torch.device | str = "cpu") -> Batch:
    """Tensors of a fragment; on the CPU they share its memory."""
    batch = {f"obs/{key}": torch.from_numpy(value) for key, value in fragment.obs.items()}
    batch["is_first"] = torch.from_numpy(fragment.is_first)
    batch |= {key: torch.from_numpy(value) for key, value in {**fragment.steps, **fragment.ends}.items()}
    batch |= {f"texts/{key}": torch.from_numpy(value) for key, value in fragment.texts.items()}
    batch["versions"] = torch.from_numpy(fragment.versions)
    return {key: value.to(device) for key, value in batch.items()}


def take(batch: Batch, worlds: Tensor | slice) -> Batch:
    """The same steps of some of the worlds."""
    return {key: value if key.startswith("texts/") else value[worlds] for key, value in batch.items()}


def without_last_observation(batch: Batch) -> Batch:
    """Observations at the T steps only, for objectives that need no output at the one after them."""
    cut = {key: value[:, :-1] for key, value in batch.items() if key == "is_first" or key.startswith("obs/")}
    return batch | cut


def steps_of_decisions(batch: Batch) -> Batch:
    """The K steps at which anybody chooses, each a sequence of its own: [B, T, ...] -> [K, 1, ...]; K may be 0.

    What belongs to a fragment and not to a step (`last_values`, `versions`) has done its work and is left out.

    Raises:
        ValueError: a team with memory, to which a step alone means something else.
    """
    if any(key.startswith("state/") for key in batch):
        raise ValueError("a team with memory learns from whole fragments; leave `by_decisions` off")
    mask = decides(batch)
    place = torch.ones_like(batch["terminated"]) if mask is None else mask.any(-1)
    per_step = [key for key, value in batch.items() if value.shape[:2] == place.shape and key != "last_values"]
    cut = {key: batch[key][place][:, None] for key in per_step if not key.startswith("texts/")}
    return cut | {key: value for key, value in batch.items() if key.startswith("texts/")}


@dataclass(frozen=True)
class Share:
    """How much of a minibatch a part holds; other parts follow, or lie with other learners.

    A loss is made of means, each over some steps. The weighted means of all parts sum to the mean over the minibatch.

    Attributes:
        steps: share of the B * T joint steps, of which some means are taken.
        decisions: share of the steps at which anybody chooses, of which the others are taken.
    """

    steps: Tensor | float = 1.0
    decisions: Tensor | float = 1.0


WHOLE = Share()
"""Of a minibatch that is learned from at once."""


def count_steps(batch: Batch) -> Tensor:
    """[2] int64, all B * T joint steps, and those at which anybody chooses."""
    mask, steps = decides(batch), torch.tensor(batch["terminated"].numel(), device=batch["terminated"].device)
    return torch.stack([steps, steps if mask is None else mask.any(-1).sum()])


def share_of(part: Batch, whole: Tensor) -> Share:
    """What a part holds of a minibatch with so many steps, [2] as `count_steps` counts them."""
    steps, decisions = count_steps(part) / whole.clamp(min=1)
    return Share(steps, decisions)


def think(policy: Callable[..., TeamOutput], batch: Batch) -> TeamOutput:
    """The policy's output at every observation of the batch."""
    obs = {key.removeprefix("obs/"): value for key, value in batch.items() if key.startswith(("obs/", "texts/"))}
    state = {key.removeprefix("state/"): value for key, value in batch.items() if key.startswith("state/")}
    return policy(obs, state, batch["is_first"])


def chosen(batch: Batch) -> JointActions:
    """The joint actions that were taken, [B, T, N] int64 or one such tensor a factor."""
    if "actions" in batch:
        return batch["actions"]
    return {key.removeprefix("actions/"): value for key, value in batch.items() if key.startswith("actions/")}


def decides(batch: Batch) -> Tensor | None:
    """[B, T, N] bool, which agents chose an action and were in the game; None where all always do."""
    masks = [mask for key in ("decides", "alive") if (mask := _at_steps(batch, key)) is not None]
    return torch.stack(masks).all(0) if masks else None


def alive(batch: Batch) -> Tensor | None:
    """[B, T, N] bool, which agents were in the game; None where all always are."""
    return _at_steps(batch, "alive")


def leaves(batch: Batch) -> Tensor | None:
    """[B, T, N] bool, agents for whom the game was over after this step though the episode went on."""
    if "obs/alive" not in batch:
        return None
    now, then = batch["obs/alive"][:, :-1], batch["obs/alive"][:, 1:]
    return now & ~then & ~batch["is_first"][:, 1:, None]


def _at_steps(batch: Batch, key: str) -> Tensor | None:
    return batch[f"obs/{key}"][:, : batch["reward"].shape[1]] if f"obs/{key}" in batch else None
