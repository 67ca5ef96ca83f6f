"""The paper's protocol on Gridworld-FurnMove: fixed starts in held-out rooms, actions sampled, six metrics.

All methods and seeds have the same starts. Validation is the same in other rooms. `play_and_listen` also records the
data of `communication.py`: message weights, sight and actions.
"""

import functools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rl_envs import World, make
from rl_envs.furnlift.sight import sees_lifted
from rl_envs.furnmove.ithor import LABEL, PREFIX, has_inferred_tv_cells
from rl_envs.furnmove.room import Room
from rl_envs.furnmove.splits import resolve_rooms
from rl_envs.furnmove.start_file import load_starts
from rl_envs.furnmove.starts import StartError, Starts, make_starts
from rl_models.configuration import CordialForm
from rl_models.distributions.joint_policy import WholeJointPolicy
from rl_models.losses.cordial import CoordinationProbe, CoordinationSet
from rl_models.policy import TeamPolicy
from rl_models.training.evaluation import Evaluation
from tune_experiments.cordial_sync.communication import DATA
from tune_experiments.cordial_sync.config import Config
from tune_experiments.cordial_sync.messages import ROUNDS, Weights, listening
from tune_experiments.core.errors import UserError, one_line
from tune_experiments.experiment.plan import Episodes, play_episodes

EVALUATION_SEED = 229
"""Seed of every evaluation: with the starts it fixes all random numbers of the policy."""
_STREAM_ROOM = re.compile(r"^(\w+_stream)_0_\d+$")
"""Pattern of a room of a stream, as in files of starts."""


def evaluate(config: Config, policy: TeamPolicy) -> dict[str, Episodes]:
    """Results for the table."""
    return {world_name(config): play_from(config, test_starts(config), policy)}


def world_name(config: Config) -> str:
    """Name of the test in tables: rooms, image size if agents see frames, and number of agents if it is not two."""
    world = Path(config.test_starts).stem if config.test_starts else config.room_size
    if has_inferred_masks(test_starts(config).rooms):
        world = LABEL if not config.test_starts else f"{world}-{LABEL}"
    frames = f"-{config.frame_pixels}_pixel_frames" * (config.observation == "frame")
    agents = f"-{config.num_agents}_agents" * (config.num_agents != 2)
    return f"furnmove-{world}{frames}{agents}"


def validate(config: Config, policy: TeamPolicy) -> Episodes:
    """Validation metrics for the (dashed) curves."""
    return play_from(config, valid_starts(config), policy)


def play_from(config: Config, starts: Starts, policy: TeamPolicy) -> Episodes:
    """Play one episode from each of K starts: the paper's metrics, [K] each; `return` is the team's sum.

    `_joint_policy` is the mean joint policy, [A, A].
    """
    world = world_from(config, starts, len(starts))
    played = play_episodes(world, EVALUATION_SEED, policy, probe=FurnMoveProbe(coordination_set(world)))
    return {name: value.mean(0) if name[0] == "_" else value for name, value in played.items()}


def test_starts(config: Config) -> Starts:
    """Starts of the configuration's file, else those of the rule; a UserError if a file cannot be used."""
    if not config.test_starts:
        return _starts(config, config.test_rooms, config.test_starts_per_room)
    try:
        starts = load_starts(
            config.test_starts,
            all_rooms(config.room_size, [word for word in config.test_rooms if word.endswith(".json")]),
        )
    except StartError as error:
        raise UserError(f"--test-starts: {error}") from error
    if starts.num_agents != config.num_agents:
        raise UserError(
            f"--test-starts {config.test_starts} is for {starts.num_agents} agents and --num-agents is "
            f"{config.num_agents}: give a file for as many"
        )
    return starts


def valid_starts(config: Config) -> Starts:
    """Starts of validation episodes."""
    return _starts(config, config.valid_rooms, config.valid_starts_per_room)


def check_rooms_apart(config: Config) -> None:
    """Check that no room is used for two of training, validation and test, else raise UserError."""
    check_apart(
        {
            "--train-rooms": room_names(config.room_size, (config.train_rooms,)),
            "--valid-rooms": room_names(config.room_size, config.valid_rooms),
            **_names_of_the_test(config),
        }
    )


def _names_of_the_test(config: Config) -> dict[str, list[str]]:
    """Rooms of the test, by the flag that sets them."""
    if not config.test_starts:
        return {"--test-rooms": room_names(config.room_size, config.test_rooms)}
    names = [_STREAM_ROOM.sub(r"\1", room.name) for room in test_starts(config).rooms]
    return {"--test-starts": list(dict.fromkeys(names))}


def world_from(config: Config, starts: Starts, num_worlds: int) -> World:
    """Worlds that begin at these starts, in order."""
    return make("furnmove-v0", num_worlds, starts=starts, **world_arguments(config))


def shown_world(config: Config, num_worlds: int) -> World:
    """Worlds that draw a start in the test's rooms, for videos and `play`."""
    return make("furnmove-v0", num_worlds, rooms=test_starts(config).rooms, **world_arguments(config))


def world_arguments(config: Config) -> dict[str, Any]:
    """Arguments of a world that do not depend on its rooms."""
    return {
        "num_agents": config.num_agents,
        "max_episode_steps": config.max_episode_steps,
        "observations": (config.observation,),
        "frame_pixels": config.frame_pixels,
    }


