"""Foreign environments side by side in one process: each row is one PettingZoo parallel environment.

`Games` resets and steps some of its rows and returns arrays over all N declared agents. An agent that is not in the
game has zeros, all of its own actions legal, and no reward. This file knows nothing of worlds; `foreign_world.py` makes
one of it, and `game_processes.py` plays it in other processes.
"""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

from rl_envs.core.errors import ForeignEnvError
from rl_envs.core.spec import Array, Arrays
from rl_envs.wrappers.foreign_spaces import ACTION_TEXTS, MASK, Layout, Shown, num_actions

MakeEnv = Callable[[], Any]
"""Builds one environment: a PettingZoo parallel environment, or a Gymnasium environment where that is said."""


@dataclass
class Frame:
    """Observations of all agents in K games.

    Attributes:
        arrays: key -> [K, N, ...].
        texts: key -> K lists of N, each a text or a tuple of texts.
        alive: [K, N] bool, agents in the game.
        legal: [K, N, A] bool, legal actions.
        coordination: [K] int64, number of the present coordination set; 0 where the environment declares none.
    """

    arrays: Arrays
    texts: dict[str, list[list[Shown]]]
    alive: Array
    legal: Array
    coordination: Array

    def put(self, rows: Array, other: Frame) -> None:
        """Replace some of the K games by those of another frame."""
        for key, value in other.arrays.items():
            self.arrays[key][rows] = value
        for key, texts in other.texts.items():
            for row, own in zip(rows.tolist(), texts, strict=True):
                self.texts[key][row] = own
        self.alive[rows], self.legal[rows], self.coordination[rows] = other.alive, other.legal, other.coordination


@dataclass
class Turn:
    """The result of one env step of K games: what is seen, reward [K, N] float64, terminated and truncated [K] bool."""

    frame: Frame
    reward: Array
    terminated: Array
    truncated: Array


class Declaration:
    """Declarations of an environment: agents, spaces and actions, known before it is played.

    Attributes:
        agents: names of the N agents.
        layout: layout of their observations in arrays.
        actions: number of actions of each agent.
        first_action: [N], number of each agent's first action in the environment.
        has_legal: whether some action can be illegal, or actions have texts.
        action_texts: constant texts of each agent's actions, from the environment's attribute; None without one.
    """

    def __init__(self, env: Any) -> None:
        """Read the names and the spaces.

        Raises:
            ForeignEnvError: a space is not understood, or no agent is declared.
        """
        if not getattr(env, "possible_agents", None):
            raise ForeignEnvError(
                f"{type(env).__name__} names no possible_agents: a world needs a PettingZoo parallel environment (use "
                "parallel_env, not env) that lists all of its agents; a Gymnasium environment goes to from_gymnasium"
            )
        if hasattr(env, "agent_iter"):
            raise ForeignEnvError(
                f"{env} is an environment whose agents act in turn: name its parallel_env, in which all act at once"
            )
        self.agents: tuple[str, ...] = tuple(env.possible_agents)
        self.layout = Layout({name: env.observation_space(name) for name in self.agents})
        self.actions = [num_actions(env.action_space(name), name) for name in self.agents]
        self.first_action = [int(env.action_space(name).start) for name in self.agents]
        self.action_texts = self._action_texts(env)
        mappings = [one.spaces for one in map(env.observation_space, self.agents) if isinstance(one, spaces.Dict)]
        is_masked = any(MASK in one or ACTION_TEXTS in one for one in mappings)
        self.has_legal = is_masked or self.action_texts is not None or len(set(self.actions)) > 1

    def _action_texts(self, env: Any) -> tuple[tuple[str, ...], ...] | None:
        """The attribute `action_texts`: a list for all agents, or agent name -> list."""
        given = getattr(getattr(env, "unwrapped", env), ACTION_TEXTS, None)
        if given is None:
            return None
        texts = [given[name] if isinstance(given, Mapping) else given for name in self.agents]
        for name, own, count in zip(self.agents, texts, self.actions, strict=True):
            if len(own) != count:
                raise ForeignEnvError(
                    f"{type(env).__name__}.{ACTION_TEXTS} has {len(own)} texts for the {count} actions of {name!r}: "
                    "let it have one text for each action"
                )
        return tuple(tuple(map(str, own)) for own in texts)

    @property
    def own_actions(self) -> Array:
        """[N, A] bool, actions that are an agent's own and no padding."""
        return np.arange(max(self.actions)) < np.array(self.actions)[:, None]


