"""Protocols of a world for training, which `rl_envs.World` implements.

A collector steps any object with these methods, so a world from another package needs no base class.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias

from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Observations: TypeAlias = dict[str, Array]
"""Observation key -> [B, N, ...]."""


class Chance(Protocol):
    """The random streams of B worlds at their present step."""

    def policy_uniforms(self, draws: int, first_draw: int = 0) -> Array:
        """Numbers for random choices of a policy, [B, draws] float64 in [0, 1); other ones from another first draw."""


class Texts(Protocol):
    """The texts under one observation key."""

    @property
    def table(self) -> Array:
        """Tokens of all texts, [D, L]."""

    def look_up(self, rows: Array) -> Array:
        """Tokens [..., L] of row numbers [...]."""


class TeamWorld(Protocol):
    """B independent games of N agents each, stepped at once."""

    num_worlds: int
    """B."""

    @property
    def num_agents(self) -> int:
        """N."""

    @property
    def chance(self) -> Chance:
        """The random streams of all worlds."""

    @property
    def texts(self) -> Mapping[str, Texts]:
        """Observation key -> the texts to which its row numbers refer."""

    @property
    def gives_tensors(self) -> bool:
        """Whether all arrays but those of `snapshot` are tensors on a device.

        The info of a step has `ended` [B] bool in place of `done_worlds`, and `final_obs` and `episode` of all worlds.
        """

    @property
    def max_episode_steps(self) -> int:
        """Maximum number of env steps of an episode."""

    @property
    def restarted(self) -> Array | None:
        """[B] bool, worlds in which the last `restore` had to begin a new episode; None if it is always exact."""

    def reset(self, seed: int) -> Observations:
        """Begin the first episode of every world."""

    def step(self, actions: Any) -> tuple[Observations, Array, Array, Array, dict[str, Any]]:
        """Play one env step in every world; a world whose episode ends begins the next one.

        Actions are [B, N] int, or one such array for each factor. Returns observations; rewards [B, N]; terminated [B]
        bool; truncated [B] bool; info with `duration` [B, N] and `done_worlds` [K], and for these worlds `final_obs`
        and `episode`.
        """

    def observe(self) -> Observations:
        """The present observations."""

    def prepare(self, steps: int) -> None:
        """Prepare on the host what the next env steps need of it, where a captured step cannot ask for it."""

    def compact_texts(self) -> None:
        """Drop the texts that no present observation uses; earlier row numbers become invalid."""

    def snapshot(self) -> dict[str, Array]:
        """Complete state, name -> [B, ...]."""

    def restore(self, state: dict[str, Array]) -> Observations:
        """Continue exactly where `snapshot`, name -> [B, ...], was taken; the present observations."""

    def close(self) -> None:
        """Release resources such as processes."""


MakeWorld: TypeAlias = Callable[..., TeamWorld]
"""`(num_worlds, first_world) -> worlds`, called with these keywords, picklable."""
