"""Record all outputs of a game, so that two games can be compared number for number.

Every recorded array is `[B, ...]`, also where the contract gives ended worlds only, so a record can be sliced to single
worlds. Row numbers of texts are replaced by the texts, because the numbers may depend on the order in which texts first
appear.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

import numpy as np

from rl_envs.core.spec import Actions, Array, Arrays, NumbersSpec
from rl_envs.core.world import StepResult, World

Record: TypeAlias = list[Arrays]
"""One dict of `[B, ...]` arrays for the reset and for each env step after it."""
Listener: TypeAlias = Callable[[World, Actions, StepResult], None]


class WorldFactory(Protocol):
    """A callable that builds worlds: a world's class, or `functools.partial(make, world_id, ...)`."""

    def __call__(self, num_worlds: int, first_world: int = 0) -> World:
        """Build `num_worlds` worlds of which the first has this number in the run."""


def random_actions(world: World) -> Actions:
    """Uniform actions from the world's random numbers, so they do not depend on runner and batch.

    [B, N] int64, or a dict of such arrays, and [B, N, D] float32 for numbers, for factored actions.
    """
    spec = world.action_spec
    parts: dict[str, int | NumbersSpec] = spec if isinstance(spec, dict) else {"": spec}
    widths = [world.num_agents if isinstance(part, int) else part.low.size for part in parts.values()]
    uniforms = np.split(world.chance.policy_uniforms(sum(widths)), np.cumsum(widths)[:-1], axis=1)
    drawn = {name: _drawn(part, own) for (name, part), own in zip(parts.items(), uniforms, strict=True)}
    return drawn if isinstance(spec, dict) else drawn[""]


def _drawn(part: int | NumbersSpec, uniforms: Array) -> Array:
    if isinstance(part, int):
        return (uniforms * part).astype(np.int64)
    drawn = part.low + (part.high - part.low) * uniforms.reshape(-1, *part.low.shape)
    return np.clip(drawn.astype(np.float32), part.low, part.high)


def with_texts(world: World, observations: Arrays) -> Arrays:
    """Observations [B, N, ...] with tokens, `[B, N, *rows, L]` int32, instead of row numbers."""
    texts = {key: world.texts[key].look_up(observations[key]) for key in world.text_spec}
    return observations | texts


def play(
    world: World,
    env_steps: int,
    choose: Callable[[World], Actions] = random_actions,
    listeners: Sequence[Listener] = (),
) -> Record:
    """Step a running world and record its outputs; listeners get the world, the actions and each result."""
    record = []
    for _ in range(env_steps):
        actions = choose(world)
        result = world.step(actions)
        for listener in listeners:
            listener(world, actions, result)
        record.append(flat(world, result))
    return record


def flat(world: World, result: StepResult) -> Arrays:
    """The result of one step as a dict of fresh `[B, ...]` arrays; entries of worlds that did not end are 0."""
    observations, reward, terminated, truncated, info = result
    row = {f"obs/{key}": value for key, value in with_texts(world, observations).items()}
    row |= {"reward": reward, "terminated": terminated, "truncated": truncated, "duration": info["duration"]}
    done = info["done_worlds"]
    if len(done):
        ended = {f"final_obs/{key}": value for key, value in with_texts(world, info["final_obs"]).items()}
        ended |= {f"episode/{key}": value for key, value in info["episode"].items()}
        row |= {key: _spread(value, done, world.num_worlds) for key, value in ended.items()}
    return {key: np.array(value) for key, value in row.items()}


def begin(world: World, seed: int) -> Record:
    """Reset a world and record its first observations."""
    observations = with_texts(world, world.reset(seed))
    return [{f"obs/{key}": np.array(value) for key, value in observations.items()}]


def part(record: Record, worlds: slice) -> Record:
    """The record of some of the worlds."""
    return [{key: value[worlds] for key, value in row.items()} for row in record]


def joined(first: Record, second: Record) -> Record:
    """The records of two runners as one record."""
    return [
        {key: np.concatenate([_values(key, a, b), _values(key, b, a)]) for key in a.keys() | b.keys()}
        for a, b in zip(first, second, strict=True)
    ]


def difference(first: Record, second: Record) -> str | None:
    """Description of the first difference between two records; None if they are equal to the last bit."""
    if len(first) != len(second):
        return f"one has {len(first)} rows, the other {len(second)}"
    for env_step, (a, b) in enumerate(zip(first, second, strict=True)):
        for key in sorted(a.keys() | b.keys()):
            if not _equal(a.get(key), b.get(key)):
                return f"{key!r} differs at env step {env_step}"
    return None


def digest(world: World, record: Record) -> str:
    """Hash of the agents' order, the tables and the exact content of a record, equal in every process."""
    content = hashlib.sha256(" ".join(world.agents).encode())
    for row in (world.tables, *record):
        for key in sorted(row):
            content.update(f"{key} {row[key].dtype} {row[key].shape}".encode())
            content.update(np.ascontiguousarray(row[key]).tobytes())
    return content.hexdigest()


def _spread(value: Array, rows: Array, num_worlds: int) -> Array:
    whole = np.zeros((num_worlds, *np.shape(value)[1:]), np.asarray(value).dtype)
    whole[rows] = value
    return whole


def _equal(first: Array | None, second: Array | None) -> bool:
    """Equal to the last bit; a key that is missing because no world ended equals zeros."""
    if first is None or second is None:
        present = first if second is None else second
        return present is not None and not present.any()
    return first.dtype == second.dtype and np.array_equal(first, second, equal_nan=first.dtype.kind == "f")


def _values(key: str, own: Arrays, other: Arrays) -> Array:
    """Values of a key, [B, ...]; zeros where it is missing because no world ended."""
    return own[key] if key in own else np.zeros((len(own["reward"]), *other[key].shape[1:]), other[key].dtype)
