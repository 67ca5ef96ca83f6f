"""The contract of a world's outputs: names, types, bounds, ends of episodes, texts."""

from collections.abc import Mapping

import numpy as np

from rl_envs.core.metrics import ANY
from rl_envs.core.spec import (
    CONTINUOUS,
    RESERVED_KEYS,
    Actions,
    Array,
    Arrays,
    ArraySpec,
    NumbersSpec,
    TextSpec,
    deciding,
)
from rl_envs.core.world import Info, StepResult, World

_DECLARED = ("agents", "observation_spec", "action_spec", "max_episode_steps")
"""Attributes that every world sets."""
_MAX_CHOICES = 2**20


def require(holds: object, sentence: str) -> None:
    """Raise `AssertionError(sentence)` unless the rule holds (also under `python -O`, unlike an assert)."""
    if not holds:
        raise AssertionError(sentence)


def check_declaration(world: World) -> None:
    """Names, specs and limits are of the declared kinds."""
    missing = [name for name in _DECLARED if not hasattr(world, name)]
    require(not missing, f"the world does not declare {missing}")
    names = world.agents
    require(
        isinstance(names, tuple) and names and all(isinstance(name, str) for name in names) and _unique(names),
        f"agents must be a tuple of different names, got {names!r}",
    )
    parts = world.action_spec if isinstance(world.action_spec, dict) else {"": world.action_spec}
    sizes = [*parts.values()]
    require(
        sizes
        and all(size.is_valid(len(names)) if isinstance(size, NumbersSpec) else _is_count(size) for size in sizes),
        f"action_spec must be a positive number or a dict of positive numbers or bounds, got {world.action_spec!r}",
    )
    choices = sum(size for size in sizes if not isinstance(size, NumbersSpec))
    require(choices <= _MAX_CHOICES, f"action_spec has {choices:,} choices, at most {_MAX_CHOICES:,} are possible")
    misnamed = [name for name, size in parts.items() if isinstance(size, NumbersSpec) != (name == CONTINUOUS)]
    require(not misnamed, f"action_spec: the vector of numbers, and it alone, is called {CONTINUOUS!r}; see {misnamed}")
    require(
        _is_count(world.max_episode_steps),
        f"'max_episode_steps' must be a positive int, got {world.max_episode_steps!r}",
    )
    for attribute, kind in (("observation_spec", ArraySpec), ("text_spec", TextSpec)):
        specs = getattr(world, attribute)
        require(
            isinstance(specs, Mapping) and all(isinstance(one, kind) for one in specs.values()),
            f"{attribute} must be a dict of {kind.__name__}, got {specs!r}",
        )
    for key, own in world.observation_spec.items():
        require(_is_valid(own), f"{key!r} must have a tuple as shape, a type of numbers and low <= high, got {own!r}")
        is_id = own.low >= 0 and own.high <= _MAX_CHOICES and np.dtype(own.dtype).kind in "biu"
        require(not own.ids or is_id, f"{key!r} has ids, whole numbers 0 .. {_MAX_CHOICES:,} at most, got {own!r}")
    both = sorted(set(world.observation_spec) & set(world.text_spec))
    require(not both, f"keys {both} are declared both in observation_spec and in text_spec")
    for key in RESERVED_KEYS:
        spec = world.observation_spec.get(key)
        require(spec is None or (spec.shape, spec.dtype) == ((), "bool"), f"{key!r} must be one bool per agent")
    lost = [key for key in world.text_tables if not _has_table(world, key)]
    require(
        not lost,
        f"text_tables: {lost} must be keys of observation_spec, with a table [D, L] of token ids in tables and values "
        "within 0 .. D - 1",
    )
    writeable = [name for name, table in world.tables.items() if table.flags.writeable]
    require(not writeable, f"tables: {writeable} must be read-only, because other worlds may share them")
    if (entities := world.entity_spec) is not None:
        keys = {entities.key, entities.positions, entities.agents} - {""}
        lost = sorted(keys - set(world.observation_spec))
        require(not lost, f"entity_spec names {lost}, which are not in observation_spec")
    legal = world.observation_spec.get("legal")
    require("action_mask" not in world.observation_spec, "'action_mask' must be called 'legal', or it masks nothing")
    require(
        legal is None or (legal.shape, legal.dtype) == ((choices,), "bool"),
        f"'legal' must be bool of shape {(choices,)}, one for each choice of an action, got {legal!r}",
    )
    require(_unique(world.metric_names), f"metric_names repeat themselves: {world.metric_names!r}")
    require(
        not {"return", "length", "count"} & set(world.metric_names),
        "metric_names must not contain return and length, which every world reports, and count, the log's own",
    )


