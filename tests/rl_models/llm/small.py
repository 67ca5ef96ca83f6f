"""A small language model, a game of hints to play with it, and its narrator, for tests of language-model policies."""

from __future__ import annotations

import numpy as np
import torch

from rl_envs.core.spec import ArraySpec, TextSpec
from rl_envs.core.world import World
from rl_models.algorithms.ppo import Ppo
from rl_models.llm.llm_config import (
    LanguageModelSettings,
    LanguageTeamSettings,
    LoraSettings,
    MessageSettings,
    SmallModelSettings,
)
from rl_models.llm.messages import PADDING
from rl_models.runtime.added_observations import narrated
from rl_models.teams.llm_team import language_team
from tests.rl_models.training.small import begun

THINGS = ("red apple", "red brick", "green apple", "blue ball")
SMALL = SmallModelSettings(
    layers=2,
    width=32,
    heads=2,
    feed_forward=64,
    vocabulary=340,
    context=128,
    steps=100,
    batch_tokens=384,
    learning_rate=1e-2,
)


class Hints(World):
    """Each of N agents should take one of four things, which only its left neighbour knows.

    Observation: `situation` is (own number, thing that the right neighbour should take, ticks since the episode began).
    A thing takes one tick, or two where its number is odd (a macro action). One wrong thing is not to be had (`legal`).
    """

    action_spec = 4
    metric_names = ("right",)

    def __init__(self, num_worlds=1, first_world=0, *, num_agents=2, max_episode_steps=6, by_row=False):
        self.agents = tuple(f"guest_{i}" for i in range(num_agents))
        self.max_episode_steps = max_episode_steps
        self._by_row = by_row
        self.observation_spec = {
            "legal": ArraySpec((4,), "bool", 0, 1, "things that can be had"),
            "decides": ArraySpec((), "bool", 0, 1, "chooses now"),
        }
        if by_row:
            self.text_spec = {"situation": TextSpec(length=3, vocabulary=64, meaning="codes", rows=())}
        else:
            self.observation_spec["situation"] = ArraySpec((3,), "uint8", 0, 63, "codes")
        super().__init__(num_worlds, first_world)

    def _blank_state(self, num_worlds):
        each = (num_worlds, self.num_agents)
        own = {name: np.zeros(each, np.int32) for name in ("wanted", "missing", "busy", "since", "right")}
        return super()._blank_state(num_worlds) | own

    def _needed_state(self):
        return {"wanted"}

    def _begin(self, rows):
        self._draw(rows)
        self.state["right"][rows] = 0

    def _draw(self, rows):
        drawn = self.chance.uniforms(2 * self.num_agents, rows)
        wanted = (drawn[:, : self.num_agents] * 4).astype(np.int32)
        self.state["wanted"][rows] = wanted
        self.state["missing"][rows] = (wanted + 1 + (drawn[:, self.num_agents :] * 3).astype(np.int32)) % 4

    def _advance(self, actions, recorded):
        state = self.state
        decided = state["busy"] == 0
        right = decided & (actions == state["wanted"])
        state["right"] += right
        state["since"] = np.where(decided, 1, state["since"] + 1).astype(np.int32)
        state["busy"] = np.where(decided, actions % 2, state["busy"] - 1).astype(np.int32)
        over = np.zeros(self.num_worlds, bool)
        return right * 1.0, over, state["episode_length"] + 1 >= self.max_episode_steps

    def _observe(self, rows):
        state, shape = self.state, self.state["wanted"][rows].shape
        ticks = np.broadcast_to(state["episode_length"][rows][:, None], shape)
        who = np.broadcast_to(np.arange(self.num_agents), shape)
        codes = np.stack([who, np.roll(state["wanted"][rows], -1, axis=1), ticks], -1).astype(np.uint8)
        situation = self.texts["situation"].add(codes.reshape(-1, 3)).reshape(shape) if self._by_row else codes
        legal = np.arange(4) != state["missing"][rows][..., None]
        return {"situation": situation, "legal": legal, "decides": state["busy"][rows] == 0}

    def _episode_metrics(self, rows):
        return {"right": self.state["right"][rows].sum(1).astype(np.float64)}

    def _duration(self):
        return self.state["since"].copy()

    def render(self, index=0):
        return np.zeros((8, 8, 3), np.uint8)