class Games:
    """K environments in this process."""

    def __init__(self, make_env: MakeEnv, count: int, first: Any = None) -> None:
        """Build them.

        Args:
            make_env: builds one environment.
            count: K.
            first: an environment that is already built and serves as the first.
        """
        self.envs = [first if first is not None and row == 0 else make_env() for row in range(count)]
        self.declaration = Declaration(self.envs[0])
        self._own = self.declaration.own_actions
        self._index = {name: index for index, name in enumerate(self.declaration.agents)}
        self._alive = np.zeros((count, len(self._index)), bool)

    def reset(self, rows: Array, seeds: Array) -> Frame:
        """Begin episodes in some games, [K] rows with [K] seeds."""
        frame = self._blank(len(rows))
        for place, (row, seed) in enumerate(zip(rows.tolist(), seeds.tolist(), strict=True)):
            env = self.envs[row]
            with _blaming(env, "reset"):
                observations, infos = env.reset(seed=seed)
            self._alive[row] = self._present(env.agents)
            self._write(frame, place, row, observations, infos, goes_on=True)
        return frame

    def step(self, rows: Array, actions: Array) -> Turn:
        """One env step of some games, [K] rows with actions [K, N]."""
        count, agents = actions.shape
        turn = Turn(self._blank(count), np.zeros((count, agents)), np.zeros(count, bool), np.zeros(count, bool))
        for place, row in enumerate(rows.tolist()):
            self._step(turn, place, row, actions[place].tolist())
        return turn

    def render(self, row: int) -> Array | None:
        """The environment's own picture, [H, W, 3] uint8; None where it draws none."""
        picture: Array | None = self.envs[row].render()
        return picture

    def close(self) -> None:
        """Close all environments."""
        for env in self.envs:
            env.close()

    def _step(self, turn: Turn, place: int, row: int, actions: Sequence[int]) -> None:
        env, names, first = self.envs[row], self.declaration.agents, self.declaration.first_action
        live = np.flatnonzero(self._alive[row]).tolist()
        chosen = {names[index]: first[index] + actions[index] for index in live}
        with _blaming(env, "step"):
            observations, rewards, terminated, truncated, infos = env.step(chosen)
        for name, reward in rewards.items():
            turn.reward[place, self._index[name]] = reward
        is_over = not env.agents or all(terminated.get(name) or truncated.get(name) for name in env.agents)
        if is_over:
            stopped = [index for index in live if truncated.get(names[index]) and not terminated.get(names[index])]
            turn.truncated[place], turn.terminated[place] = bool(stopped), not stopped
            self._alive[row] = False
            self._alive[row, stopped] = True
        else:
            self._alive[row] = self._remaining(row, env.agents, terminated, truncated)
        self._write(turn.frame, place, row, observations, infos, goes_on=not is_over)

    def _remaining(self, row: int, agents: Sequence[str], *ends: Any) -> Array:
        present = self._present([name for name in agents if not any(end.get(name) for end in ends)])
        late = np.flatnonzero(present & ~self._alive[row])
        if late.size:
            raise ForeignEnvError(
                f"the agent {self.declaration.agents[late[0]]!r} appears after its episode began, and a team has all "
                "of its agents from the start: let the environment return it from reset, or end the episode there"
            )
        return present

    def _present(self, agents: Sequence[str]) -> Array:
        present = np.zeros(len(self._index), bool)
        for name in agents:
            if name not in self._index:
                raise ForeignEnvError(
                    f"the agent {name!r} appears and is not declared: list it in the environment's possible_agents, "
                    f"which are {', '.join(self._index)}"
                )
            present[self._index[name]] = True
        return present

    def _blank(self, count: int) -> Frame:
        layout, agents = self.declaration.layout, len(self._index)
        texts, legal = layout.blank_texts(count), np.repeat(self._own[None], count, axis=0)
        return Frame(layout.blank(count), texts, np.zeros((count, agents), bool), legal, np.zeros(count, np.int64))

    def _write(self, frame: Frame, place: int, row: int, observations: Any, infos: Any, goes_on: bool) -> None:
        """Fill in what is seen; masks only where somebody still acts."""
        frame.alive[place] = self._alive[row]
        layout = self.declaration.layout
        for name, observation in observations.items():
            agent = self._index.get(name)
            if agent is None:
                continue
            layout.write(frame.arrays, place, agent, observation)
            for leaf in layout.text_leaves[agent]:
                frame.texts[leaf.key][place][agent] = layout.shown(leaf, observation)
            info = infos.get(name) or {}
            frame.coordination[place] = info.get("coordination", frame.coordination[place])
            if goes_on and self._alive[row, agent]:
                for mask in _masks(observation, info):
                    frame.legal[place, agent] &= self._mask(name, agent, mask)
                self._check_legal(name, frame.legal[place, agent])

    def _mask(self, name: str, agent: int, mask: Any) -> Array:
        given = np.asarray(mask).astype(bool).ravel()
        if given.size != self.declaration.actions[agent]:
            raise ForeignEnvError(
                f"the mask of {name!r} has {given.size} entries for {self.declaration.actions[agent]} actions: let the "
                f"environment give one entry for each action, in its {MASK} and in its {ACTION_TEXTS}"
            )
        return np.pad(given, (0, self._own.shape[1] - given.size))

    @staticmethod
    def _check_legal(name: str, legal: Array) -> None:
        if not legal.any():
            raise ForeignEnvError(
                f"the mask of {name!r} has no legal action: let the environment keep one legal (often one that does "
                "nothing), or end the agent's game there"
            )


@contextlib.contextmanager
def _blaming(env: Any, method: str) -> Iterator[None]:
    """Say that the environment raised, and where; it may not be at fault alone, so the cause stays attached."""
    try:
        yield
    except ForeignEnvError:
        raise
    except Exception as error:
        raise ForeignEnvError(
            f"the environment {type(getattr(env, 'unwrapped', env)).__name__} raised in {method}: {described(error)}; "
            "mend it there"
        ) from error


def described(error: BaseException) -> str:
    """`KeyError: 'key' (file.py, line 3)`, in one line."""
    steps = [] if isinstance(error, SyntaxError) else traceback.extract_tb(error.__traceback__)  # that says it itself
    place = f" ({Path(steps[-1].filename).name}, line {steps[-1].lineno})" if steps else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())}{place}"


def _masks(observation: Any, info: Mapping[str, Any]) -> Iterator[Any]:
    """Masks of legal actions in an agent's observation or infos; an action with an empty text is not legal."""
    seen = observation if isinstance(observation, Mapping) else {}
    if (mask := seen.get(MASK, info.get(MASK))) is not None:
        yield mask
    if ACTION_TEXTS in seen:
        yield [bool(str(text).strip()) for text in seen[ACTION_TEXTS]]
