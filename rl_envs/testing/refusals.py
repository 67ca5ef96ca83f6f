"""Refusals: a world rejects wrong actions, draws and states and stays unchanged; and `render` changes nothing."""

import contextlib
import functools
from collections.abc import Callable, Iterator

import numpy as np

from rl_envs.core.spec import Actions, Array, Arrays, NumbersSpec, deciding
from rl_envs.core.world import World
from rl_envs.testing.contract import check_observations, require
from rl_envs.testing.determinism import pickled, require_same
from rl_envs.testing.recorder import begin, play, random_actions, with_texts

_MAX_DRAWS = 9


def check_not_begun(world: World) -> None:
    """A fresh world refuses to step."""
    actions = _zeros(world)
    require(_raises(RuntimeError, lambda: world.step(actions)), "a step before reset must raise RuntimeError")


def check_refusals(world: World, seed: int) -> None:
    """Wrong actions, draws and states raise ValueError and leave the world as it was."""
    begin(world, seed)
    world.step(random_actions(world))
    _play_until_an_agent_decides(world)
    before = world.snapshot()
    for fault, actions in _wrong_actions(world):
        is_refused = _raises(ValueError, functools.partial(world.step, actions))
        require(is_refused, f"actions {fault} must be refused by ValueError")
        _require_unchanged(world, before, f"refusing actions {fault}")
    actions = random_actions(world)
    for fault, draw in _wrong_draws(world):
        is_refused = _raises(ValueError, functools.partial(world.step, actions, chance=draw))
        require(is_refused, f"{fault} must be refused by ValueError")
        _require_unchanged(world, before, f"refusing {fault}")
    unknown = before | {"an unknown state": np.zeros(world.num_worlds)}
    require(_raises(ValueError, lambda: world.restore(unknown)), "an unknown state must be refused by ValueError")
    _require_unchanged(world, before, "refusing an unknown state")
    for key, value in before.items():
        for wrong in _cannot_be_held(value):
            require(
                _raises(ValueError, functools.partial(world.restore, before | {key: wrong}), naming=key),
                f"a state whose {key!r} ({value.dtype}) is {wrong.flat[0]} must be refused by its name with ValueError",
            )
        _require_unchanged(world, before, f"refusing what {key!r} cannot hold")


def check_states(world: World, seed: int) -> None:
    """A state is refused by ValueError, which changes nothing of the future, or it is played.

    Tried are the lowest and the highest number that each array of a state can hold.
    """
    begin(world, seed)
    world.step(random_actions(world))
    before, untouched = world.snapshot(), pickled(world)
    for state in _refused_states(pickled(world), before):
        with contextlib.suppress(ValueError):
            world.restore(state)
        _require_unchanged(world, before, "refusing a state")
    mine, other = (
        [*play(each, 2), with_texts(each, each.next_episode()), *play(each, 1)] for each in (world, untouched)
    )
    require_same(mine, other, "refusing states changes the future")


def _refused_states(world: World, before: Arrays) -> list[Arrays]:
    """States with the lowest or highest numbers that an array can hold; those that are not refused are played."""
    refused = []
    for key, value in before.items():
        numbers = np.iinfo(value.dtype) if value.dtype.kind in "iu" and value.size else None
        for number in (numbers.min, numbers.max) if numbers else ():
            state, where = before | {key: np.full_like(value, number)}, f"in a state whose {key!r} is {number}"
            try:
                seen = [world.restore(state), world.step(random_actions(world))[0]]
            except ValueError:
                refused.append(state)
                continue
            except Exception as fault:
                raise AssertionError(f"{where} the world raises {fault!r}; it must be refused by ValueError") from fault
            for observations in seen:
                check_observations(world, observations, world.num_worlds, where)
            world.restore(before)
    return refused


def check_render(world: World, seed: int) -> None:
    """A world that renders returns uint8 `[H, W, 3]` with the agents in their colours, and does not change."""
    if type(world).render is World.render:
        return
    begin(world, seed)
    colours = world.agent_colours()
    require(len(colours) in (0, world.num_agents), f"agent_colours must name {world.num_agents} colours or none")
    for colour in colours:
        drawn = (world.render(0) == np.asarray(colour)).all(-1).any()
        require(bool(drawn), f"no pixel of the first frame has the colour {colour}, which `agent_colours` names")
    for index in range(world.num_worlds):
        before = world.snapshot()
        frame = world.render(index)
        require(
            frame.dtype == np.uint8 and frame.ndim == 3 and frame.shape[2] == 3 and frame.size,
            f"a frame must be uint8 [H, W, 3], got {frame.dtype} {frame.shape}",
        )
        _require_unchanged(world, before, "rendering")
        world.step(random_actions(world))


