"""`Declaration`: what a custom environment declares before its first episode: agents, spaces, actions, time limit."""

import operator
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from rl_envs.core.errors import CustomEnvError, EnvRaisedError, warn_once
from rl_envs.core.spec import Array
from rl_envs.core.world import World
from rl_envs.wrappers.custom.actions import ActionLayout
from rl_envs.wrappers.custom.layout import ACTION_TEXTS, Layout
from rl_envs.wrappers.custom.values import short_repr, space_repr

MakeEnv = Callable[[], Any]
"""Builds one PettingZoo parallel environment, or a Gymnasium environment for `from_gymnasium`."""

_HERE = str(Path(__file__).parent)
_LIMITS = ("max_episode_steps", "_max_episode_steps", "max_cycles", "max_steps")
"""Attributes in which environments declare their time limit, by priority."""
_INNER = ("env", "aec_env", "par_env", "unwrapped")
"""Attributes in which wrappers hold what they wrap."""


class Declaration:
    """Agents, spaces and actions of an environment.

    Attributes:
        ids: The environment's names of the N agents, strings or whole numbers.
        agents: Names of the agents as strings.
        observation_spaces, action_spaces: Spaces of each agent.
        layout: Layout of the observations in arrays.
        action_layout: Parts of the agents' actions.
        actions: Number of actions of each agent; of several parts, of all choices together.
        has_masks: Whether observations contain action masks or texts of actions.
        has_legal: Whether some action can be illegal, or actions have texts.
        action_texts: Constant texts of each agent's actions (attribute `action_texts`), or None.
        vocabulary: Words of the texts with ids of their own (attribute `vocabulary`).
        coordination: [K, A, ..., A] bool, coordination sets (attribute `coordination_sets`), or None.
        limit: Name and value of the attribute that declares the time limit, or None.
    """

    def __init__(self, env: Any) -> None:
        """Read and check the declaration of `env`."""
        _refuse_other_kinds(env)
        self.ids = agent_ids(env)
        self.agents = tuple(map(str, self.ids))
        self.observation_spaces, self.action_spaces = (
            [_space(env, method, name) for name in self.ids] for method in ("observation_space", "action_space")
        )
        self.layout = Layout(dict(zip(self.ids, self.observation_spaces, strict=True)))
        self.action_layout = ActionLayout(dict(zip(self.ids, self.action_spaces, strict=True)))
        self.actions = self.action_layout.counts
        self._check_phrases()
        self.action_texts = self._action_texts(env)
        self.vocabulary = _vocabulary(env, bool(self.layout.texts))
        self.coordination = self._coordination(env)
        self.limit = time_limit(env)
        has_texts = any(ACTION_TEXTS in one.spaces for one in self.observation_spaces if isinstance(one, spaces.Dict))
        self.has_masks = has_texts or any(path is not None for path in self.layout.masks)
        self.has_legal = self.has_masks or self.action_texts is not None or not self.own_actions.all()

    def check_same(self, env: Any) -> None:
        """Refuse (CustomEnvError) another copy of the environment with a different declaration."""
        if (names := agent_ids(env)) != self.ids:
            raise CustomEnvError(
                f"two copies of {env_name(env)} have the possible_agents {list(self.ids)} and {list(names)}: let "
                "every copy have the same"
            )
        again = "let it be the same in every copy of the environment and at every call"
        for method, known in (("observation_space", self.observation_spaces), ("action_space", self.action_spaces)):
            for name, one in zip(self.ids, known, strict=True):
                other = _space(env, method, name)
                if one != other:
                    raise CustomEnvError(
                        f"{env_name(env)}.{method}({name!r}) is {space_repr(other)} and was {space_repr(one)}: {again}"
                    )
        if self._action_texts(env) != self.action_texts:
            raise CustomEnvError(f"{env_name(env)}.{ACTION_TEXTS} is not what it was: {again}")
        if not np.array_equal(self._coordination(env), self.coordination):  # type: ignore[arg-type]
            raise CustomEnvError(f"{env_name(env)}.coordination_sets is not what it was: {again}")

    @property
    def own_actions(self) -> Array:
        """[N, W] bool, actions (of several parts, all choices side by side) that are not padding."""
        return self.action_layout.own

    def _check_phrases(self) -> None:
        """Require one text per action where observations have texts of actions."""
        for name, space, count in zip(self.agents, self.observation_spaces, self.actions, strict=True):
            phrases = space.spaces.get(ACTION_TEXTS) if isinstance(space, spaces.Dict) else None
            if phrases is not None and not (isinstance(phrases, spaces.Tuple) and len(phrases) == count):
                raise CustomEnvError(
                    f"{ACTION_TEXTS} of {name!r} is {space_repr(phrases)} for {count} actions: let it be a Tuple "
                    f"of {count} Text spaces"
                )

    def _action_texts(self, env: Any) -> tuple[tuple[str, ...], ...] | None:
        """The attribute `action_texts`: a list for all agents, or agent name -> list."""
        given = _extension(env, ACTION_TEXTS)
        if given is None:
            return None
        self._require_plain(env, ACTION_TEXTS)
        found = [given.get(name, ()) if isinstance(given, Mapping) else given for name in self.ids]
        for name, own, count in zip(self.ids, found, self.actions, strict=True):
            if isinstance(own, str) or not isinstance(own, Sequence) or not all(isinstance(one, str) for one in own):
                raise CustomEnvError(
                    f"{env_name(env)}.{ACTION_TEXTS} is {short_repr(own)} for {name!r}: let it be a list of texts"
                )
            if len(own) != count:
                raise CustomEnvError(
                    f"{env_name(env)}.{ACTION_TEXTS} has {len(own)} texts for the {count} actions of {name!r}: "
                    "let it have one text for each action"
                )
        return tuple(tuple(map(str, own)) for own in found)

    def _require_plain(self, env: Any, name: str) -> None:
        if not self.action_layout.is_plain:
            raise CustomEnvError(
                f"{env_name(env)}.{name} needs one number per action, and the actions have several parts: let every "
                f"action_space be Discrete, or leave {name} out"
            )

    def _coordination(self, env: Any) -> Array | None:
        """The attribute `coordination_sets`."""
        given = _extension(env, "coordination_sets")
        if given is None:
            return None
        self._require_plain(env, "coordination_sets")
        wanted = (max(self.actions),) * len(self.agents)
        try:
            sets = np.asarray(given)
        except ValueError:
            sets = np.empty(0, object)
        if (
            sets.dtype.kind not in "biuf"
            or sets.shape[1:] != wanted
            or not len(sets)
            or not np.isin(sets, (0, 1)).all()
        ):
            raise CustomEnvError(
                f"{env_name(env)}.coordination_sets is {short_repr(given)}: let it be an array of 0 and 1 of shape "
                f"(K, {', '.join(map(str, wanted))}), with K sets and an axis for the actions of each agent"
            )
        return sets.astype(bool)


