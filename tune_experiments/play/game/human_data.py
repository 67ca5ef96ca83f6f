"""Episodes with a person as files: observations, actions, rewards, and a snapshot of the start for replays.

NAME.html           the page of the episode, as every other
NAME.safetensors    start/KEY snapshot of the world; obs/KEY [T, N, ...]; actions [T, N]; rewards [T, N]
NAME.json           experiment, configuration, method, seed, which agent the person was, and the messages
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy

from rl_envs.core.spec import Array, Arrays
from tune_experiments.core.errors import UserError
from tune_experiments.core.files import read_json, write_atomically, write_json


@dataclass(frozen=True)
class HumanEpisode:
    """Stored episode of a person with a team.

    Attributes:
        about: Contents of the JSON file; its metrics are empty if the episode was left before its end.
        start: Snapshot of the world, name -> [1, ...].
        obs: Name -> [T, N, ...].
        actions: [T, N] int64 as `World.step` takes them, the person's own among them.
        rewards: [T, N] float64.
    """

    about: dict[str, Any]
    start: Arrays
    obs: Arrays
    actions: Array
    rewards: Array


def save_episode(episode: HumanEpisode, path: Path) -> None:
    """Write `path` with .safetensors and .json behind it."""
    arrays = {"actions": episode.actions, "rewards": episode.rewards}
    arrays |= {f"start/{name}": value for name, value in episode.start.items()}
    arrays |= {f"obs/{name}": value for name, value in episode.obs.items()}
    whole = {name: np.ascontiguousarray(value) for name, value in arrays.items()}
    write_atomically(path.with_suffix(".safetensors"), safetensors.numpy.save(whole))
    write_json(path.with_suffix(".json"), episode.about)


def load_episode(path: Path) -> HumanEpisode:
    """Read what `save_episode` wrote; UserError if a file is missing or damaged."""
    try:
        arrays = safetensors.numpy.load_file(path.with_suffix(".safetensors"))
        parts = {
            group: {name.removeprefix(f"{group}/"): value for name, value in arrays.items() if name.startswith(group)}
            for group in ("start", "obs")
        }
        found = read_json(path.with_suffix(".json"))
        return HumanEpisode(found, parts["start"], parts["obs"], arrays["actions"], arrays["rewards"])
    except (OSError, KeyError, safetensors.SafetensorError) as error:
        raise UserError(f"{path} holds no episode of a person ({error}); name the file without its suffix") from error
