"""Determinism: a game depends only on its seed, not on other worlds, runners, processes, snapshots or the caller.

Each check plays the same game twice under different conditions and requires equality to the last bit.
"""

import contextlib
import json
import os
import pickle
import pkgutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any
from unittest import mock

import numpy as np

from rl_envs.core.random_play import random_legal_actions
from rl_envs.core.restoring import TEXTS
from rl_envs.core.spec import RESERVED_KEYS, Actions, Array, Arrays, deciding
from rl_envs.core.world import StepResult, World
from rl_envs.testing.contract import require
from rl_envs.testing.recorder import (
    Record,
    WorldFactory,
    begin,
    difference,
    digest,
    flat,
    joined,
    part,
    play,
    random_actions,
    with_texts,
)

Recipe = tuple[str, Mapping[str, Any]]
"""`("package.module:callable", keyword arguments)`: how another process builds the same worlds."""


def whole_game(world: World, seed: int, env_steps: int) -> Record:
    """Reset a world and play it for `env_steps`."""
    return begin(world, seed) + play(world, env_steps)


def require_same(first: Record, second: Record, rule: str) -> None:
    """Raise AssertionError with the rule and the first difference between two records."""
    parted = difference(first, second)
    require(parted is None, f"{rule}: {parted}")


def check_seed(make_world: WorldFactory, record: Record, seed: int) -> None:
    """The seed determines the whole game, independent of earlier games."""
    world = make_world(len(record[0][next(iter(record[0]))]))
    env_steps = len(record) - 1
    require_same(record, whole_game(world, seed, env_steps), "the same seed gave another game")
    key = world.chance.key
    begin(world, seed + 1)
    require((world.chance.key != key).all(), "another seed gives a world the same chance.key")
    play(world, 2)
    require_same(record, whole_game(world, seed, env_steps), "a world that was played before replays another game")


def check_neighbours(make_world: WorldFactory, record: Record, seed: int) -> None:
    """A world plays the same game alone, in a batch and on another runner."""
    num_worlds = len(record[0][next(iter(record[0]))])
    env_steps = len(record) - 1
    for index in (0, num_worlds - 1):
        alone = whole_game(make_world(1, first_world=index), seed, env_steps)
        require_same(
            part(record, slice(index, index + 1)), alone, f"world {index} of {num_worlds} plays another game alone"
        )
    half = num_worlds // 2
    runners = [make_world(half), make_world(num_worlds - half, first_world=half)]
    halves = [whole_game(world, seed, env_steps) for world in runners]
    require_same(record, joined(*halves), "split over two runners the worlds play other games")


