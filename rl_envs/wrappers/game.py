"""One world played one episode at a time, as other libraries expect it.

The batched worlds begin the next episode within the step that ends one. Here an ended game stays as it ended (so that
it can be looked at and drawn), refuses further steps, and goes on with the world's own chance at the next `begin`. This
file must not import any library that the views serve.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rl_envs.core.spec import Actions, Array, Arrays
from rl_envs.core.world import World
from rl_envs.registry import make


@dataclass(frozen=True)
class Turn:
    """What one env step brought.

    Attributes:
        observations: dict of `[N, ...]`, texts as token rows.
        reward: [N] float64.
        terminated, truncated: how the episode ended, if it did.
        duration: [N] int32, env steps since each agent's last decision.
        episode: at an episode's end `return` [N] and the other metrics as floats; else empty.
    """

    observations: Arrays
    reward: Array
    terminated: bool
    truncated: bool
    duration: Array
    episode: dict[str, Any]

    @property
    def is_last(self) -> bool:
        """Whether the episode is over."""
        return self.terminated or self.truncated


class Game:
    """A world of B = 1 whose episodes begin when asked to.

    Attributes:
        world: the world.
        is_over: whether the next call must be `begin`.
    """

    def __init__(self, world: World | str, arguments: dict[str, Any] | None = None) -> None:
        """Take over a ready world, or make one.

        Args:
            world: a world with one game in it, or the id of a registered one.
            arguments: keyword arguments of a registered one.

        Raises:
            ValueError: more than one world, or arguments for one that is already built.
        """
        if isinstance(world, str):
            world = make(world, num_worlds=1, **(arguments or {}))
        elif arguments:
            raise ValueError(f"this world is already built; it cannot take {sorted(arguments)}")
        if world.num_worlds != 1:
            raise ValueError(f"this view shows one world; got {world.num_worlds} (TeamVectorEnv shows many)")
        world.auto_resets = False
        self.world = world
        self.is_over = True
        self._has_chance = False

    def begin(self, seed: int | None = None) -> Arrays:
        """Start an episode: the first one of this seed, or the next one of the world's chance where there is no seed.

        A first episode without a seed takes one from the operating system, so that many unseeded copies differ.

        Returns:
            observations, dict of `[N, ...]`.
        """
        if seed is None and self._has_chance:
            observations = self.world.next_episode()
        else:
            observations = self.world.reset(_fresh_seed() if seed is None else seed)
        self._has_chance, self.is_over = True, False
        return self._alone(observations)

    def play(self, actions: Actions) -> Turn:
        """One env step with actions `[N]`, or a dict of those.

        Raises:
            RuntimeError: the episode is over, or none has begun.
        """
        if self.is_over:
            raise RuntimeError("this episode is over (or none has begun): call reset before step")
        batched = _batched(actions)
        observations, reward, terminated, truncated, info = self.world.step(batched)
        self.is_over = bool(terminated[0] or truncated[0])
        return Turn(
            self._alone(observations),
            reward[0],
            bool(terminated[0]),
            bool(truncated[0]),
            info["duration"][0],
            {name: value[0] if value.ndim > 1 else float(value[0]) for name, value in info.get("episode", {}).items()},
        )

    def picture(self) -> Array:
        """[H, W, 3] uint8 of the present state, the final one included."""
        return self.world.render(0)

    @property
    def can_draw(self) -> bool:
        """Whether this world has pictures."""
        return type(self.world).render is not World.render

    def _alone(self, observations: Arrays) -> Arrays:
        texts = {key: self.world.texts[key].look_up(observations[key]) for key in self.world.text_spec}
        return {key: value[0, ...] for key, value in (observations | texts).items()}


def _batched(actions: Actions) -> Actions:
    if isinstance(actions, dict):
        return {name: np.asarray(value)[None] for name, value in actions.items()}
    return np.asarray(actions)[None]


def _fresh_seed() -> int:
    entropy = np.random.SeedSequence().generate_state(1, np.uint64)
    return int(entropy[0])
