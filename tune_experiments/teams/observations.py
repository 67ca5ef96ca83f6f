"""Observations as inputs of networks: parts, their divisors, and notes about them."""

import functools
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from rl_envs import World
from rl_envs.registry import find_entry_point
from rl_envs.wrappers.custom.world import PettingZooWorld
from rl_models.networks.network_needs import NETWORKS
from rl_models.networks.parts import Part
from tune_experiments.core.errors import UserError
from tune_experiments.core.files import read_json, write_json
from tune_experiments.run.trial import CHECKPOINTS, DECLARED_FILE
from tune_experiments.teams.config import Config
from tune_experiments.teams.worlds import make_world

MAX_DIVISOR, MAX_PIXEL_DIVISOR = 1e4, 2.0**16
"""Largest bounds used as divisors; larger ones are rarely informative."""
_MAX_LENGTH = 120
_TINY = float(np.finfo(np.float32).eps)
_MAX_BOUND_RATIO = 10.0
"""Largest ratio of the bounds of two agents that share a divisor."""
_MAX_FRAMES, _MIN_SIDE = 4, 16
"""Most channels, and fewest rows and columns, of an image of a custom environment with its channels first."""
_LEAST_SHARE = 0.02
"""Smallest share of an entry's divisor that its bounds may span without a note."""
_NOT_READ = ("legal", "alive", "decides", "coordination")


@functools.lru_cache(maxsize=4)
def example_world(config: Config) -> World:
    """One world, for its specifications."""
    world = make_world(config)
    world.close()
    return world


def keep_declaration(config: Config, trial_folder: Path) -> None:
    """Write what an environment from outside this package declares beside the checkpoints, before the first one."""
    if not any((trial_folder / CHECKPOINTS).glob("checkpoint_*")) and find_entry_point(config.env) is None:
        write_json(trial_folder / DECLARED_FILE, _declaration(example_world(config)))


def check_declaration(config: Config, trial_folder: Path) -> None:
    """Refuse (UserError) an environment that declares something else than when the team of a trial was trained."""
    path = trial_folder / DECLARED_FILE
    if not path.exists():
        return
    present = _declaration(example_world(config))
    for what, was in read_json(path).items():
        if (now := present.get(what, "missing")) != was:
            raise UserError(
                f"{config.env} has changed since this team was trained: {what} was {str(was)[:_MAX_LENGTH]} and is "
                f"{now[:_MAX_LENGTH]}: restore the environment, or train a new team with another --out"
            )


def _declaration(world: World) -> dict[str, str]:
    """What a team depends on: agents in their order, the spaces of each, and the length of episodes."""
    found: dict[str, Any] = {"agents": list(world.agents), "the time limit in env steps": world.max_episode_steps}
    if isinstance(world, PettingZooWorld):
        declared = world.declaration
        for what, own in (("observation", declared.observation_spaces), ("action", declared.action_spaces)):
            found |= {f"{what}_space of {name}": _exact(one) for name, one in zip(world.agents, own, strict=True)}
        found["vocabulary"] = declared.vocabulary
    else:
        found["action_spec"] = world.action_spec
        found |= {
            f"observation {key}": (spec.shape, spec.dtype, spec.low, spec.high)
            for key, spec in world.observation_spec.items()
        }
    return {what: " ".join(str(one).split()) for what, one in found.items()}


def _exact(space: spaces.Space) -> str:
    """A space as text, whatever NumPy's print options are."""
    if isinstance(space, spaces.Box):
        bounds = hashlib.sha256(space.low.tobytes() + space.high.tobytes()).hexdigest()[:8]
        low, high = (side.astype(np.float64) for side in (space.low, space.high))
        ends = f"{low.min(initial=np.inf):.6g}, {high.max(initial=-np.inf):.6g}"
        return f"Box({ends}, {space.shape}, {space.dtype}, bounds {bounds})"
    if isinstance(space, spaces.Dict):
        return ", ".join(f"{name}: {_exact(one)}" for name, one in space.items())
    if isinstance(space, spaces.Tuple):
        return ", ".join(map(_exact, space))
    if isinstance(space, spaces.MultiDiscrete):
        return f"MultiDiscrete({space.nvec.tolist()}, {space.start.tolist()})"
    return repr(space)


