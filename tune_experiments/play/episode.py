"""A recorded episode: what each agent observed, computed and did at every step, for any world and any network."""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from rl_envs.core.spec import Array, Arrays, deciding
from tune_experiments.core.drawing import attempt_part
from tune_experiments.play.recording import SEED, WINS, action_name, describe_actions, written_by
from tune_experiments.play.spectator import Note, Spectator, checked_drawing

if TYPE_CHECKING:
    from rl_models.policy import TeamOutput
    from tune_experiments.play.attention_maps import AttentionMap
    from tune_experiments.play.loading import LoadedPolicy

MAX_STEPS = 500
"""Env steps of an episode that are recorded; a longer one is cut, and its record says so."""
_MOST_LIKELY = 6
_MAX_JOINT_WIDTH = 24
"""Actions of an agent up to which the joint policy of two agents is kept whole."""


@dataclass(frozen=True)
class AgentStep:
    """Record of one agent at one step: its action, "" while it is busy with an earlier one.

    `likely` has its most probable actions with their probabilities, and is empty if the policy has no marginals;
    `message` is the text that it wrote to the others, "" for none; `attention` has maps over what it reads; `entities`
    has names of those that its mask keeps, and is None without an entity divider.
    """

    action: str
    likely: tuple[tuple[str, float], ...] = ()
    message: str = ""
    attention: tuple[AttentionMap, ...] = ()
    entities: tuple[str, ...] | None = None


@dataclass
class Step:
    """One env step.

    Attributes:
        picture: Picture of the world before it, [H, W, 3] uint8; None for a world that is not drawn.
        joint: Joint policy of two agents, [A, A] float32, or None.
        weights: Weights of the M components of a mixture; empty for one component.
        texts: Observation key -> text that the first agent reads.
        rewards: Reward of each agent for this step.
    """

    picture: Array | None
    agents: tuple[AgentStep, ...]
    joint: Array | None = None
    weights: tuple[float, ...] = ()
    texts: dict[str, str] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    rewards: tuple[float, ...] = ()


@dataclass
class Episode:
    """A recorded episode; what is unknown is empty.

    Attributes:
        title, start: Seed and world of the start, and digest of the world's state there.
        actions: What each agent's first actions are called, up to those that a joint policy shows.
        metrics: Metrics of the episode; empty if it was cut.
        colours: Colours of the agents in the pictures, as CSS writes them.
        story: What the agents must do and how they win.
        legend: What is in the pictures, each with its colour.
        ending: Why the episode ended, and whether the team won.
        missing: Part that cannot be shown, such as "pictures" -> cause.
    """

    title: str
    start: str
    agents: tuple[str, ...]
    actions: tuple[tuple[str, ...], ...]
    steps: list[Step] = field(default_factory=list)
    last_picture: Array | None = None
    last_notes: tuple[Note, ...] = ()
    metrics: dict[str, float] = field(default_factory=dict)
    colours: tuple[str, ...] = ()
    story: str = ""
    legend: tuple[tuple[str, str], ...] = ()
    ending: str = ""
    missing: dict[str, str] = field(default_factory=dict)


class EpisodeRecorder:
    """Keeps one episode of one world of a batch, step by step."""

    def __init__(self, loaded: LoadedPolicy, world: Any, index: int, title: str, spectator: Spectator) -> None:
        """Begin a record of a world that was just reset."""
        shown = range(min(world.action_spec, _MAX_JOINT_WIDTH) if isinstance(world.action_spec, int) else 0)
        self.episode = Episode(
            title,
            state_digest(world, index),
            tuple(world.agents),
            tuple(tuple(action_name(world, agent, action) for action in shown) for agent in range(world.num_agents)),
            colours=tuple(map(css_colour, world.agent_colours())),
            story=world.story,
            legend=tuple((what, css_colour(colour)) for what, colour in world.legend.items()),
        )
        self._loaded, self._world, self._index, self._spectator = loaded, world, index, spectator

    def record_actions(self, obs: Arrays, actions: Any) -> None:
        """Record actions, [B, N] int or factor -> such an array, and what the team observed, name -> [B, N, ...]."""
        from tune_experiments.play.attention_maps import attention_maps, get_texts, own_entities

        world, index, output = self._world, self._index, self._loaded.last_output
        assert output is not None
        decides = deciding(obs)
        own = {key: value[index] for key, value in obs.items()}
        policy = _JointView(output, index, world)
        everyone_decides = decides is None or bool(decides[index].all())
        chosen = describe_actions(world, actions, index, decides, waiting="")
        shown = functools.partial(attempt_part, self.episode.missing)
        extras, spectator = output.extras, self._spectator
        agents = tuple(
            AgentStep(
                action,
                policy.likely(agent) if action else (),
                written_by(self._loaded, index, agent),
                shown("attention", functools.partial(attention_maps, world, own, extras, index, agent), ()),
                shown("entities", functools.partial(own_entities, world, own, extras, index, agent), None),
            )
            for agent, action in enumerate(chosen)
        )
        picture = shown("pictures", lambda: checked_drawing(spectator.picture, world, index), None)
        notes = shown("notes", lambda: spectator.notes(world, index), tuple[Note, ...]())
        joint = policy.joint() if everyone_decides else None
        step = Step(picture, agents, joint, policy.weights(), get_texts(world, own, 0), notes)
        self.episode.steps.append(step)

    def record_rewards(self, rewards: Sequence[float]) -> None:
        """Record the rewards of the last step, one number per agent."""
        self.episode.steps[-1].rewards = tuple(float(value) for value in rewards)

    def finish(self, metrics: dict[str, float], terminated: bool | None = None) -> Episode:
        """The finished episode, without metrics if it was cut; `terminated` by its rules or not, None if unknown."""
        shown, world, index = functools.partial(attempt_part, self.episode.missing), self._world, self._index
        last = self._spectator.last_picture
        self.episode.last_picture = shown("pictures", lambda: checked_drawing(last, world, index), None)
        self.episode.last_notes = shown("notes", lambda: self._spectator.last_notes(world, index), tuple[Note, ...]())
        self.episode.metrics = metrics
        self.episode.ending = describe_ending(metrics, len(self.episode.steps), terminated)
        return self.episode