def agent_ids(env: Any) -> tuple[Any, ...]:
    """Names by which an environment calls its possible agents: strings, or whole numbers, as PettingZoo allows both.

    Raises CustomEnvError where it has none, they are something else, or one occurs twice.
    """
    with Raising(env, "possible_agents"):
        given = getattr(env, "possible_agents", None)
    if isinstance(given, (str, Mapping, Set)):
        raise CustomEnvError(
            f"{env_name(env)}.possible_agents is {short_repr(given)}: let it be a list, whose order is the same in "
            "every process"
        )
    try:
        names = [] if given is None else list(given)
    except TypeError:
        names = []
    if not names:
        raise CustomEnvError(
            f"{env_name(env)} names no possible_agents: give a PettingZoo environment, which lists all of its agents "
            "there, or a gymnasium.Env (in Python to from_gymnasium)"
        )
    for name in names:
        if not isinstance(name, (str, int, np.integer)) or isinstance(name, bool):
            raise CustomEnvError(
                f"{env_name(env)} has an agent that is called {short_repr(name)}: let possible_agents, and the keys of "
                "all that reset and step return, be strings"
            )
    called = list(map(str, names))
    if len(set(called)) < len(called):
        twice = next(name for name in called if called.count(name) > 1)
        raise CustomEnvError(
            f"{env_name(env)} names {twice!r} twice in possible_agents: give each agent a name of its own"
        )
    return tuple(names)


def _refuse_other_kinds(env: Any) -> None:
    """Refuse a world, and environments that are stepped at once, even if there is one."""
    name, given = env_name(env), peek(env, "gymnasium_env") or env
    if isinstance(env, World):
        raise CustomEnvError(f"the function returned a World, {name}: name its class, package.module:{name}, instead")
    if isinstance(given, gymnasium.vector.VectorEnv):
        raise CustomEnvError(
            f"the function returned a {type(given).__name__} of {given.num_envs} environments: let it return one of "
            "them, because copies are made here (num_worlds, --workers.worlds-per-runner)"
        )


def time_limit(env: Any) -> tuple[str, int] | None:
    """Attribute and value of the time limit in env steps; the outermost wrapper has priority."""
    for layer in layers(env):
        for name in _LIMITS:
            if (limit := _count(peek(layer, name))) is not None:
                return name, limit
        if (limit := _count(peek(peek(layer, "spec"), _LIMITS[0]))) is not None:
            return f"spec.{_LIMITS[0]}", limit
    return None