def _wrong_actions(world: World) -> Iterator[tuple[str, Actions]]:
    good = _zeros(world)
    for fault, spoil in _faults(world):
        if isinstance(good, dict):
            first = next(iter(good))
            yield fault, good | {first: spoil(good[first])}
        else:
            yield fault, spoil(good)
    if isinstance(good, dict):
        yield "without one of their factors", {name: good[name] for name in list(good)[1:]}
        yield "with a factor too many", good | {"an unknown factor": next(iter(good.values()))}


def _wrong_draws(world: World) -> Iterator[tuple[str, dict[str, Array]]]:
    """Recorded draws that no world makes: whatever a draw's shape is, one of these arrays has it."""
    yield "an unknown recorded draw", {"an unknown draw": np.zeros(world.num_worlds)}
    shapes = [(world.num_worlds,), *((world.num_worlds, count) for count in range(1, _MAX_DRAWS))]
    for name in world.recorded_draws:
        yield f"the draw {name} of too many worlds", {name: np.zeros(world.num_worlds + 1, np.int64)}
        for fault, wrong in (("that is no number", np.nan), ("out of range", np.iinfo(np.int64).max)):
            yield from ((f"the draw {name} {fault}", {name: np.full(shape, wrong)}) for shape in shapes)


def _faults(world: World) -> list[tuple[str, Callable[[Array], Array]]]:
    size = next(iter(world.action_spec.values())) if isinstance(world.action_spec, dict) else world.action_spec
    if isinstance(size, NumbersSpec):
        beyond = size.high + 1
        return [
            ("of the wrong shape", lambda good: good[:, :, None]),
            ("beyond the bounds", lambda good: np.broadcast_to(beyond, good.shape)),
            ("that are no numbers", lambda good: np.full(good.shape, np.nan)),
        ]
    return [
        ("of the wrong shape", lambda zeros: zeros[:, :, None]),
        ("of too many worlds", lambda zeros: np.concatenate([zeros, zeros])),
        ("that are not integers", lambda zeros: zeros.astype(np.float64)),
        ("beyond the last one", lambda zeros: zeros + size),
        ("below zero", lambda zeros: zeros - 1),
    ]


def _play_until_an_agent_decides(world: World) -> None:
    for _ in range(world.max_episode_steps):
        decides = deciding(world.observe())
        if decides is None or decides.any():
            return
        world.step(random_actions(world))


def _cannot_be_held(value: Array) -> list[Array]:
    """Numbers that an array's type cannot represent, in its shape."""
    if not value.size:
        return []
    wrong = [np.full(value.shape, np.nan)]
    if value.dtype.kind != "f":
        wrong.append(np.full(value.shape, 0.7))
    if value.dtype.kind == "b":
        wrong.append(np.full(value.shape, 2))
    elif value.dtype.kind in "iu" and value.itemsize < 8:
        wrong.append(np.full(value.shape, np.iinfo(value.dtype).max + 1))
    return wrong


def _zeros(world: World) -> Actions:
    zeros = np.zeros((world.num_worlds, world.num_agents), np.int64)
    if not isinstance(world.action_spec, dict):
        return zeros
    worlds = (world.num_worlds, 1, 1)
    return {
        name: zeros if isinstance(one, int) else np.tile(one.low, worlds) for name, one in world.action_spec.items()
    }


def _raises(kind: type[Exception], act: Callable[[], object], naming: str = "") -> bool:
    try:
        act()
    except Exception as fault:
        return isinstance(fault, kind) and naming in str(fault)
    return False


def _require_unchanged(world: World, before: dict[str, Array], what: str) -> None:
    after = world.snapshot()
    changed = sorted(key for key in before if not np.array_equal(before[key], after[key]))
    require(not changed, f"{what} changes the world's {', '.join(changed)}")
