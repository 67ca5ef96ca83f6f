"""`CheckedEnv`: everything that a custom environment returns is checked here against PettingZoo's parallel API.

An error names agent, key, env step, the value and the space. Values are never padded, cut, renamed or overwritten;
NumPy scalars, arrays with one entry, empty infos and a missing last observation of a terminated agent are accepted,
because they lose nothing. Types, shapes, names, flags and numbers are checked at every step; nested entries and the
spaces themselves in the first `FULL_EPISODES` episodes of each environment.
"""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NoReturn
from weakref import WeakValueDictionary

from gymnasium.spaces import Space

from rl_envs.core.errors import CustomEnvError, warn_once
from rl_envs.core.spec import Array, checked_picture
from rl_envs.wrappers.custom.choices import Choices
from rl_envs.wrappers.custom.declaration import Declaration, Raising, agent_ids, env_name, layers, peek
from rl_envs.wrappers.custom.frame import Answer, Frame
from rl_envs.wrappers.custom.layout import LeafMismatch
from rl_envs.wrappers.custom.process_settings import undoing_changes
from rl_envs.wrappers.custom.values import (
    Mismatch,
    flag,
    has_other_numbers,
    number,
    parts,
    short_repr,
    space_repr,
    structure_mismatch,
    to_array,
)
from rl_envs.wrappers.hangs import call_ended, call_started

FULL_EPISODES = 2
"""Number of episodes of an environment in which everything is checked."""
_LARGEST = 1e16
"""Largest size of a reward: learners square sums of hundreds of them, in float32."""
_AGREE = "let observation_space and what reset and step return agree"
_NOTHING: Mapping[str, Any] = MappingProxyType({})
_LAST = {"final_obs", "final_observation", "terminal_observation"}
"""Keys of infos for the last observation where an environment resets itself: Gymnasium's and Stable-Baselines3's."""
_PARTS = ("observations", "rewards", "terminations", "truncations", "infos")


