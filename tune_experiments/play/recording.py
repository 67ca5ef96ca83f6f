"""An episode of a trained team: as frames, as text, or played by one process per agent."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rl_envs import World
from rl_envs.core.spec import CONTINUOUS, deciding
from rl_models.configuration import DeviceChoice
from tune_experiments.core.errors import UserError

if TYPE_CHECKING:
    from tune_experiments.play.loading import LoadedPolicy

CANDIDATES = 16
"""Episodes among which the one that is shown is chosen."""
SEED = 226
WINS = ("success", "win_rate", "win")
"""Metrics of environments that are 1 in an episode that the team has won."""


class PlayedStep(NamedTuple):
    """One env step of B worlds, of which one is shown.

    Attributes:
        actions, rewards, info: Joint actions of all worlds, their rewards [B, N], and what the step tells beside them.
        chosen: Action of each agent of the shown world in words; `-` for one that waits or has left.
        messages: Text that each agent wrote in it; empty for none.
    """

    actions: Any
    rewards: np.ndarray
    info: dict[str, Any]
    chosen: list[str]
    messages: list[str]


def record_episode(policy: LoadedPolicy, seed: int = SEED, captions: bool = True) -> list[np.ndarray]:
    """Frames of the solved episode of median length among 16, or of the first if none is solved, uint8 [H, W, 3] each.

    With `captions`, names, actions and messages of the agents stand below the pictures.
    """
    from tune_experiments.play.captions import agent_captions, with_captions

    with shown_episode(policy, seed) as (world, index, steps):
        frames, lines = [world.render(index)], [agent_captions(world)]
        for step in steps:
            frames.append(world.render(index))
            lines.append(agent_captions(world, step.chosen, step.messages))
    return with_captions(frames, lines) if captions else frames


def describe_episode(policy: LoadedPolicy, seed: int = SEED) -> Generator[str, None, None]:
    """Lines that describe the episode of `record_episode`: texts, messages, actions, rewards and metrics."""
    with shown_episode(policy, seed) as (world, index, steps):
        yield from describe_steps(world, steps, index)


def play_decentralised(policy: LoadedPolicy, checkpoint: Path, seed: int = SEED) -> Generator[str, None, None]:
    """The episode of `describe_episode`, played by one process per agent, with the size and number of their messages.

    The processes load `checkpoint`; the team itself chooses the episode. UserError if the team cannot act
    decentralised, or a process fails.
    """
    from rl_models.teams.decentralised import AgentPolicy
    from tune_experiments.play.decentralised import PlayedEpisode, separate_agents

    try:
        first_agent = AgentPolicy(policy.policy, 0)
    except TypeError as error:
        raise UserError(str(error)) from error
    if policy.is_greedy:
        raise UserError("this team takes the most probable actions, and separate agents sample: play it in one process")
    index = chosen_episode(policy, seed)
    world = policy.make_world(1)
    world.first_world, world.auto_resets = index, False  # the chosen episode only
    obs = world.reset(seed)
    device: DeviceChoice = "cpu" if policy.device.type == "cpu" else "auto"
    episode = PlayedEpisode(checkpoint, seed, index, policy.allow, device)
    agents = separate_agents(episode, first_agent.num_agents, first_agent.observation_keys)
    with contextlib.closing(world), agents as team:
        yield f"{first_agent.num_agents} processes, one per agent; per step, {_exchanged(policy, obs)}"
        yield from describe_steps(world, _play(team.act, world, obs, 0), 0)
        traffic = team.end_episode()
        yield f"{traffic['messages']:,} messages sent between agents, {traffic['bytes']:,} bytes"


def _exchanged(policy: LoadedPolicy, obs: dict[str, np.ndarray]) -> str:
    """Sentence on the messages that an agent sends each other agent in a step."""
    import torch

    from rl_models.runtime.device import to_device
    from rl_models.teams.decentralised import message_sizes

    first = to_device({key: value[:, 0] for key, value in obs.items()}, policy.device)
    with torch.inference_mode():
        sizes = message_sizes(policy.policy, first, torch.ones(1, dtype=torch.bool, device=policy.device))
    if not sizes or policy.policy.num_agents == 1:
        return "no messages are sent"
    return f"each agent sends each other agent {sum(sizes)} bytes in {len(sizes)} message{'s' * (len(sizes) > 1)}"


def written_by(policy: LoadedPolicy, index: int, agent: int) -> str:
    """Message of an agent in world `index` at the last step; empty for a team that does not write."""
    from rl_models.runtime.added_observations import MESSAGES

    network: Any = policy.policy.network
    output = policy.last_output
    if output is None or MESSAGES not in output.extras or not hasattr(network, "message_text"):
        return ""
    return str(network.message_text(output.extras[MESSAGES][index, 0, agent].cpu().numpy()))


def describe_actions(
    world: World, actions: Any, index: int, decides: np.ndarray | None, waiting: str = "-"
) -> list[str]:
    """Action of each agent of world `index`; `waiting` for one that does not choose, because it waits or has left."""
    return [
        _describe_action(world, actions, index, agent) if decides is None or decides[index, agent] else waiting
        for agent in range(len(world.agents))
    ]


def _describe_action(world: World, actions: Any, index: int, agent: int) -> str:
    """Name or number of an action, or each part that the agent has with its number or numbers."""
    if not isinstance(actions, dict):
        return action_name(world, agent, int(actions[index, agent]))
    words = []
    for part, start in world.action_starts(agent).items():
        chosen = actions[part][index, agent]
        if part == CONTINUOUS:
            bounds: Any = world.action_spec[CONTINUOUS]  # type: ignore[index]
            own = chosen[bounds.low[agent] < bounds.high[agent]]
            words.append(f"{part} {' '.join(f'{number:.3g}' for number in own)}")
        else:
            words.append(f"{part} {start + chosen}")
    return ", ".join(words)


def action_name(world: World, agent: int, action: int) -> str:
    """Name of an agent's action, or the number that its environment has for it."""
    names = getattr(world, "action_names", ())
    (start,) = world.action_starts(agent).values()
    return str(names[action] if action < len(names) else start + action)