def check_observations(world: World, observations: Arrays, num_rows: int, where: str) -> None:
    """Every array is exactly as declared: keys, `[K, N, *shape]`, type and bounds; row numbers of texts are valid.

    `where` describes these observations in the error sentence.
    """
    declared = set(world.observation_spec) | set(world.text_spec)
    require(
        set(observations) == declared,
        f"{where}: observation keys are {sorted(observations)}, declared are {sorted(declared)}",
    )
    lead = (num_rows, world.num_agents)
    for key, spec in world.observation_spec.items():
        array = observations[key]
        _require_form(f"{where}: {key!r}", array, spec.dtype, (*lead, *spec.shape))
        require(
            spec.contains(array), f"{where}: {key!r} leaves its bounds {spec.low:g} .. {spec.high:g}: {_extent(array)}"
        )
        require(np.isfinite(array).all(), f"{where}: {key!r} must be finite, and has infinity")
    for key in world.text_spec:
        _check_texts(world, key, observations[key], lead, where)


def _check_texts(world: World, key: str, rows: Array, lead: tuple[int, int], where: str) -> None:
    spec, table = world.text_spec[key], world.texts[key].table
    _require_form(f"{where}: text rows {key!r}", rows, "int32", (*lead, *spec.rows))
    require(
        rows.size == 0 or (rows.min() >= 0 and rows.max() < len(table)),
        f"{where}: {key!r} points outside its table of {len(table)} texts: {_extent(rows)}",
    )
    used = table[np.unique(rows)]
    require(
        used.shape[1:] == (spec.length,) and (used.size == 0 or (used.min() >= 0 and used.max() < spec.vocabulary)),
        f"{where}: a text of {key!r} leaves its vocabulary 0 .. {spec.vocabulary - 1}: {_extent(used)}",
    )


def _check_legal(world: World, observations: Arrays, where: str) -> None:
    """Every agent that chooses has a legal choice in each part of its action."""
    if "legal" not in observations:
        return
    parts = world.action_spec if isinstance(world.action_spec, dict) else {"": world.action_spec}
    ends = np.cumsum([size for size in parts.values() if not isinstance(size, NumbersSpec)])
    can_choose = np.stack([one.any(-1) for one in np.split(observations["legal"], ends[:-1], axis=-1)]).all(0)
    counts = deciding(observations)
    lost = ~can_choose if counts is None else counts & ~can_choose
    require(not lost.any(), f"{where}: an agent that must choose has no legal action in 'legal'")