def _starts(config: Config, words: tuple[str, ...], per_room: int) -> Starts:
    try:
        return _made_starts(config.room_size, config.num_agents, words, per_room)
    except ValueError as error:
        raise UserError(one_line(error)) from error


@functools.lru_cache(maxsize=4)
def _made_starts(room_size: str, num_agents: int, words: tuple[str, ...], per_room: int) -> Starts:
    return make_starts(all_rooms(room_size, words), num_agents, per_room)


def coordination_set(world: World, form: CordialForm = "code") -> CoordinationSet:
    """Coordination sets of a world; the code's form averages navigation apart from moving or lifting the object."""
    actions = torch.tensor(world.tables["coordinated_actions"])
    moves_object = torch.from_numpy((world.tables["coordinated_modality"] > 0).astype(np.int64))
    return CoordinationSet(actions, moves_object.expand(actions.shape[:2]), form)


class FurnMoveProbe(CoordinationProbe):
    """The paper's policy metrics, and the joint actions of the first two agents (figures 5 and 13).

    The paper counts the joint actions that were tried; their expectation, the joint policy itself, has less noise.
    """

    def joint_metrics(self, policy: WholeJointPolicy, joint: torch.Tensor) -> dict[str, torch.Tensor]:
        """`tvd` [B, 1] and, from two agents on, `_joint_policy` [B, 1, A, A]."""
        metrics = super().joint_metrics(policy, joint)
        if policy.num_agents == 1:
            return metrics
        others = tuple(range(4, joint.ndim))
        return metrics | {"_joint_policy": joint.sum(others) if others else joint}


def check_apart(named: Mapping[str, Sequence[str]]) -> None:
    """Check that no room is used twice, from flag -> names of its rooms, else raise UserError."""
    used: dict[str, str] = {}
    for flag, names in named.items():
        for name in names:
            room = name.removeprefix(PREFIX).lower()  # floorplan229 is also one of iTHOR's floors
            if room in used:
                flags = f"twice by {flag}" if used[room] == flag else f"by {used[room]} and {flag}"
                raise UserError(f"{name} is named {flags}: use each room once")
            used[room] = flag


def room_names(room_size: str, words: Sequence[str]) -> list[str]:
    """Names of rooms; a stream counts as one name, because its rooms are in no other set."""
    streams = [word for word in words if _is_stream(word)]
    return [*streams, *(room.name for room in named_rooms(room_size, words))]


def named_rooms(room_size: str, words: Sequence[str]) -> tuple[Room, ...]:
    """The rooms of all these values, in order, without those of streams."""
    return all_rooms(room_size, [word for word in words if not _is_stream(word)])


def all_rooms(room_size: str, words: Sequence[str]) -> tuple[Room, ...]:
    """The rooms of all these values, in order, with those of streams."""
    return tuple(room for word in words for room in resolve_rooms(word, room_size))


def _is_stream(word: str) -> bool:
    return word.endswith("_stream")


def has_inferred_masks(rooms: Sequence[Room]) -> bool:
    """Whether some rooms are iTHOR's or exported, whose cells for the television are inferred; tables must say so."""
    return any(has_inferred_tv_cells(room) for room in rooms)


class Listener(Evaluation):
    """An evaluation of FurnMove that records message weights, sight and actions in the first episode of each world."""

    world: World

    def __init__(self, world: World, policy: TeamPolicy, heard: Weights) -> None:
        """Set up the evaluation of a team whose latest message weights are `heard` (`listening`)."""
        super().__init__(world, policy, FurnMoveProbe(coordination_set(world)))
        self._heard, self._rows = heard, []  # type: ignore[var-annotated]
        self._running = np.ones(world.num_worlds, bool)

    def _step(self, steps: dict[str, np.ndarray], step: int) -> dict[str, Any]:
        state, running = self.world.state, self._running.copy()
        sees = sees_lifted(state["agent_cells"], state["agent_headings"], state["tv"])
        time = state["episode_length"].copy()
        record = super()._step(steps, step)
        which = np.flatnonzero(running)
        actions = record["actions"][:, 0].cpu().numpy()
        received = (self._heard[name][which] for name in ROUNDS)
        self._rows.append((which, time[which], *received, actions[which].astype(np.int8), sees[which]))
        self._running &= ~self._is_first
        return record

    def data(self) -> dict[str, np.ndarray]:
        """All rows, [R, ...] by the names of `DATA`; those of an episode in order."""
        columns = [np.concatenate(column) for column in zip(*self._rows, strict=True)]
        order = np.lexsort((columns[1], columns[0]))
        return {name: column[order] for name, column in zip(DATA, columns, strict=True)}


def play_and_listen(config: Config, policy: TeamPolicy) -> Episodes:
    """Play one episode from each start of the test: the paper's metrics, and the data under the names of `DATA`."""
    starts = test_starts(config)
    with listening(policy) as heard:
        listener = Listener(world_from(config, starts, len(starts)), policy, heard)
        played = listener.run(EVALUATION_SEED)
    played["return"] = played["return"].sum(-1)
    metrics = {name: values for name, values in played.items() if name[0] != "_"}
    return metrics | listener.data()
