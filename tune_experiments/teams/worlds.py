"""Worlds of the configured environment, for each method."""

import functools
import sys
from typing import Any

from rl_envs import World
from rl_envs.core.errors import CustomEnvError
from rl_envs.core.spec import Array, Arrays, ArraySpec
from rl_envs.registry import find_entry_point, unknown_argument, world_class
from rl_envs.testing.contract import check_declaration
from rl_envs.wrappers import from_pettingzoo, hangs
from rl_envs.wrappers.custom.declaration import Raising, described
from rl_envs.wrappers.custom.process_settings import undoing_changes
from rl_envs.wrappers.custom.word_ids import Characters
from rl_envs.wrappers.named import named_environment, parallel_env
from rl_models.text.token_states import ModelTokens
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.finding import UNNAMED
from tune_experiments.experiment.on_device import build_on_device
from tune_experiments.teams.config import DIVIDED_METHOD, LANGUAGE_METHODS, SETS_ITSELF, Config
from tune_experiments.teams.environment_names import unnamed_callable

_ALL_CHARACTERS = 2**20


def training_world(config: Config, method: str, num_worlds: int = 1, first_world: int = 0) -> World:
    """Training worlds, perhaps stepped in processes, or on a GPU (`build_on_device`).

    A process of Ray that hangs in its environment logs its stack and exits; Ray restarts it.
    """
    if (ray := sys.modules.get("ray")) and ray.is_initialized() and ray.get_runtime_context().get_actor_id():
        hangs.watch(lambda message: None)  # a trial's own process already has a timeout
    entry_point, needs_host = find_entry_point(config.env), method in (*LANGUAGE_METHODS, DIVIDED_METHOD)
    if entry_point and not needs_host and "arrays" not in config.arguments():
        cls = world_class(entry_point)
        return build_on_device(cls, functools.partial(_own_world, config, cls, num_worlds, first_world))
    return make_world(config, num_worlds, first_world, method=method, num_processes=config.env_processes)


def make_world(
    config: Config, num_worlds: int = 1, first_world: int = 0, *, method: str = "", render_mode: str = "", **more: Any
) -> World:
    """Worlds for one method: texts are characters for a language model, else words or an encoder's tokens.

    An environment of another package gets `render_mode`, and `more` options of `from_pettingzoo`; worlds of `rl_envs`
    can always render. CustomEnvError if there is no such environment, or it cannot be built; UserError if a world of
    `rl_envs` has no such argument. What an environment changes for the whole process is undone (`undoing_changes`).
    """
    if entry_point := find_entry_point(config.env):
        return _own_world(config, world_class(entry_point), num_worlds, first_world)
    arguments, limit = config.arguments(), config.max_episode_steps or None
    with undoing_changes(config.env):
        if config.env.startswith(UNNAMED):
            make_own = functools.partial(unnamed_callable(config.env), **arguments)
            make_env: Any = functools.partial(parallel_env, make_own)
        else:
            arguments |= {"render_mode": render_mode} if render_mode else {}
            make_env = named_environment(config.env, arguments)
        if isinstance(make_env, type):
            return _own_world(config, make_env, num_worlds, first_world)
        options = {"max_episode_steps": limit, "agents_leave": config.agents_leave, **_numbers(config, method), **more}
        return from_pettingzoo(make_env, num_worlds, first_world, **options)


def takes_argument(config: Config, name: str) -> bool:
    """Whether the environment is a class of `World` with an argument of this name, which the run does not set."""
    entry_point = find_entry_point(config.env)
    is_known = entry_point is not None and unknown_argument(world_class(entry_point), [name]) is None
    return is_known and name not in config.arguments()


def _numbers(config: Config, method: str) -> dict[str, Any]:
    """How texts become numbers."""
    if method in LANGUAGE_METHODS:
        return {"word_ids": Characters(), "max_words": _ALL_CHARACTERS}
    encoder = config.network.text_encoder
    return {
        "word_ids": ModelTokens(encoder) if encoder else None,
        "max_words": config.max_words,
        "max_sentences": config.max_sentences,
    }


def _own_world(config: Config, cls: type[World], num_worlds: int, first_world: int, **place: Any) -> World:
    """Worlds of a class of `World`, with the agent's index as an observation; `place`: array library and device."""
    arguments = config.arguments()
    if config.max_episode_steps:
        arguments["max_episode_steps"] = config.max_episode_steps
    if unknown := unknown_argument(cls, arguments):
        name, hint = unknown
        flag = "--max-episode-steps" if name == "max_episode_steps" else "--env-arguments"
        raise UserError(f"{flag}: {config.env} has no argument {name!r}; {hint}")
    if arguments.get("arrays", "numpy") != "numpy":
        raise UserError("--env-arguments: arrays must be numpy or left out; a run uses torch automatically on a GPU")
    if config.env_processes:
        raise UserError(
            f"--env-processes: the worlds of {config.env} are stepped together in the env runner; leave it out, and "
            "raise --workers.runners for more processes"
        )
    for name in ("max_words", "max_sentences"):
        if getattr(config, name) != getattr(Config, name):
            flag = name.replace("_", "-")
            raise UserError(f"--{flag} has no effect on {config.env}: {SETS_ITSELF}")
    own = cls if find_entry_point(config.env) else guarded(cls)
    try:
        world = with_agent_index(own)(num_worlds, first_world, **arguments, **place)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if isinstance(error, ValueError) and find_entry_point(config.env):
            raise  # a sentence about an argument
        reason = described(error)
        raise CustomEnvError(f"{config.env} cannot be built with the arguments {arguments} ({reason})") from error
    if (world.num_worlds, world.first_world) != (num_worlds, first_world):
        raise CustomEnvError(f"{config.env} must pass num_worlds and first_world on to World.__init__")
    try:
        check_declaration(world)
    except AssertionError as error:
        raise CustomEnvError(f"{config.env}: {error}") from error
    return world


@functools.cache
def guarded(cls: type[World]) -> type[World]:
    """The same worlds, where what their code raises is an `EnvRaisedError`, and calls are under the hang watch."""

    def guard(name: str) -> Any:
        method = getattr(cls, name)

        @functools.wraps(method)
        def called(self: World, *given: Any, **named: Any) -> Any:
            hangs.call_started(name)
            try:
                with Raising(self, name):
                    return method(self, *given, **named)
            finally:
                hangs.call_ended()

        return called

    calls = ("reset", "step", "next_episode", "snapshot", "restore")
    return type(cls.__name__, (cls,), {name: guard(name) for name in calls})


@functools.cache
def with_agent_index(cls: type[World]) -> type[World]:
    """The same worlds with an observation `agent`, the one-hot index, if there are several agents."""

    class Indexed(cls):  # type: ignore[misc, valid-type]
        observation_spec: dict[str, ArraySpec]

        def __init__(self, *args: Any, **arguments: Any) -> None:
            super().__init__(*args, **arguments)
            self._adds_index = self.num_agents > 1 and "agent" not in getattr(self, "observation_spec", ("agent",))
            if self._adds_index:
                index = ArraySpec((self.num_agents,), "uint8", 0, 1, "which agent it is, one-hot")
                self.observation_spec = self.observation_spec | {"agent": index}

        def _observe(self, rows: Array) -> Arrays:
            observations: Arrays = super()._observe(rows)
            if self._adds_index:
                index = self.xp.zeros((len(rows), self.num_agents, self.num_agents), dtype=self.xp.uint8)
                for agent in range(self.num_agents):
                    index[:, agent, agent] = 1
                observations["agent"] = index
            return observations

    Indexed.__name__ = Indexed.__qualname__ = cls.__name__
    return Indexed
