"""An episode of a trained team: as frames, as text, or played by one process per agent."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rl_envs import World
from rl_envs.core.spec import deciding
from rl_models.configuration import DeviceChoice
from tune_experiments.core.errors import UserError

if TYPE_CHECKING:
    from tune_experiments.play.captions import Caption
    from tune_experiments.play.loading import LoadedPolicy

CANDIDATES = 16
"""Episodes among which the one that is shown is chosen."""
SEED = 226
WINS = ("success", "win_rate", "win")
"""Metrics of environments that are 1 in an episode that the team has won."""


def record_episode(policy: LoadedPolicy, seed: int = SEED, captions: bool = True) -> list[np.ndarray]:
    """Frames of the solved episode of median length among 16, or of the first if none is solved, uint8 [H, W, 3] each.

    With `captions`, names, actions and messages of the agents stand below the pictures.
    """
    from tune_experiments.play.captions import with_captions

    frames, lines = _frames_and_captions(policy, seed, chosen_episode(policy, seed))
    return with_captions(frames, lines) if captions else frames


def describe_episode(policy: LoadedPolicy, seed: int = SEED) -> Generator[str, None, None]:
    """Lines that describe the episode of `record_episode`: texts, messages, actions, rewards and metrics."""
    index = chosen_episode(policy, seed)
    with candidate_worlds(policy) as world:
        steps = steps_of_episode(policy, world, seed, index)
        yield from describe_steps(world, steps, index, lambda agent: written_by(policy, index, agent))


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
        yield from describe_steps(world, _continue(team.act, world, obs, 0), 0)
        traffic = team.end_episode()
        yield f"{traffic.messages:,} messages sent between agents, {traffic.bytes:,} bytes"


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


def describe_action(actions: Any, index: int, agent: int, names: Sequence[str]) -> str:
    """Action of an agent in world `index`: its name or number, or each factor with its number or numbers."""
    if isinstance(actions, dict):
        chosen = {factor: values[index, agent] for factor, values in actions.items()}
        return ", ".join(
            f"{factor} {' '.join(f'{number:.3g}' for number in value) if np.ndim(value) else value}"
            for factor, value in chosen.items()
        )
    return action_name(int(actions[index, agent]), names)


def action_name(action: int, names: Sequence[str]) -> str:
    """Name of an action, or its number where it has none."""
    return names[action] if action < len(names) else str(action)


def describe_steps(
    world: World,
    steps: Iterator[tuple[Any, Any, Any, Any]],
    index: int,
    written: Callable[[int], str] = lambda agent: "",
) -> Iterator[str]:
    """Lines of an episode: texts and messages when they change, actions and rewards of each step, the metrics.

    An agent that does not choose at a step, because it waits or has left, has `-` in place of an action.
    """
    info: dict[str, Any] = {}
    shown: dict[str, str] = {}
    read, decides = _read(world, index), deciding(world.observe())
    for step, (actions, reward, _, info) in enumerate(steps, start=1):  # noqa: B007
        messages = {f"{agent} writes": written(i) for i, agent in enumerate(world.agents)}
        now = read | {key: text for key, text in messages.items() if text}
        yield from (f"      {key}: {text}" for key, text in now.items() if shown.get(key) != text)
        chosen = _describe_actions(world, actions, index, decides)
        done = [f"{agent}: {action}" for agent, action in zip(world.agents, chosen, strict=True)]
        yield f"{step:4d}  {', '.join(done)}  (rewards {', '.join(f'{value:+z.2f}' for value in reward[index])})"
        shown, read, decides = now, _read(world, index), deciding(world.observe())
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


def candidate_worlds(policy: LoadedPolicy) -> contextlib.closing[World]:
    """Context with the worlds whose first episodes can be chosen; closes them."""
    return contextlib.closing(policy.make_world(CANDIDATES))


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
    with candidate_worlds(policy) as world:
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


def _frames_and_captions(policy: LoadedPolicy, seed: int, index: int) -> tuple[list[np.ndarray], list[list[Caption]]]:
    """Pictures at the start and after each env step, and what each agent has done in that step."""
    from tune_experiments.play.captions import agent_captions

    with candidate_worlds(policy) as world:
        steps = steps_of_episode(policy, world, seed, index)
        frames, captions = [world.render(index)], [agent_captions(world)]
        decides = deciding(world.observe())
        for actions, *_ in steps:
            messages = [written_by(policy, index, agent) for agent in range(world.num_agents)]
            captions.append(agent_captions(world, _describe_actions(world, actions, index, decides), messages))
            frames.append(world.render(index))
            decides = deciding(world.observe())
        return frames, captions


def _describe_actions(world: World, actions: Any, index: int, decides: np.ndarray | None) -> list[str]:
    """Action of each agent; `-` for one that does not choose at this step, because it waits or has left."""
    names = tuple(map(str, getattr(world, "action_names", ())))
    return [
        describe_action(actions, index, agent, names) if decides is None or decides[index, agent] else "-"
        for agent in range(world.num_agents)
    ]


def steps_of_episode(policy: LoadedPolicy, world: World, seed: int, index: int) -> Iterator[tuple[Any, Any, Any, Any]]:
    """Play until world `index` ends; the world is reset at the call, before the first step."""
    world.auto_resets = False
    obs = world.reset(seed)
    policy.reset(seed, world.texts)
    return _continue(policy.act, world, obs, index)


def _continue(act: Callable[[Any], Any], world: World, obs: Any, index: int) -> Iterator[tuple[Any, Any, Any, Any]]:
    while True:
        actions = act(obs)
        obs, reward, terminated, truncated, info = world.step(actions)
        ended = terminated | truncated
        yield actions, reward, ended, info
        if ended[index]:
            return
        if ended.any():
            obs = world.next_episode(np.flatnonzero(ended))