def layers(env: Any) -> Iterator[Any]:
    """An environment and everything that its wrappers hold, the outermost first."""
    seen: list[Any] = []
    waiting = [env]
    while waiting:
        one = waiting.pop(0)
        if any(one is other for other in seen) or isinstance(one, (type, ModuleType)):
            continue
        if one is not env and not (callable(peek(one, "reset")) and callable(peek(one, "step"))):
            continue
        seen.append(one)
        yield one
        for name in _INNER:
            inner = peek(one, name)
            waiting += [] if inner is None else [inner]


def env_name(env: Any) -> str:
    """Name of the innermost environment's class."""
    return type(_unwrapped(env)).__name__


def described(error: BaseException) -> str:
    """Error in one line: `KeyError: 'key' (file.py, line 3)`."""
    steps = [] if isinstance(error, SyntaxError) else traceback.extract_tb(error.__traceback__)  # that says it itself
    is_theirs = steps and not steps[-1].filename.startswith(_HERE)
    place = f" ({Path(steps[-1].filename).name}, line {steps[-1].lineno})" if is_theirs else ""
    message = " ".join(str(error).split())
    return f"{type(error).__name__}{f': {message}' if message else ''}{place}"


class Raising:
    """Context that turns what an environment raises, of any class but Control-C, into an `EnvRaisedError`."""

    __slots__ = ("_env", "_method")

    def __init__(self, env: Any, method: str) -> None:
        self._env, self._method = env, method

    def __enter__(self) -> None:
        """No-op."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None or isinstance(error, CustomEnvError | KeyboardInterrupt):
            return
        cure = "fix it there"
        if isinstance(error, TypeError) and traceback.extract_tb(error.__traceback__)[-1].filename.startswith(_HERE):
            cure = (
                "let it take what PettingZoo and Gymnasium give: reset(seed=None, options=None), step(actions); in "
                "PettingZoo also observation_space(agent), action_space(agent)"
            )
        where = f"the environment {env_name(self._env)} raised in {self._method}"
        raise EnvRaisedError(f"{where}: {described(error)}; {cure}") from error


def peek(env: Any, name: str) -> Any:
    """An optional attribute; None without it, also if reading it raises."""
    try:
        return getattr(env, name, None)
    except KeyboardInterrupt:
        raise
    except BaseException:  # a property, or a __getattr__, of the environment's own
        return None


def _unwrapped(env: Any) -> Any:
    inner = peek(env, "unwrapped")
    return env if inner is None else inner


def _extension(env: Any, name: str) -> Any:
    """An optional attribute that this package defines, such as `action_texts`; None without it."""
    for layer in layers(env):
        if hasattr(type(layer), name):
            with Raising(env, name):
                return getattr(layer, name, None)
        if (found := peek(layer, name)) is not None:  # a __getattr__ may raise without this name
            return found
    return None


def _vocabulary(env: Any, has_texts: bool) -> tuple[str, ...]:
    """The attribute `vocabulary`, words in any iterable, sorted; without texts it may be something else."""
    given = next((found for one in layers(env) if (found := peek(one, "vocabulary")) is not None), None)
    words = listed_words(given)
    if words is None and has_texts:
        warn_once(
            f"{env_name(env)}.vocabulary is {short_repr(given)} and is not read, so two words may get one id: let "
            "it be a list of words, or rename it"
        )
    return tuple(sorted(set(words or ())))


def listed_words(given: Any) -> list[str] | None:
    """Words in any iterable, in lower case; None where it is a text, an iterator, or holds something else."""
    try:
        if isinstance(given, (str, Iterator)):  # no other copy could read the iterator again
            raise TypeError
        return [] if given is None else [word.lower() for word in given]
    except Exception:  # also a word that is no text
        return None


def _space(env: Any, method: str, name: str) -> spaces.Space:
    with Raising(env, f"{method}({name!r})"):
        space = getattr(env, method)(name)
    if not isinstance(space, spaces.Space):
        raise CustomEnvError(
            f"{env_name(env)}.{method}({name!r}) is {short_repr(space)}: let it return a space of gymnasium.spaces"
        )
    return space


def _count(value: Any) -> int | None:
    """`value` as an int if it is a positive whole number, else None."""
    if isinstance(value, (bool, np.bool_)):
        return None
    if isinstance(value, (float, np.floating)) and np.isfinite(value) and value == int(value):
        value = int(value)
    try:
        count = operator.index(value)
    except TypeError:
        return None
    return count if count > 0 else None