def check_other_process(recipe: Recipe, name: str, num_worlds: int, seed: int, env_steps: int) -> None:
    """Another process with another hash seed plays the same game; `name` is the digest of this process's record."""
    request = json.dumps([recipe[0], dict(recipe[1]), num_worlds, seed, env_steps])
    here = os.environ.get("PYTHONHASHSEED", "random")
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path),
        "PYTHONHASHSEED": "4321" if here != "4321" else "1234",
    }
    answer = subprocess.run(
        [sys.executable, "-P", "-c", f"from {__name__} import print_digest; print_digest()", request],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    require(answer.returncode == 0, f"the world does not play in another process: {answer.stderr[-500:]}")
    require(answer.stdout.strip() == name, "another process with another hash seed plays another game")


def print_digest() -> None:
    """In the other process: play the game of the command line and print the digest of its record."""
    recipe, arguments, num_worlds, seed, env_steps = json.loads(sys.argv[1])
    world = pkgutil.resolve_name(recipe)(num_worlds=num_worlds, **arguments)
    print(digest(world, whole_game(world, seed, env_steps)))


def check_snapshot(make_world: WorldFactory, world: World, seed: int, before: int, after: int) -> None:
    """A snapshot and a pickle from the middle of an episode give the same future, in this world and in a fresh one."""
    begin(world, seed)
    play(world, before)
    snapshot = world.snapshot()
    kept = {key: value.copy() for key, value in snapshot.items()}
    copy = pickled(world)
    now = [_observed(world, world.observe())]
    future = now + play(world, after)
    for key, value in kept.items():
        require(np.array_equal(snapshot[key], value), f"playing on changes {key!r} in a snapshot taken before")
    fresh = make_world(world.num_worlds)
    for place, restored in (("a fresh world", fresh), ("the same world", world)):
        again = [_observed(restored, restored.restore(kept)), *play(restored, after)]
        require_same(future, again, f"restored into {place} the snapshot has another future")
    require_same(future, [_observed(copy, copy.observe()), *play(copy, after)], "pickled the world has another future")
    least = {key: value for key, value in kept.items() if key in world._needed_state() or key.startswith(TEXTS)}
    with contextlib.suppress(ValueError):  # what is left out may say why a state is possible
        new, used = (
            [_observed(one, one.restore(least)), *play(one, 1)] for one in (make_world(world.num_worlds), world)
        )
        require_same(new, used, "what a restored state leaves out depends on what was played before")


def check_ownership(world: World, record: Record, seed: int) -> None:
    """Returned arrays belong to the caller: they never share memory, and writing into them does not change the game."""
    observations = world.reset(seed)
    first = {f"obs/{key}": value.copy() for key, value in with_texts(world, observations).items()}
    rows, before = [first], _overwrite(observations)
    for _ in range(len(record) - 1):
        actions = random_actions(world)
        given = pickle.dumps(actions)
        result = world.step(actions)
        require(pickle.dumps(actions) == given, "step changes the caller's actions")
        rows.append(flat(world, result))
        arrays = _arrays(result)
        for key, array in arrays.items():
            shared = [other for other, old in before.items() if np.may_share_memory(array, old)]
            require(not shared, f"{key!r} shares memory with {shared} of the step before")
        before = _overwrite(arrays)
    require_same(record, rows, "writing into returned arrays changes the game")


def check_undecided_actions(world: World, record: Record, seed: int) -> None:
    """Actions of agents that do not decide, or are out of the game, are ignored."""
    if not set(RESERVED_KEYS) & set(world.observation_spec):
        return

    def choose(world: World) -> Actions:
        decides, actions = deciding(world.observe()), random_actions(world)
        if isinstance(actions, dict):
            return {name: _with_other_actions(decides, value) for name, value in actions.items()}
        return _with_other_actions(decides, actions)

    other = begin(world, seed) + play(world, len(record) - 1, choose)
    require_same(record, other, "the action of an agent that does not decide changes the game")


def check_endings(world: World, twin: World, seed: int, env_steps: int) -> None:
    """What ends and begins in one step is what the twin, without auto-reset, shows before and in `next_episode`."""
    twin.auto_resets = False
    begin(world, seed)
    begin(twin, seed)
    for _ in range(env_steps):
        actions = random_actions(world)
        observations, *_, info = world.step(actions)
        last = _observed(twin, twin.step(actions)[0])
        require_same([last], [_observed(twin, twin.observe())], "observe differs from what the step returned")
        done = info["done_worlds"]
        if done.size:
            for own, kept in ((with_texts(world, info["final_obs"]), last), (info["final_state"], twin.state)):
                ended = [{name: np.asarray(kept[name])[done] for name in own}]
                require_same(ended, [own], "final_obs or final_state is not what the ended episode shows at its end")
            twin.next_episode(done)
        now = [_observed(twin, twin.observe())]
        require_same([_observed(world, observations)], now, "next_episode of the ended worlds does not begin as a step")


def check_chance(world: World, seed: int, env_steps: int) -> None:
    """The same actions lead to other games in other worlds, episodes and seeds, if chance has a part in them at all."""

    def played(start: Record) -> Record:
        draws = np.random.default_rng(seed)

        def choose(world: World) -> Actions:
            actions = random_legal_actions(world, {}, draws)
            if isinstance(actions, dict):
                return {name: _alike(part) for name, part in actions.items()}
            return _alike(actions)

        return start + play(world, env_steps, choose)

    first, by_seed = played(begin(world, seed)), played(begin(world, seed + 1))
    begin(world, seed)
    by_episode = played([{f"obs/{key}": value for key, value in _observed(world, world.next_episode()).items()}])
    others = _each_alike(first), by_episode, by_seed
    differ_by_world, differ_by_episode, differ_by_seed = (difference(first, other) is not None for other in others)
    differ_by_world |= difference(by_seed, _each_alike(by_seed)) is not None
    rule = "draw all chance from `chance`"
    require(differ_by_world or not differ_by_seed, f"all worlds of a batch play the same, whatever the seed: {rule}")
    require(differ_by_episode or not differ_by_world, f"every episode is the first one again: {rule}")
    if world.starts_alike and "torch" in world.array_libraries:
        differs = any(difference(first[:1], other[:1]) for other in others)
        require(not differs, "episodes begin differently, although starts_alike is True")


def check_tables(world: World, fresh: World) -> None:
    """A world that was played has the tables of a fresh one."""
    require_same([world.tables], [fresh.tables], "playing changes the tables")


def check_no_global_chance(world: World, seed: int, env_steps: int) -> None:
    """`reset` and `step` do not use the global random generators of `random` and NumPy."""
    with _forbidden_generators():
        begin(world, seed)
        play(world, env_steps)


def _each_alike(record: Record) -> Record:
    return [{key: _alike(value) for key, value in row.items()} for row in record]


def _alike(values: Array) -> Array:
    """The values of the first world in all of them, [B, ...]."""
    return np.repeat(values[:1], len(values), 0)


def _with_other_actions(decides: Array | None, actions: Array) -> Array:
    """The actions, with another number (-1 or the next one) for every agent that does not decide."""
    kept = decides if decides is None or actions.ndim == 2 else decides[..., None]
    return np.where(kept, actions, np.where(actions == 0, -1, actions + 1))  # type: ignore[arg-type]


@contextlib.contextmanager
def _forbidden_generators() -> Iterator[None]:
    import random

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the world draws from the process's global random numbers")

    with (
        mock.patch.multiple(random, **_drawing_functions(random, "random", refuse)),
        mock.patch.multiple(np.random, **_drawing_functions(np.random, "random_sample", refuse)),
    ):
        yield


def _drawing_functions(module: Any, one_of_them: str, replacement: Any) -> dict[str, Any]:
    """The module's functions that are methods of its hidden generator, except those that only read or set its state."""
    generator = getattr(module, one_of_them).__self__
    harmless = {"getstate", "get_state", "setstate", "set_state", "get_bit_generator", "set_bit_generator"}
    return {
        name: replacement
        for name, function in vars(module).items()
        if getattr(function, "__self__", None) is generator and name not in harmless
    }


def pickled(world: World) -> World:
    """A copy of a world by pickle; raises AssertionError if it cannot be pickled."""
    try:
        return pickle.loads(pickle.dumps(world))
    except Exception as fault:
        raise AssertionError(f"the world does not pickle: {fault}") from fault


def _observed(world: World, observations: Arrays) -> Arrays:
    return {key: value.copy() for key, value in with_texts(world, observations).items()}


def _arrays(result: StepResult) -> Arrays:
    observations, reward, terminated, truncated, info = result
    named = {f"observation {key}": value for key, value in observations.items()}
    named |= {"reward": reward, "terminated": terminated, "truncated": truncated, "duration": info["duration"]}
    for group in ("final_obs", "episode"):
        named |= {f"{group} {key}": value for key, value in info.get(group, {}).items()}
    return named


def _overwrite(arrays: Mapping[str, Array]) -> dict[str, Array]:
    for array in arrays.values():
        if array.flags.writeable:
            array[...] = ~array if array.dtype == np.bool_ else 77
    return dict(arrays)
