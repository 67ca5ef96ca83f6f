"""Worlds in groups that take turns: while an accelerator acts for one group, the host steps the worlds of the others.

On a CPU nothing runs in parallel, and one group is faster.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import torch

from rl_models.batch import Fragment
from rl_models.policy import TeamPolicy
from rl_models.runtime.device import building_for
from rl_models.team_world import Array, TeamWorld
from rl_models.training.collector import Collector, collect_in_turns
from rl_models.training.device_collector import DeviceCollector
from rl_models.training.resharding import group_sizes

_World = TypeVar("_World", bound=TeamWorld)


class GroupedCollector:
    """A `Collector` of several worlds, each a group of B_g worlds that the same policy plays.

    With the same numbered worlds it collects the same as a single collector, up to rounding; but a team that receives
    messages of other games (`rl_models/llm/narration.py`) receives those of its own group.
    """

    def __init__(
        self, worlds: Sequence[TeamWorld], policy: TeamPolicy, fragment_length: int, needs_values: bool = True
    ) -> None:
        """Prepare the rollouts; arguments as of `Collector`, with a world for each group."""
        self.groups = [Collector(world, policy, fragment_length, needs_values) for world in worlds]
        self.policy = policy

    @property
    def worlds(self) -> list[TeamWorld]:
        """The worlds of each group."""
        return [group.world for group in self.groups]

    @property
    def version(self) -> int:
        """Number of updates of the policy that acts."""
        return self.groups[0].version

    @version.setter
    def version(self, version: int) -> None:
        for group in self.groups:
            group.version = version

    def reset(self, seed: int) -> None:
        """Start new episodes in every world."""
        for group in self.groups:
            group.reset(seed)

    def collect(self) -> Fragment:
        """Play T steps in every world."""
        return Fragment.join(collect_in_turns(self.groups))

    def pop_episodes(self) -> dict[str, Array]:
        """Metrics of the episodes that ended since the last call, name -> [K] or [K, N]; empty if none did."""
        ended = [episodes for group in self.groups if (episodes := group.pop_episodes())]
        return {name: np.concatenate([each[name] for each in ended]) for name in ended[0]} if ended else {}

    def snapshot(self) -> dict[str, Array]:
        """All that the next fragment depends on besides the weights, `group_G/NAME` -> [B_g, ...] of each group."""
        return {
            f"group_{number}/{name}": value
            for number, group in enumerate(self.groups)
            for name, value in group.snapshot().items()
        }

    def restore(self, snapshot: dict[str, Array]) -> None:
        """Continue exactly where `snapshot`, `group_G/NAME` -> [B_g, ...], was taken, with the same groups."""
        for number, group in enumerate(self.groups):
            prefix = f"group_{number}/"
            own = {name.removeprefix(prefix): value for name, value in snapshot.items() if name.startswith(prefix)}
            group.restore(own)


def make_groups(
    make_world: Callable[..., _World],
    num_worlds: int,
    first_world: int,
    groups: int,
    device: torch.device | str = "cpu",
) -> list[_World]:
    """Numbered worlds in groups, whose sizes differ by one at most; `make_world` as of `MakeWorld`.

    Worlds that can be on the device of the policy may be there if it is not the CPU and they are one group.
    """
    sizes = group_sizes(num_worlds, groups)
    firsts = [first_world + sum(sizes[:number]) for number in range(groups)]
    with building_for(torch.device(device if groups == 1 else "cpu")):
        return [make_world(num_worlds=size, first_world=first) for size, first in zip(sizes, firsts, strict=True)]


def make_collector(
    worlds: Sequence[TeamWorld], policy: TeamPolicy, fragment_length: int, needs_values: bool
) -> Collector | GroupedCollector:
    """The collector of one group or of several; raises ValueError for several groups of worlds of tensors."""
    if len(worlds) == 1:
        kind = DeviceCollector if worlds[0].gives_tensors else Collector
        return kind(worlds[0], policy, fragment_length, needs_values)
    if worlds[0].gives_tensors:
        raise ValueError("--workers.world-groups must be 1 for environments with arrays='torch'")
    return GroupedCollector(worlds, policy, fragment_length, needs_values)
