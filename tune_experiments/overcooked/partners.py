"""A kitchen in which one chef learns and the other is frozen (FCP; Strouse et al., NeurIPS 2021).

The partner is drawn for each episode, and the learner's role alternates. For the learner the partner is part of the
environment: its chef is marked as not `alive`, so actions chosen for it are ignored, it gets no reward, and no loss
includes it. In `KitchenWithMixture` partners are not equally likely, and in a share of the episodes the learner is its
own partner, so that both chefs learn (COLE; Li et al., ICML 2023).

State beyond Overcooked's: `partner` [], its number, and `place` [], the learner's (0 or 1); with a mixture `visits`
[K], number of episodes of this world with each partner.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from rl_envs.core.spec import Array, Arrays, ArraySpec
from rl_envs.overcooked.world import Overcooked
from rl_models.policy import TeamPolicy
from rl_models.runtime.device import chosen_device, copy_on, get_device, to_device
from rl_models.training.collector import to_numpy
from tune_experiments.overcooked.cole_solver import add_visit_weights

_UNIFORMS = "uniforms"
"""Copied to the device with the observations."""


class KitchenWithPartners(Overcooked):
    """Overcooked with a population of partners, whose actions are sampled from the world's own chance."""

    array_libraries = ("numpy",)

    def __init__(
        self, num_worlds: int = 1, first_world: int = 0, *, partners: Sequence[TeamPolicy], **arguments: Any
    ) -> None:
        """Prepare the worlds; a ValueError without partners.

        `partners` are K teams without memory on the kitchen's observations and actions; they act where networks of this
        process run.
        """
        super().__init__(num_worlds, first_world, **arguments)
        if not partners:
            raise ValueError("a kitchen with partners needs one or more")
        self.partners = [copy_on(chosen_device(), team) for team in partners]
        self.observation_spec |= {"alive": ArraySpec((), "bool", 0, 1, "whether one is the chef who learns")}

    def _begin(self, rows: Array) -> None:
        super()._begin(rows)
        self.state["partner"][rows] = (self.chance.uniforms(1, rows)[:, 0] * len(self.partners)).astype(int)
        self.state["place"][rows] = (self.first_world + rows + self.chance.episode[rows]) % self.num_agents

    def _advance(self, actions: Any, recorded: Arrays) -> tuple[Array, Array, Array]:
        learns = self._learns()
        reward, terminated, truncated = super()._advance(np.where(learns, actions, self.partners_actions()), recorded)
        return reward * learns, terminated, truncated

    def _learns(self) -> Array:
        """[B, 2] bool, chefs that the learner controls."""
        return np.asarray(self.state["place"][:, None] == np.arange(self.num_agents))

    @torch.inference_mode()
    def partners_actions(self) -> Array:
        """Actions of each environment's partner as either chef, [B, 2] int64."""
        arrays = {**super()._observe(self._rows), _UNIFORMS: self.chance.uniforms(1 + self.num_agents)}
        actions = np.zeros((self.num_worlds, self.num_agents), np.int64)
        for number, team in enumerate(self.partners):
            if not len(rows := np.flatnonzero(self.state["partner"] == number)):
                continue
            device = get_device(team)
            seen = to_device({key: value[rows][:, None] for key, value in arrays.items()}, device)
            uniforms, never = seen.pop(_UNIFORMS), torch.zeros(len(rows), 1, dtype=torch.bool, device=device)
            actions[rows] = np.asarray(to_numpy(team(seen, {}, never).policy.sample(uniforms)[0]))
        return actions

    def _observe(self, rows: Array) -> Arrays:
        return super()._observe(rows) | {"alive": self._learns()[rows]}

    @property
    def _rows(self) -> Array:
        return np.arange(self.num_worlds)

    def _blank_state(self, num_worlds: int) -> Arrays:
        own = {name: np.zeros(num_worlds, np.int64) for name in ("partner", "place")}
        return super()._blank_state(num_worlds) | own

    def _state_bounds(self) -> dict[str, tuple[int, int]]:
        own = {"partner": (0, len(self.partners)), "place": (0, self.num_agents - 1)}
        return super()._state_bounds() | own


@dataclass(frozen=True)
class Mixture:
    """How partners are drawn: by weights [K], before any visit, and a bonus of `visit_weight` for rarely met ones.

    `self_share` is the share of episodes in which the learner is its own partner.
    """

    weights: tuple[float, ...]
    self_share: float
    visit_weight: float


class KitchenWithMixture(KitchenWithPartners):
    """A kitchen whose partners are drawn by weights with a bonus for rare visits, or that is played in self-play."""

    def __init__(
        self,
        num_worlds: int = 1,
        first_world: int = 0,
        *,
        partners: Sequence[TeamPolicy],
        mixture: Mixture,
        **arguments: Any,
    ) -> None:
        """Prepare the worlds, with one weight for each partner, else raise ValueError."""
        if len(mixture.weights) != len(partners):
            raise ValueError(f"{len(partners)} partners need as many weights, got {len(mixture.weights)}")
        self._mixture = mixture
        super().__init__(num_worlds, first_world, partners=partners, **arguments)

    def _start(self, rows: Array) -> None:
        """Begin episodes; visits are kept."""
        visits = self.state["visits"][rows] * (self.chance.episode[rows] > 0)[:, None] if self.state else 0
        super()._start(rows)
        self.state["visits"][rows] = visits
        self._draw_partners(rows)

    def _draw_partners(self, rows: Array) -> None:
        visits, itself = self.state["visits"], len(self.partners)
        weights = add_visit_weights(np.array(self._mixture.weights), visits[rows], self._mixture.visit_weight)
        shares = weights / weights.sum(1, keepdims=True) * (1 - self._mixture.self_share)
        uniforms = self.chance.uniforms(1, rows)
        drawn = (uniforms >= shares.cumsum(1)).sum(1)
        if not self._mixture.self_share:  # sums may fall short of 1
            drawn = np.minimum(drawn, itself - 1)
        self.state["partner"][rows] = drawn
        met = drawn < itself
        visits[rows[met], drawn[met]] += 1

    def _learns(self) -> Array:
        return np.asarray(super()._learns() | (self.state["partner"] == len(self.partners))[:, None])

    def _blank_state(self, num_worlds: int) -> Arrays:
        visits = np.zeros((num_worlds, len(self._mixture.weights)), np.int64)
        return super()._blank_state(num_worlds) | {"visits": visits}
