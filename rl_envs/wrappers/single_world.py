"""One world whose episodes begin when the caller resets it, as Gymnasium and PettingZoo expect.

A batched world begins the next episode within the step that ends one. Here the final state stays, so that it can be
observed and rendered; further steps are refused until the next `reset`, which continues the world's own chance.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rl_envs.core.arguments import flags
from rl_envs.core.array_library import NUMPY
from rl_envs.core.spec import Actions, Array, Arrays
from rl_envs.core.world import World
from rl_envs.registry import make
from rl_envs.wrappers.spaces import forget_texts, with_tokens


@dataclass(frozen=True)
class SingleStep:
    """The result of one env step.

    Attributes:
        observations: dict of `[N, ...]` arrays; a text is its tokens, `[N, L]`.
        reward: [N] float64.
        terminated, truncated: whether and how the episode ended.
        duration: [N] int32, env steps since each agent's last decision.
        episode: after the last step `return` [N] and the other metrics as floats; empty before.
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


class SingleWorld:
    """A world of B = 1 whose episodes begin with `reset`.

    Attributes:
        world: the wrapped world.
        is_over: whether the next call must be `reset`.
        text_tokens: whether ids of constant texts are given as tokens, too.
    """

    def __init__(self, world: World | str, arguments: dict[str, Any] | None = None, text_tokens: bool = False) -> None:
        """Wrap a world of B = 1, or make a registered one.

        With `text_tokens`, ids that are rows of a table of texts (`World.text_tables`) become tokens. Raises ValueError
        where B is not 1, the world is in torch, `text_tokens` is no bool, or arguments were given for a world that is
        already built.
        """
        flags(text_tokens=text_tokens)
        if isinstance(world, str):
            world = make(world, num_worlds=1, **(arguments or {}))
        elif arguments:
            raise ValueError(f"this world is already built; it cannot take {sorted(arguments)}")
        if world.num_worlds != 1:
            raise ValueError(f"this wrapper takes one world; got {world.num_worlds} (TeamVectorEnv takes many)")
        require_numpy(world)
        self.world = world
        self.text_tokens = text_tokens
        self.is_over = True
        self._has_chance = False

    def reset(self, seed: int | None = None) -> Arrays:
        """Start the first episode of this seed; without a seed, the next episode of the world's own chance.

        Without a seed the first episode takes one from the operating system, so that unseeded copies differ. Returns
        observations, key -> [N, ...].
        """
        self.world.auto_resets = False  # another wrapper may have played it
        if seed is None and self._has_chance:
            observations = self.world.next_episode()
        else:
            observations = self.world.reset(_fresh_seed() if seed is None else seed)
        self._has_chance, self.is_over = True, False
        return self._unbatched(observations)

    def step(self, actions: Actions) -> SingleStep:
        """One env step with actions `[N]` int, or a dict of such arrays.

        Raises RuntimeError where the episode is over, or `reset` was never called.
        """
        if self.is_over:
            raise RuntimeError("this episode is over (or none has begun): call reset before step")
        batched = _batched(actions)
        observations, reward, terminated, truncated, info = self.world.step(batched)
        self.is_over = bool(terminated[0] or truncated[0])
        return SingleStep(
            self._unbatched(observations),
            reward[0],
            bool(terminated[0]),
            bool(truncated[0]),
            info["duration"][0],
            {name: value[0] if value.ndim > 1 else float(value[0]) for name, value in info.get("episode", {}).items()},
        )

    def render(self) -> Array:
        """Image of the present state, the final one included, [H, W, 3] uint8."""
        return self.world.render(0)

    @property
    def can_render(self) -> bool:
        """Whether this world implements `render`."""
        return _renders(self.world)

    def _unbatched(self, observations: Arrays) -> Arrays:
        observations = with_tokens(self.world, observations, self.text_tokens)
        forget_texts(self.world)
        return {key: value[0, ...] for key, value in observations.items()}


def require_numpy(world: World) -> None:
    """Refuse a world whose observations are no NumPy arrays.

    Raises ValueError where the world was built with `arrays="torch"`.
    """
    if world.xp is not NUMPY:
        raise ValueError(f"this wrapper takes worlds in NumPy, and this one has arrays={world.xp.name!r}: leave it out")


def checked_render_mode(render_mode: str | None, world: World) -> str | None:
    """The render mode of a wrapper.

    Raises ValueError where it is neither `rgb_array` nor None, or the world does not render.
    """
    if render_mode not in (None, "rgb_array"):
        raise ValueError(f"render_mode must be 'rgb_array' or None, got {render_mode!r}")
    if render_mode and not _renders(world):
        raise ValueError("this world does not render; leave render_mode out")
    return render_mode


def _renders(world: World) -> bool:
    return type(world).render is not World.render


def _batched(actions: Actions) -> Actions:
    if isinstance(actions, dict):
        return {name: np.asarray(value)[None] for name, value in actions.items()}
    return np.asarray(actions)[None]


def _fresh_seed() -> int:
    entropy = np.random.SeedSequence().generate_state(1, np.uint64)
    return int(entropy[0])