class CheckedEnv:
    """One custom environment with checked return values; `is_full` while everything is checked."""

    def __init__(self, env: Any, declared: Declaration) -> None:
        """Check a PettingZoo parallel environment against a declaration, its own or that of another copy."""
        self.env, self.declared = env, declared
        self._index = {name: index for index, name in enumerate(declared.ids)}
        self._known = frozenset(declared.ids)
        self._lengths = [len(parts(space)) or None for space in declared.observation_spaces]
        self._live: list[int] = []
        self._here: list[str] = []
        self._left: set[int] = set()
        self._lingering: set[int] = set()
        self._choices = Choices(declared, self._refuse)
        self._episodes = self._length = 0
        self.is_full, self.is_closed = True, False
        _PLAYED.update((id(layer), self) for layer in layers(env))

    def informs_of_masks(self) -> bool:
        """Whether infos contain action masks; resets the environment to find out."""
        with undoing_changes(env_name(self.env)):
            self.reset(0)
        self._episodes = 0  # this reset does not count as one of the checked episodes
        return self._choices.are_in_infos

    def reset(self, seed: int) -> Answer:
        """Begin an episode."""
        self._episodes += 1
        self.is_full = self._episodes <= FULL_EPISODES
        self._length = 0
        answer = self._called("reset", seed=seed)
        if not isinstance(answer, (tuple, list)) or len(answer) != 2:
            self._refuse(f"reset returned {short_repr(answer)}", "let it return observations and infos, two dicts")
        observations, infos = answer
        self._check_names("observations", observations)
        self._check_names("infos", infos)
        if (ids := agent_ids(self.env)) != self.declared.ids:
            was = list(self.declared.ids)
            self._refuse(f"possible_agents is {list(ids)} and was {was}", "let it never change")
        if self.is_full:
            self.declared.check_same(self.env)
        self._live = self._listed()
        self._here = [self.declared.ids[index] for index in self._live]
        self._left.clear()
        self._lingering.clear()
        if not self._live:
            self._refuse("agents is empty after reset", "let reset set agents to those that are in the game")
        self._refuse_unlisted(observations, self._live)
        agent_infos = self._infos(infos, self._live)
        for index in self._live:
            seen = observations.get(self.declared.ids[index])
            self._choices.check_infos(index, seen, agent_infos.get(index, _NOTHING), is_first=True)
        alive = [index in self._live for index in range(len(self._index))]
        return Answer(self._observations(observations, self._live), agent_infos, alive)

    def step(self, actions: Sequence[Any]) -> Answer:
        """One env step with N packed actions; those of agents that are not in the game are ignored."""
        names, native = self.declared.ids, self.declared.action_layout.native
        self._length += 1
        chosen = {names[index]: native[index](actions[index]) for index in self._live}
        answer = self._called("step", chosen)
        if not isinstance(answer, (tuple, list)) or len(answer) != 5:
            count = f" with {len(answer)} entries" if isinstance(answer, (tuple, list)) else f" ({short_repr(answer)})"
            self._refuse(
                f"step returned a {type(answer).__name__}{count}", f"let it return five dicts: {', '.join(_PARTS)}"
            )
        known = self._known
        for what, given in zip(_PARTS, answer, strict=True):
            if not (isinstance(given, dict) and known.issuperset(given)):
                self._check_names(what, given)
        observations, rewards, terminations, truncations, infos = answer
        live = self._live
        terminated = self._flagged("terminations", terminations)
        ended = {*terminated, *self._flagged("truncations", truncations)}
        self._live = [index for index in live if index not in ended] if ended else live
        if ended or self._agents() != self._here:
            self._check_agents(ended, terminations, truncations)
        reward = self._rewards(rewards, live)
        if len(observations) > len(live):
            self._refuse_unlisted(observations, self._left.union(live))
        seen = self._observations(observations, live)
        agent_infos = self._infos(infos, live)
        if self._live:
            for index in ended.difference(terminated):
                warn_once(
                    f"{env_name(self.env)} truncates {names[index]!r} before the others: for learning, its game is "
                    "terminated, with no value after it"
                )
            alive = [False] * len(names)
            for index in self._live:
                alive[index] = True
            return Answer(seen, agent_infos, alive, True, reward)
        stopped = ended.difference(terminated)
        for index in stopped.difference(seen):
            self._refuse(
                f"there is no last observation of {names[index]!r}, who is truncated",
                "let step return it, because learning estimates its value, or terminate the agent",
            )
        for index in stopped:
            self._refuse_next_episode(index, seen[index], agent_infos.get(index, _NOTHING))
        alive = [index in stopped for index in range(len(names))]
        return Answer(seen, agent_infos, alive, False, reward, not stopped, bool(stopped))

    def write(self, frame: Frame, place: int, answer: Answer) -> None:
        """Write observations into row `place` of a frame; `check_ranges` compares them with the bounds of boxes."""
        frame.alive[place] = answer.alive
        layout = self.declared.layout
        sets: dict[int, int] = {}
        for agent, observation in answer.observations.items():
            try:
                length = self._lengths[agent]
                if self.is_full or (length is not None and getattr(observation, "__len__", int)() != length):
                    self._check_structure(agent, observation)
                layout.write(frame.arrays, place, agent, observation)
                if self.is_full and (leaf := layout.rounded_leaf(frame.arrays, place, agent, observation)) is not None:
                    warn_once(
                        f"{env_name(self.env)}: the observation {leaf.key!r} loses differences between its numbers, "
                        "which networks read as float32: let the environment return smaller ones, such as the time "
                        "since reset"
                    )
                for leaf in layout.text_leaves[agent]:
                    frame.texts[leaf.key][place][agent] = layout.shown(leaf, observation)
            except LeafMismatch as error:
                self._refuse_value(agent, error)
            info = answer.infos.get(agent, _NOTHING)
            if answer.alive[agent] and (self._choices.can_be_illegal or (info and answer.goes_on)):
                self._choices.write_legal(frame.legal[place, agent], agent, observation, info, not answer.goes_on)
            if self.declared.coordination is not None and "coordination" in info:
                sets[agent] = self._choices.coordination(agent, info["coordination"])
        if sets or self._choices.has_sets:
            frame.coordination[place] = self._choices.common_set(sets, answer.goes_on)

    def check_ranges(self, frame: Frame, place: int, answer: Answer) -> None:
        """Refuse numbers in row `place` that are not finite or outside of their box."""
        for agent in answer.observations:
            try:
                self.declared.layout.check_ranges(frame.arrays, place, agent)
            except LeafMismatch as error:
                self._refuse_value(agent, error)

    def render(self) -> Array:
        """Rendered image, [H, W, 3] uint8."""
        picture = self._called("render")
        try:
            return checked_picture(to_array(picture) if hasattr(picture, "__array__") else picture)
        except ValueError as error:
            self._refuse(str(error), "let it return one image with render_mode rgb_array")

    def close(self) -> None:
        """Close the environment, once; an error in its `close` is a warning, and one without `close` needs none."""
        if not self.is_closed:
            self.is_closed = True
            close_quietly(self.env)

    def _called(self, method: str, *arguments: Any, **named: Any) -> Any:
        """Call a method of the environment under the hang watch."""
        call_started(method)
        try:
            return getattr(self.env, method)(*arguments, **named)
        except BaseException:  # a context around every call would take a tenth of a fast environment's step
            with Raising(self.env, method):
                raise
        finally:
            call_ended()

    def _refuse(self, what: str, cure: str) -> NoReturn:
        when = f"env step {self._length}" if self._length else "reset"
        raise CustomEnvError(f"{env_name(self.env)}, at {when} of an episode: {what}: {cure}")

    def _refuse_value(self, agent: int, mismatch: LeafMismatch) -> NoReturn:
        cure = "let the environment return finite numbers" if mismatch.is_not_finite else _AGREE
        self._refuse_observation(agent, f" {mismatch.leaf.key!r}", str(mismatch), mismatch.leaf.space, cure)

    def _refuse_observation(self, agent: int, where: str, problem: str, space: Space, cure: str = _AGREE) -> NoReturn:
        name = self.declared.ids[agent]
        self._refuse(f"the observation{where} of {name!r} {problem}, and its space is {space_repr(space)}", cure)

    def _check_names(self, what: str, given: Any) -> None:
        if not isinstance(given, Mapping):
            self._refuse(f"{what} is {short_repr(given)}", "let it be a dict with the names of agents as keys")
        if not self._known.issuperset(given):
            unknown = next(name for name in given if name not in self._known)
            self._refuse(
                f"{what} has an entry for {unknown!r}, which is no agent",
                f"leave it out, or list it in possible_agents, which are {', '.join(map(str, self._index))}",
            )

    def _agents(self) -> list[Any]:
        try:
            given = self.env.agents
        except BaseException:
            with Raising(self.env, "agents"):
                raise
        if type(given) is list:
            return given
        if not isinstance(given, Iterable) or isinstance(given, str):
            self._refuse(f"agents is {short_repr(given)}", "let it be a list of the agents that are in the game")
        return list(given)

    def _listed(self) -> list[int]:
        """Numbers of the agents in `agents`, in its order."""
        names = self._agents()
        for name in names:
            if not isinstance(name, Hashable) or name not in self._known:
                self._refuse(
                    f"the agent {name!r} appears and is not declared",
                    f"list it in the environment's possible_agents, which are {', '.join(map(str, self._index))}",
                )
        if len(set(names)) < len(names):
            self._refuse(f"agents is {names}", "let it name each agent once")
        return [self._index[name] for name in names]

    def _check_agents(self, ended: set[int], terminations: Mapping[str, Any], truncations: Mapping[str, Any]) -> None:
        """Refuse agents that join late, return, or leave without a flag; a finished one may stay in `agents`."""
        listed, names = self._listed(), self.declared.ids
        for index in self._live:
            if index not in listed:
                self._refuse(
                    f"the agent {names[index]!r} is not in agents any more and neither terminated nor truncated",
                    "let step say which of them it is",
                )
        lingering = set(listed).difference(self._live)
        for index in lingering - ended:
            flags = [flags.get(names[index], True) for flags in (terminations, truncations)]
            if index not in self._lingering or not any(flags):
                self._refuse(
                    f"the agent {names[index]!r} appears after its episode began, and a team has all of its agents "
                    "from the start",
                    "let the environment return it from reset, or end the episode there",
                )
        self._lingering = lingering
        self._left |= ended
        self._live = [index for index in listed if index not in lingering]  # the environment may have reordered them
        self._here = [names[index] for index in self._live]

    def _refuse_unlisted(self, observations: Mapping[str, Any], known: Iterable[int]) -> None:
        for name in observations:
            if self._index[name] not in known:
                self._refuse(f"there is an observation of {name!r}, who is not in agents", "let reset put it in agents")

    def _observations(self, observations: Mapping[str, Any], live: Sequence[int]) -> dict[int, Any]:
        """Observations of the agents that acted; agents still in the game must have one."""
        names = self.declared.ids
        found = {index: observations[names[index]] for index in live if names[index] in observations}
        if len(found) < len(live):
            for index in self._live:
                if index not in found:
                    self._refuse(
                        f"there is no observation of {names[index]!r}, who is in the game", "let it be returned"
                    )
        return found

    def _refuse_next_episode(self, index: int, seen: Any, info: Mapping[str, Any]) -> None:
        """Refuse the observation of an environment that has reset itself; its last one is in the infos then."""
        name, space = self.declared.ids[index], self.declared.observation_spaces[index]
        for key in _LAST & info.keys():
            if has_other_numbers(space, info[key], seen):
                self._refuse(
                    f"the infos of {name!r}, who is truncated, have another observation as {key!r}",
                    "let step return the last observation, and begin the next episode in reset alone",
                )

    def _infos(self, infos: Mapping[str, Any], live: Sequence[int]) -> dict[int, Mapping[str, Any]]:
        found: dict[int, Mapping[str, Any]] = {}
        for index in live:
            info = infos.get(name := self.declared.ids[index])
            if info or not (info is None or isinstance(info, dict)):  # most are empty
                if not isinstance(info, Mapping):
                    self._refuse(
                        f"the infos of {name!r} are {short_repr(info)}", "let them be a dict, which may be empty"
                    )
                found[index] = info
        return found

    def _rewards(self, rewards: Mapping[str, Any], live: Sequence[int]) -> list[float]:
        """[N] finite rewards, 0 for agents that did not act."""
        names = self.declared.ids
        found = [0.0] * len(names)
        for index in live:
            if (name := names[index]) not in rewards:
                self._refuse(f"there is no reward of {name!r}, who acted", "let step return one, 0 where it earns none")
            reward = rewards[name]
            is_plain = type(reward) is float and -_LARGEST <= reward <= _LARGEST
            found[index] = reward if is_plain else self._reward(name, reward)
        if len(rewards) > len(live):
            for name, reward in rewards.items():
                if self._index[name] not in live and (earned := self._reward(name, reward)):
                    self._refuse(
                        f"{name!r} is not in the game and gets the reward {earned:g}",
                        "let it earn that at the step at which it leaves, or let it stay in the game",
                    )
        return found

    def _reward(self, name: str, reward: Any) -> float:
        try:
            value = number(reward)
        except Mismatch as error:
            given = to_array(reward)
            is_vector = given is not None and given.ndim == 1 and given.size > 1
            more = ", such as a weighted sum of these" if is_vector else ""
            self._refuse(f"the reward of {name!r} {error}", f"let it be one number{more}")
        if not -_LARGEST <= value <= _LARGEST:
            why = "too large to be squared in float32" if math.isfinite(value) else "not finite"
            self._refuse(f"the reward of {name!r} is {value}, which is {why}", "correct the environment's reward")
        return value

    def _flagged(self, what: str, flags: Mapping[str, Any]) -> list[int]:
        """Numbers of the agents that acted and whose flag is true."""
        names = self.declared.ids
        found = []
        for index in self._live:
            value = flags.get(names[index], flags)
            if value is not False and (value is True or self._flag(what, names[index], value, flags)):
                found.append(index)
        return found

    def _flag(self, what: str, name: str, value: Any, flags: Mapping[str, Any]) -> bool:
        if value is flags:
            self._refuse(f"{what} has nothing for {name!r}, who acted", "let step return True or False for it")
        try:
            return flag(value)
        except Mismatch as error:
            self._refuse(f"{what} of {name!r} {error}", "let it be True or False")

    def _check_structure(self, agent: int, observation: Any) -> None:
        space = self.declared.observation_spaces[agent]
        if (mismatch := structure_mismatch(space, observation)) is not None:
            path, problem = mismatch
            self._refuse_observation(agent, f" {'/'.join(map(str, path))!r}" if path else "", problem, space)


_PLAYED: WeakValueDictionary[int, CheckedEnv] = WeakValueDictionary()
"""Id of an environment's object, and of each within its wrappers -> who plays it, or has played it."""


def is_played(env: Any) -> bool:
    """Whether this environment, or one within its wrappers, is that of a `CheckedEnv` that is not closed."""
    players = ((layer, _PLAYED.get(id(layer))) for layer in layers(env))
    return any(
        player is not None and not player.is_closed and any(layer is one for one in layers(player.env))
        for layer, player in players
    )


def close_quietly(env: Any) -> None:
    """Close an environment; an error is a warning, once for all copies."""
    close = peek(env, "close")
    if not callable(close):
        return
    try:
        with Raising(env, "close"):
            close()
    except CustomEnvError as error:
        warn_once(str(error))