def describe_steps(world: World, steps: Iterator[PlayedStep], index: int) -> Iterator[str]:
    """Lines of an episode: texts and messages when they change, actions and rewards of each step, the metrics."""
    info: dict[str, Any] = {}
    shown: dict[str, str] = {}
    read = _read(world, index)
    for number, (_, rewards, info, chosen, messages) in enumerate(steps, start=1):  # noqa: B007
        now = read | {f"{agent} writes": text for agent, text in zip(world.agents, messages, strict=True) if text}
        yield from (f"      {key}: {text}" for key, text in now.items() if shown.get(key) != text)
        done = [f"{agent}: {action}" for agent, action in zip(world.agents, chosen, strict=True)]
        yield f"{number:4d}  {', '.join(done)}  (rewards {', '.join(f'{value:+z.2f}' for value in rewards[index])})"
        shown, read = now, _read(world, index)
    place = list(info["done_worlds"]).index(index)
    episode = {name: value[place] for name, value in info["episode"].items()}
    yield "  ".join(f"{name} {np.round(value, 3)}" for name, value in episode.items())


def _read(world: World, index: int) -> dict[str, str]:
    """Texts in the observations of world `index`, on one line each: key -> text, or `agent key` where agents differ."""
    from tune_experiments.play.attention_maps import get_texts

    obs = {key: value[index] for key, value in world.observe().items()}
    found = [get_texts(world, obs, agent) for agent in range(world.num_agents)]
    shared = {key: text for key, text in found[0].items() if all(texts.get(key) == text for texts in found)}
    own = {
        f"{agent} {key}": text
        for agent, texts in zip(world.agents, found, strict=True)
        for key, text in texts.items()
        if key not in shared
    }
    return {key: text.replace("\n", " | ") for key, text in (shared | own).items()}


def chosen_episode(policy: LoadedPolicy, seed: int) -> int:
    """The solved episode of median length."""
    length, solved = play_candidates(policy, seed)
    return _of_middle_length(length, solved) if solved.any() else 0


def failed_episode(policy: LoadedPolicy, seed: int) -> int | None:
    """The unsolved episode of median length; None if all are solved."""
    length, solved = play_candidates(policy, seed)
    return None if solved.all() else _of_middle_length(length, ~solved)


def _of_middle_length(length: np.ndarray, among: np.ndarray) -> int:
    rows = np.flatnonzero(among)
    return int(rows[np.argsort(length[rows])[len(rows) // 2]])


def play_candidates(policy: LoadedPolicy, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Length [B] in env steps and success [B] bool of each world's first episode."""
    with contextlib.closing(policy.make_world(CANDIDATES)) as world:
        length, solved = np.zeros(world.num_worlds), np.full(world.num_worlds, False)
        running = np.ones(world.num_worlds, bool)
        obs, first = world.reset(seed), None
        policy.reset(seed, world.texts)
        while running.any():
            obs, _, terminated, truncated, info = world.step(policy.act(obs, first))
            first = terminated | truncated
            if first.any():
                fresh = running[info["done_worlds"]]
                rows = info["done_worlds"][fresh]
                length[rows] = info["episode"]["length"][fresh]
                for name in info["episode"].keys() & WINS:
                    solved[rows] = info["episode"][name][fresh] > 0
            running &= ~first
    return length, solved


@contextlib.contextmanager
def shown_episode(
    policy: LoadedPolicy, seed: int = SEED, index: int | None = None
) -> Iterator[tuple[Any, int, Iterator[PlayedStep]]]:
    """Play the first episode of a world, by default the chosen one: all worlds at its start, its index, and its steps.

    The worlds, of a type that the experiment knows, are closed at the end.
    """
    index = chosen_episode(policy, seed) if index is None else index
    with contextlib.closing(policy.make_world(CANDIDATES)) as world:
        world.auto_resets = False
        obs = world.reset(seed)
        policy.reset(seed, world.texts)
        yield world, index, _play(policy.act, world, obs, index, lambda agent: written_by(policy, index, agent))


def _play(
    act: Callable[[Any], Any], world: World, obs: Any, index: int, written: Callable[[int], str] = lambda agent: ""
) -> Iterator[PlayedStep]:
    """Play until world `index` ends."""
    ended = np.zeros(world.num_worlds, bool)
    while not ended[index]:
        obs = world.next_episode(np.flatnonzero(ended)) if ended.any() else obs
        decides, actions = deciding(obs), act(obs)
        chosen = describe_actions(world, actions, index, decides)
        messages = [written(agent) for agent in range(world.num_agents)]
        obs, rewards, terminated, truncated, info = world.step(actions)
        ended = terminated | truncated
        yield PlayedStep(actions, rewards, info, chosen, messages)