class EpisodeCheck:
    """Keeps its own totals of every episode and compares the world with them; call it after each step."""

    def __init__(self, world: World, observations: Arrays) -> None:
        shape = (world.num_worlds, world.num_agents)
        self._returns = np.zeros(shape)
        self._length = np.zeros(world.num_worlds, np.int64)
        self._since = np.zeros(shape, np.int64)
        self._has_decided = np.zeros(shape, bool)
        self._before = observations
        _check_legal(world, observations, "after reset")

    def __call__(self, world: World, actions: Actions, result: StepResult) -> None:
        """Check one step."""
        observations, reward, terminated, truncated, info = result
        _check_results(world, reward, terminated, truncated, info)
        self._returns += reward
        self._length += 1
        self._check_durations(world, info["duration"])
        check_observations(world, observations, world.num_worlds, "after a step")
        _check_legal(world, observations, "after a step")
        done = info["done_worlds"]
        if done.size:
            check_observations(world, info["final_obs"], done.size, "final observations")
        self._check_lives(observations, reward, done, info)
        limit = world.max_episode_steps
        require(
            (self._length[truncated] == limit).all(),
            f"a world was truncated after {self._length[truncated].tolist()} env steps, but its time limit is {limit}",
        )
        require(
            (np.delete(self._length, done) < limit).all(), f"an episode outlasts the time limit of {limit} env steps"
        )
        if done.size:
            require(self._has_decided[done].any(1).all(), "no agent decided in an episode, so nothing can be learned")
            self._check_totals(world, done, info["episode"])
        self._before = {key: np.array(observations[key]) for key in RESERVED_KEYS if key in observations}

    def _check_durations(self, world: World, duration: Array) -> None:
        decided = self._before.get("decides", np.ones_like(self._has_decided))
        self._has_decided |= decided
        self._since = np.where(decided, 1, self._since + 1)
        counts = self._has_decided & self._before.get("alive", np.ones_like(decided))
        _require_form("info duration", duration, "int32", decided.shape)
        require(
            (duration == self._since)[counts].all(),
            "info duration does not count the env steps since each agent's last decision",
        )

    def _check_lives(self, observations: Arrays, reward: Array, done: Array, info: Info) -> None:
        if "alive" not in observations:
            return
        require(
            not reward[~self._before["alive"]].any(),
            "an agent that has left the game gets a reward: give it at the env step at which the agent leaves",
        )
        alive = observations["alive"].copy()
        decides = observations.get("decides", np.zeros_like(alive))
        if done.size:
            alive[done] = info["final_obs"]["alive"]
        revived = alive & ~self._before["alive"]
        require(not revived.any(), "an agent that had left the game is alive again within the same episode")
        require(not (decides & ~observations["alive"]).any(), "an agent that has left the game has decides = True")
        playing_on = np.delete(alive.any(1), done)
        require(playing_on.all(), "a world without living agents continues")

    def _check_totals(self, world: World, done: Array, episode: Arrays) -> None:
        wanted = {"return", "length", *world.metric_names}
        require(set(episode) == wanted, f'info["episode"] has keys {sorted(episode)}, expected are {sorted(wanted)}')
        for name, value in episode.items():
            shape = (done.size, world.num_agents) if name == "return" else (done.size,)
            _require_form(f"metric {name!r}", value, "float64", shape)
            require(
                np.isfinite(value).all(), f"metric {name!r} must be finite in every episode, and has NaN or infinity"
            )
            own = world.metric_ranges.get(name, ANY)
            require(
                (value >= own.low).all() and (value <= own.high).all(),
                f"metric {name!r} leaves its range {own.low:g} .. {own.high:g} of metric_ranges: {_extent(value)}",
            )
        require(
            np.allclose(episode["return"], self._returns[done], rtol=1e-9, atol=1e-9),
            "an episode's return is not the sum of its rewards",
        )
        require(
            (episode["length"] == self._length[done]).all(), "an episode's length is not the number of its env steps"
        )
        for account in (self._returns, self._length, self._since, self._has_decided):
            account[done] = 0


def _check_results(world: World, reward: Array, terminated: Array, truncated: Array, info: Info) -> None:
    shape = (world.num_worlds, world.num_agents)
    _require_form("reward", reward, "float64", shape)
    require(np.isfinite(reward).all(), "reward must be finite, and has NaN or infinity")
    for name, flag in (("terminated", terminated), ("truncated", truncated)):
        _require_form(name, flag, "bool", shape[:1])
    require(not (terminated & truncated).any(), "a world is both terminated and truncated")
    done = np.flatnonzero(terminated | truncated)
    require(np.array_equal(info["done_worlds"], done), f"done_worlds is {info['done_worlds']}, but worlds {done} ended")
    for key in ("final_obs", "final_state", "episode"):
        require((key in info) == bool(done.size), f"info must hold {key!r} exactly when a world ended")


def _require_form(what: str, given: object, kind: str, shape: tuple[int, ...]) -> None:
    """Require an array of a type and a shape."""
    if not isinstance(given, np.ndarray):
        raise AssertionError(f"{what} must be an array, got {type(given).__name__}")
    wanted, found = f"{np.dtype(kind)} {shape}", f"{given.dtype} {given.shape}"
    require(wanted == found, f"{what} must be {wanted}, got {found}")


def _unique(names: tuple[str, ...]) -> bool:
    return len(set(names)) == len(names)


def _extent(array: Array) -> str:
    return f"{array.min()} .. {array.max()}"


def _is_valid(spec: ArraySpec) -> bool:
    try:
        is_numeric = np.dtype(spec.dtype).kind in "biuf"
    except TypeError:
        is_numeric = False
    is_scalar = np.ndim(spec.low) == np.ndim(spec.high) == 0
    return is_numeric and isinstance(spec.shape, tuple) and is_scalar and bool(spec.low <= spec.high)


def _has_table(world: World, key: str) -> bool:
    """Whether the values of an observation key are rows of a table of tokens."""
    spec, table = world.observation_spec.get(key), world.tables.get(world.text_tables[key])
    if table is None or table.ndim != 2 or table.dtype.kind not in "iu":
        return False
    return spec is not None and bool(spec.low >= 0 and spec.high < len(table))


def _is_count(size: object) -> bool:
    return isinstance(size, int) and not isinstance(size, bool) and size > 0