def make_parts(world: World) -> list[Part]:
    """Parts of a world's observations that a network reads; arrays of 3 x 3 cells and more are images.

    These are [C, H, W] in the worlds of this package, unless the last axis is too short for anything but channels, and
    [H, W, C] in other environments, unless the first axis is.
    """
    bounds, is_own = getattr(world, "bounds", {}), not isinstance(world, PettingZooWorld)
    words = tuple(getattr(world, "vocabulary", ()))
    arrays = []
    for key, one in world.observation_spec.items():
        if key in world.text_tables:
            table = world.tables[world.text_tables[key]]
            is_grid = len(one.shape) == 3 and min(one.shape[:2]) >= 3
            arrays.append(
                Part(key, one.shape, is_image=is_grid, vocabulary=int(table.max()) + 1, table=table, words=words)
            )
        elif one.ids:
            arrays.append(Part(key, one.shape, ids=int(one.high) + 1))
        elif key not in _NOT_READ:
            planes_first = len(one.shape) == 3 and (
                not _has_channels_first(one.shape[::-1]) if is_own else _has_channels_first(one.shape)
            )
            is_image = len(one.shape) == 3 and min(one.shape[1:] if planes_first else one.shape[:2]) >= 3
            low, high = (
                np.moveaxis(side, -3, -1) if planes_first and np.ndim(side) > 2 else side
                for side in bounds.get(key, (one.low, one.high))
            )
            scale = _scale(low, high, is_image)
            arrays.append(Part(key, one.shape, scale, is_image, planes_first=is_image and planes_first))
    texts = [Part(key, one.rows, vocabulary=one.vocabulary, words=words) for key, one in world.text_spec.items()]
    return arrays + texts


def _has_channels_first(shape: Sequence[int]) -> bool:
    """Whether an array of three axes is more likely [C, H, W] than [H, W, C], as frames of Atari are."""
    return shape[0] <= _MAX_FRAMES and min(shape[1:]) >= _MIN_SIDE


def scaling_notes(config: Config) -> list[str]:
    """A note on each array with entries without bounds or of narrow ones, or of an image with its channels first."""
    notes, world = [], example_world(config)
    for part in make_parts(world):
        if part.planes_first and isinstance(world, PettingZooWorld):
            notes.append(f"the observation {part.key!r} is read as an image [{part.shape[0]} channels, rows, columns]")
        shape = (*part.shape[1:], part.shape[0]) if part.planes_first else part.shape
        scale = np.broadcast_to(part.scale, shape)
        if free := int((scale == 0).sum()):
            notes.append(
                f"{free} of {scale.size} entries of the observation {part.key!r} have no bounds, or bounds above "
                f"{MAX_DIVISOR:,.0f}: networks do not divide them, and read them on a logarithmic scale beyond 10 "
                "(declare their bounds in observation_space)"
            )
        if isinstance(world, PettingZooWorld) and part.key in world.bounds:
            low, high = (np.asarray(side, np.float64) for side in world.bounds[part.key])
            narrow = (low < high) & (high - low < _LEAST_SHARE * np.maximum(abs(low), abs(high)).clip(max=MAX_DIVISOR))
            if narrow.any():
                notes.append(
                    f"entries of the observation {part.key!r} have bounds that are close to each other and far from 0: "
                    "networks divide by the larger one, and hardly see a difference (subtract the lower one)"
                )
    return notes


def unread_texts(config: Config) -> list[str]:
    """A note on texts that the network does not read, if any."""
    texts = [part.key for part in make_parts(example_world(config)) if part.is_text]
    if not texts or NETWORKS[config.network.name].reads_texts:
        return []
    return [f"the network {config.network.name} does not read the texts {', '.join(texts)}"]


def _scale(low: Any, high: Any, is_image: bool) -> float | NDArray[np.floating]:
    """Divisors of one agent's entries, of an image (H, W, C) of its channels; bounds are numbers or [N, *shape]."""
    largest = np.maximum(np.abs(low), np.abs(high)).astype(np.float64)
    if largest.ndim:
        largest = largest.reshape(-1, largest.shape[-1]) if is_image else largest
        # An entry is 0 for agents without it; agents with different bounds must share a divisor.
        smallest = np.where(largest > _TINY, largest, np.inf).min(0)
        largest = largest.max(0)
        largest = np.where(largest > _MAX_BOUND_RATIO * smallest, np.inf, largest)
    most = MAX_PIXEL_DIVISOR if is_image else MAX_DIVISOR
    divisors = np.where(largest > _TINY, np.where(largest <= most, largest, 0.0), 1.0)
    is_one = divisors.size and (divisors == divisors.flat[0]).all()
    return float(divisors.flat[0]) if is_one else divisors
