"""Fixed starts generated from a seed, and the command that writes them into a file.

The protocol of A Cordial Sync (Jain et al., ECCV 2020, section 6): 200 starts in each test room, the same for every
method. Start k of a room depends only on the seed, the room and the number of agents, not on the number of starts, the
other rooms or the process.

    python -m rl_envs.furnmove.starts --rooms test --num-rooms 5 --agents 2 --per-room 200 --out starts.json
"""

import argparse
import hashlib
import itertools
from collections.abc import Sequence

import numpy as np

from rl_envs.core.chance import Chance
from rl_envs.furnmove.fixed_starts import StartError, Starts
from rl_envs.furnmove.geometry import MIN_AGENT_SEPARATION
from rl_envs.furnmove.maps import compile_room
from rl_envs.furnmove.observation import MARGIN
from rl_envs.furnmove.room import Room
from rl_envs.furnmove.splits import SIZES, resolve_rooms
from rl_envs.furnmove.start import Start, draw_start, draws_needed
from rl_envs.furnmove.start_file import save_starts

_TRIES = 1024
"""Number of draws for one start; a room without a legal one among them has too few starts."""


def make_starts(
    rooms: Sequence[Room],
    num_agents: int,
    per_room: int,
    seed: int = 0,
    min_agent_distance_cells: int = MIN_AGENT_SEPARATION,
) -> Starts:
    """K = len(rooms) * per_room legal starts of the world (`start.py`), distinct within a room.

    A room's starts follow from its unique name and the seed; `min_agent_distance_cells` is the world's argument.
    """
    for name, number in (("num_agents", num_agents), ("per_room", per_room), ("the number of rooms", len(rooms))):
        if number < 1:
            raise ValueError(f"{name} must be at least 1, got {number}")
    drawn = [
        start for room in rooms for start in _starts_in(room, num_agents, per_room, seed, min_agent_distance_cells)
    ]
    arrays = (np.stack(arrays) for arrays in zip(*drawn, strict=True))
    return Starts(tuple(rooms), np.repeat(np.arange(len(rooms)), per_room), *arrays)


def _starts_in(room: Room, num_agents: int, count: int, seed: int, spacing: int) -> list[Start]:
    compiled = compile_room(room, room.height, room.width)
    # The seed is this room's alone, so that the number and the order of other rooms do not matter.
    own_seed = hashlib.sha256(f"{seed} {room.name}".encode()).digest()[:8]
    chance, draws = Chance(int.from_bytes(own_seed, "little"), 0, count), draws_needed(num_agents)
    found: dict[tuple[int, ...], Start] = {}
    tries = _TRIES if len(compiled.tv_starts) and len(compiled.stand_places) else 0
    for number in range(count):
        for attempt in range(tries):
            uniforms = chance.uniforms(draws, np.array([number]), attempt * draws)[0]
            start = draw_start(compiled, room.width + 2 * MARGIN, num_agents, spacing, uniforms)
            if start is not None and (key := _key(start)) not in found:
                found[key] = start
                break
        else:
            raise StartError(
                f"room {room.name!r} has no {count} different starts for {num_agents} agents, {number} were found: ask "
                "for fewer, or give a room with more free floor"
            )
    return list(found.values())


def _key(start: Start) -> tuple[int, ...]:
    return tuple(np.concatenate([part.ravel() for part in start]).tolist())


def main(arguments: Sequence[str] | None = None) -> None:
    """Write a start file and print a summary."""
    parser = argparse.ArgumentParser(prog="python -m rl_envs.furnmove.starts", description="Write fixed starts.")
    parser.add_argument("--rooms", nargs="+", default=["test"], help="splits, streams, room names or room files")
    parser.add_argument("--num-rooms", type=int, help="number of rooms to take from the front of these; all by default")
    parser.add_argument("--room-size", choices=SIZES, default="full", help="size of named rooms")
    parser.add_argument("--agents", type=int, default=2, help="number of agents in each start")
    parser.add_argument("--per-room", type=int, default=200, help="number of starts in each room")
    parser.add_argument("--seed", type=int, default=0, help="seed of the starts")
    parser.add_argument("--out", required=True, help="path of the start file to write")
    given = parser.parse_args(arguments)
    try:
        starts = make_starts(_rooms(given), given.agents, given.per_room, given.seed)
        save_starts(given.out, starts)
    except ValueError as error:
        parser.error(str(error))
    each = f"{given.per_room:,} in each of {len(starts.rooms)} rooms ({_listed(starts.rooms)})"
    print(f"wrote {given.out}: {len(starts):,} starts of {starts.num_agents} agents, {each}")


def _rooms(given: argparse.Namespace) -> list[Room]:
    """The rooms that the command line names; a stream makes no more rooms than needed."""
    rooms = (room for word in given.rooms for room in resolve_rooms(word, given.room_size))
    if given.num_rooms is None:
        return list(rooms)
    first = list(itertools.islice(rooms, max(given.num_rooms, 0)))
    if not first or len(first) < given.num_rooms:
        raise ValueError(f"--num-rooms is {given.num_rooms} but must be at least 1, and there are {len(first)} rooms")
    return first


def _listed(rooms: Sequence[Room]) -> str:
    names = [room.name for room in rooms]
    return ", ".join(names if len(names) <= 6 else [*names[:2], "...", names[-1]])


if __name__ == "__main__":
    main()