class _JointView:
    """The joint policy of one world at its last action, as far as it can be shown."""

    def __init__(self, output: TeamOutput, index: int, world: Any) -> None:
        from rl_models.distributions.joint_policy import WholeJointPolicy

        policy: Any = output.policy
        self._policy, self._index, self._world = policy, index, world
        self._marginals = policy.marginals()[index, 0].cpu().numpy() if isinstance(policy, WholeJointPolicy) else None

    def likely(self, agent: int) -> tuple[tuple[str, float], ...]:
        """The most probable actions of an agent."""
        if self._marginals is None:
            return ()
        shares = self._marginals[agent]
        best = np.argsort(-shares, kind="stable")[:_MOST_LIKELY].tolist()
        return tuple((action_name(self._world, agent, action), float(shares[action])) for action in best)

    def joint(self) -> Array | None:
        """[A, A] for two agents with few actions."""
        if self._marginals is None or self._marginals.shape[0] != 2 or self._marginals.shape[1] > _MAX_JOINT_WIDTH:
            return None
        first = slice(self._index, self._index + 1)
        joint: Array = self._policy.select_worlds(first).joint()[0, 0].cpu().numpy()
        return joint

    def weights(self) -> tuple[float, ...]:
        """Shares of the components of a mixture with more than one."""
        weights = getattr(self._policy, "log_weights", None)
        if weights is None or weights.shape[-1] < 2:
            return ()
        return tuple(weights[self._index, 0].exp().tolist())


def state_digest(world: Any, index: int) -> str:
    """Digest of a world's state and type; equal digests mean the same start of the same game."""
    found = hashlib.sha256(type(world).__qualname__.encode())
    whole = world.snapshot()  # of a custom environment it also has a fingerprint of what is seen
    for name in sorted(world.state):
        if name not in world.texts:  # row numbers; they depend on what was read before
            found.update(name.encode() + np.ascontiguousarray(whole[name][index]).tobytes())
    return found.hexdigest()[:16]


def css_colour(colour: tuple[int, int, int]) -> str:
    """A colour as CSS writes it."""
    return f"rgb({', '.join(map(str, colour))})"


def describe_ending(metrics: dict[str, float], env_steps: int, terminated: bool | None) -> str:
    """Why an episode ended and whether the team won, as far as this is known."""
    if terminated is None:
        return ""
    won = next((metrics[name] for name in WINS if name in metrics), None)
    result = "The episode ended" if won is None else "The team won" if won >= 1 else "The team did not win"
    why = "the rules ended the episode" if terminated else "the time limit was reached"
    return f"{result}: {why} after {env_steps:,} env steps."


def record_episodes(
    loaded: LoadedPolicy, seed: int = SEED, episodes: int = 1, max_steps: int = MAX_STEPS
) -> list[Episode]:
    """The first episode of each of B worlds of the team's test; longer ones are cut after `max_steps`."""
    world = loaded.make_world(episodes)
    world.auto_resets = False
    with contextlib.closing(world), loaded.showing_attention(), loaded.experiment.spectator(loaded) as spectator:
        obs, first = world.reset(seed), None
        loaded.reset(seed, world.texts)
        recorders = {
            index: EpisodeRecorder(loaded, world, index, f"seed {seed}, world {index}", spectator)
            for index in range(episodes)
        }
        finished: dict[int, Episode] = {}
        for _ in range(max_steps):
            actions = loaded.act(obs, first)
            for recorder in recorders.values():
                recorder.record_actions(obs, actions)
            obs, reward, terminated, truncated, info = world.step(actions)
            for index, recorder in recorders.items():
                recorder.record_rewards(reward[index])
            first = terminated | truncated
            for index in set(np.flatnonzero(first).tolist()) & recorders.keys():
                finished[index] = recorders.pop(index).finish(episode_metrics(info, index), bool(terminated[index]))
            if not recorders:
                break
            if first.any():
                obs = world.next_episode(np.flatnonzero(first))
        finished |= {index: recorder.finish({}) for index, recorder in recorders.items()}
    return [finished[index] for index in range(episodes)]


def episode_metrics(info: dict[str, Any], index: int) -> dict[str, float]:
    """Metrics of the episode that has just ended in a world, averaged over agents."""
    place = list(info["done_worlds"]).index(index)
    return {name: float(np.mean(values[place])) for name, values in info["episode"].items()}