class HintNarrator:
    """Words for `Hints`; the phrases of actions are not the same for all agents."""

    def message_prompt(self, code):
        return f"guest {code[0]} : your friend wants the {THINGS[code[1]]} after {code[2]} ticks . you say :"

    def action_prompt(self, code, heard):
        said = "".join(f" you hear : {text} ." for text in heard)
        return f"guest {code[0]} after {code[2]} ticks .{said} you"

    def actions(self, code):
        verb = ("take the", "pick up the")[code[0] % 2]
        return [f"{verb} {thing}" for thing in THINGS]


def corpus():
    narrator = HintNarrator()
    for who in range(3):
        for thing in range(4):
            for tick in range(6):
                code = np.array([who, thing, tick])
                yield narrator.message_prompt(code), f"take the {THINGS[thing]}"
                yield narrator.action_prompt(code, [f"take the {THINGS[thing]}"]), narrator.actions(code)[thing]


def settings(**changed):
    known = {
        "language": LanguageModelSettings(small=SMALL, lora=LoraSettings(rank=8, alpha=32)),
        "messages": MessageSettings(max_tokens=8),
        "value_hidden_sizes": (64, 32),
    }
    return LanguageTeamSettings(**(known | changed))


def team(num_agents=2, seed=0, **changed):
    return language_team(settings(**changed), HintNarrator(), num_agents, 4, corpus, seed)


def collector(num_worlds=3, first_world=0, length=8, num_agents=2, seed=3, policy=None, by_row=False, **changed):
    world = Hints(num_worlds, first_world, num_agents=num_agents, by_row=by_row)
    return begun(world, policy or team(num_agents, **changed), length, seed=seed)


def stir(weights, spread=0.3, seed=0):
    """Give fresh adapters weights that change something."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in weights:
            weight.add_(torch.randn(weight.shape, generator=generator) * spread)


BY_AGENT = Ppo(joint_ratio=False, value_loss_at="decisions")
DRAWN = MessageSettings(max_tokens=8, sampled=True)
FORMS = {
    "sum": {},
    "token": {"normalisation": "token"},
    "word": {"normalisation": "word"},
    "frozen_critic": {"critic_base": "frozen"},
    "drawn_messages": {"messages": DRAWN},
    "silence": {"messages": MessageSettings(heard="silence")},
    "shuffled": {"messages": MessageSettings(max_tokens=8, heard="shuffled")},
    "rows_of_a_table": {"by_row": True},
    "three_agents": {"num_agents": 3},
}
ROUNDING = ("log_prob", "agent_log_prob", "values", "final_values", "last_values")


def stirred(form="sum", **changed):
    """A collector whose adapters differ from the base and from each other."""
    one = collector(**(FORMS[form] | changed))
    language = one.policy.network.language
    stir(language.action.values())
    stir(language.message.values(), 0.03)  # little, so that what is said still depends on what is seen
    one.reset(3)
    return one


def narrated_again(policy, batch, **changed):
    """A batch whose agents are told what they see once more, some of it changed."""
    obs = {key.removeprefix("obs/"): value for key, value in batch.items() if key.startswith("obs/")}
    found = narrated(policy.network, obs | changed)
    return batch | {key if key.startswith("texts/") else f"obs/{key}": value for key, value in found.items()}


def shown_texts(fragment, key):
    """Token ids at every place, without what is behind their ends."""
    return [row[row != PADDING] for row in fragment.texts[key][fragment.obs[key].ravel()]]
