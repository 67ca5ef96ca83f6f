"""The salad kitchen of Verco (section 5.1), based on TWOSOME's two-agent Overcooked: Alice and Bob chop, plate and serve.

The cooks win if they serve the ordered salad: they chop its vegetables on a board, put them on one plate and bring it to
the window. A cook sees a square around itself, and its actions take several steps. Language agents read sentences about
what they see and a phrase for each action.

| | |
|---|---|
| agents | `agent_0` (Alice), `agent_1` (Bob) |
| actions | indices into `action_names`. `short`: wait, get each thing, go to each board, deliver, chop, and with a middle counter (B, C, D) go there. `full`: single steps, too. `primitive`: right, down, left, up (a move into something touches it), stay. An unavailable action is one step of waiting |
| observation `vector` | [30] uint8: row, column and chops of tomato, lettuce and onion; row and column of two plates, two boards, the delivery, the agent itself and the other agent; one number for each of the seven recipes. 0 for things that are out of sight, missing or not known. `tables["vector_scale"]` has the largest values |
| observation `legal` | [A] bool, actions that have an effect as far as the agent knows; all with `mask="none"` |
| observation `decides` | [] bool, the agent chooses an action now |
| observation `situation` | [S + A] int16, only with `text`: S = `num_sentences` indices into `sentences` ("" is empty), in reading order, then for each action an index into `phrases`. `text.Narrator` turns them into strings |
| tables | `vector_scale` [30] float32 |
| rewards | the same to both agents: -0.001 a step, +0.2 when a food of the recipe is chopped for the first time, +1 for the ordered dish, -0.1 for any other delivery, `collision_reward` (-0.01) for each move that the other agent cancels |
| episode end | terminated: the dish is served; truncated: `max_episode_steps` (200) is reached |
| arguments | `layout` (A: one room; B: two rooms; C: two rooms with a doorway; D: two rooms, one has everything but the delivery), `kitchen` (None: the one in which the papers' language agents make these salads; or `full`, three foods, two plates, two boards; `one_plate`; `tomato`, one of each), `recipes` (tomato; of several, each episode orders one), `actions` (short), `mask` (real; or `none`, as the authors do), `order_known_by` (all; or the one agent that knows the order, `Alice` or `Bob`), `sight` (2, cells in each direction), `text` (True: observe `situation`), `swap` (False; True: agents that move into each other's cells swap instead of losing their moves), `collision_reward` (-0.01), `restore_rule` (nearest free counter for things whose first cell is taken after a wrong delivery; or `cover`, on top of it), `rechop_pays` (False; True: chopping a food again after a wrong delivery pays again), `drawing` (None; or seven rows of a custom kitchen, instead of `layout` and `kitchen`), `max_episode_steps` (200) |
| recorded draws | none; the recipe of an episode is drawn when there are several |
| state for `restore` | cells as row * 7 + column: `agent_cells` [N]; optional, by default as at the start of an episode: `held` [N] (thing or -1), `thing_cells` [5] (tomato, lettuce, onion, plates; -1 for things that the kitchen lacks), `chops` [3], `in_plate` [3] (0, 1 or -1), `recipe` (index into `symbols.RECIPES`), `has_paid` [3], `lying` [49] (follows from the others unless one thing covers another), `believed_cells` [N, 5], `believed_chopped` [N, 3], `believed_plate` [N, 3], `macro` [N], `decides` [N], `since_decision` [N], `episode_length` |
| metrics | `success`, 1 for a served dish; `collisions`, cancelled moves; `wrong_dishes`, wrong deliveries |
| version history | v0: first version; with `swap`, `restore_rule="cover"`, `rechop_pays` and no `collision_reward` the rules replay the authors' engine without a mismatch |
"""  # noqa: E501 (a table row is one line)

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from rl_envs.core.arguments import finite, flags, one_of, steps, whole
from rl_envs.core.chance import pick
from rl_envs.core.metrics import COUNT, SHARE
from rl_envs.core.spec import Array, Arrays, ArraySpec
from rl_envs.core.world import World, module_story
from rl_envs.salad import macro_actions as macro
from rl_envs.salad import observation, rules
from rl_envs.salad.grammar import NUM_HANDS, Grammar
from rl_envs.salad.kitchen import STARTS, Kitchen, check_recipes, get_drawing, make_kitchen, usual_kitchen
from rl_envs.salad.macro_actions import MacroActions
from rl_envs.salad.state import check_state, initial_state, lying_things, state_bounds
from rl_envs.salad.symbols import (
    AGENT_COLOURS,
    AGENT_NAMES,
    CHOP_REWARD,
    COLLISION_REWARD,
    COUNTER,
    DISH_REWARD,
    LEGEND,
    MOVES,
    NOTHING,
    RECIPES,
    STAY,
    STEP_REWARD,
    WRONG_REWARD,
)
from rl_envs.salad.text import SituationDescriber

if TYPE_CHECKING:
    from rl_envs.salad.render import Scene

ALL_AGENTS = "all"


class Salad(World):
    """B kitchens with two cooks; the table above documents them."""

    story = module_story(__name__)
    colours = AGENT_COLOURS
    legend = LEGEND
    metric_names: tuple[str, ...] = ("success", "collisions", "wrong_dishes")
    metric_ranges = MappingProxyType({"success": SHARE, "collisions": COUNT, "wrong_dishes": COUNT})

    def __init__(
        self,
        num_worlds: int = 1,
        first_world: int = 0,
        *,
        layout: str = "A",
        kitchen: str | None = None,
        recipes: Sequence[str] = ("tomato",),
        actions: str = "short",
        mask: str = "real",
        order_known_by: str = ALL_AGENTS,
        sight: int = 2,
        text: bool = True,
        swap: bool = False,
        collision_reward: float = COLLISION_REWARD,
        restore_rule: str = "nearest",
        rechop_pays: bool = False,
        drawing: Sequence[str] | None = None,
        max_episode_steps: int = 200,
    ) -> None:
        """Build B worlds; the table above documents the arguments.

        Raises ValueError for an argument out of range, or a recipe that this kitchen cannot make.
        """
        one_of(("short", "full", "primitive"), actions=actions)
        one_of(("real", "none"), mask=mask)
        one_of((ALL_AGENTS, *AGENT_NAMES), order_known_by=order_known_by)
        one_of(rules.RESTORES, restore_rule=restore_rule)
        sight, max_episode_steps = whole("sight", sight, 1), steps(max_episode_steps)
        finite(collision_reward=collision_reward)
        flags(text=text, swap=swap, rechop_pays=rechop_pays)
        rows = get_drawing(layout, kitchen or usual_kitchen(recipes)) if drawing is None else tuple(drawing)
        self.kitchen: Kitchen = make_kitchen(rows, sight)
        check_recipes(recipes, self.kitchen)
        self.recipes = np.array([RECIPES.index(recipe) for recipe in recipes])
        self.knows = np.array([order_known_by in (ALL_AGENTS, name) for name in AGENT_NAMES])
        self._rules = rules.Rules(self.kitchen, swap=swap, restore=restore_rule, rechop_pays=rechop_pays)
        self._is_masked, self._has_text, self._collision_reward = mask == "real", text, collision_reward
        self.max_episode_steps, self.sight = max_episode_steps, sight
        self.agents = tuple(f"agent_{number}" for number in range(rules.AGENTS))
        self._prepare_actions(actions)
        self._prepare_observations()
        super().__init__(num_worlds, first_world)
        self.tables = {"vector_scale": observation.SCALE.copy()}

    def _prepare_actions(self, actions: str) -> None:
        self._is_primitive = actions == "primitive"
        self.macros = macro.useful_macros(self.kitchen, steps=actions == "full")
        if self._is_primitive:
            self.macros = np.array([*range(macro.STEP, macro.NUM_MACROS), macro.WAIT])
        self._actions = MacroActions(self.kitchen)
        self.action_names = MOVES if self._is_primitive else tuple(macro.NAMES[number] for number in self.macros)
        self.action_spec = len(self.macros)

    def _prepare_observations(self) -> None:
        self._observer = observation.Observer(self.kitchen)
        grammar = Grammar(self.kitchen, self.macros.tolist(), self.sight)
        self._describer = SituationDescriber(self.kitchen, grammar)
        self.sentences, self.phrases = grammar.sentences, grammar.phrases
        self.num_sentences = self._describer.num_slots
        self.observation_spec = self._specs()

    def _specs(self) -> dict[str, ArraySpec]:
        count = len(self.macros)
        specs = {
            "vector": observation.SPEC,
            "legal": ArraySpec((count,), "bool", 0, 1, "actions that have an effect"),
            "decides": ArraySpec((), "bool", 0, 1, "the agent chooses an action now"),
        }
        if self._has_text:
            last = max(len(self.sentences), len(self.phrases)) - 1
            ids = (self.num_sentences + count,)
            specs["situation"] = ArraySpec(ids, "int16", 0, last, "ids of sentences, then of phrases")
        return specs

    def _advance(self, actions: Any, recorded: Arrays) -> tuple[Array, Array, Array]:
        state = self.state
        decided, had, could = state["decides"], state["held"].copy(), state["available"].copy()
        np.copyto(state["macro"], self.macros[actions], where=decided)
        state["since_decision"] = np.where(decided, 1, state["since_decision"] + 1).astype(np.int32)
        outcome = self._rules.play(state, self._moves(actions))
        belief = self._look(slice(None))
        if not self._is_primitive:
            ended = self._actions.is_over(state["macro"], belief, had, outcome.touched, outcome.lost)
            goes_on = np.take_along_axis(could & state["available"], state["macro"][..., None], 2)[..., 0]
            state["decides"] = ended | ~goes_on
        collisions = outcome.lost.sum(1)
        state["collisions"] += collisions
        state["wrong_dishes"] += outcome.wrong
        state["success"][...] = outcome.correct
        reward = STEP_REWARD + CHOP_REWARD * outcome.chopped + WRONG_REWARD * outcome.wrong
        reward += DISH_REWARD * outcome.correct + self._collision_reward * collisions
        return np.repeat(reward[:, None], self.num_agents, axis=1), *self._endings(outcome.correct, True)

    def _moves(self, actions: Array) -> Array:
        if self._is_primitive:
            return actions
        belief = observation.beliefs(self.kitchen, self.state)
        return self._actions.moves(self.state["macro"], self.state["available"], belief)

    def _look(self, rows: Array | slice) -> observation.Belief:
        """Update what agents believe and which actions are available; returns the beliefs."""
        state = self.state
        if self._is_primitive:
            targets = self.kitchen.neighbours.T[state["agent_cells"][rows]]
            bare = (self.kitchen.fixtures[targets] == COUNTER) & (_at(state["lying"][rows], targets) == NOTHING)
            state["available"][rows] = ~bare | (state["held"][rows] != NOTHING)[..., None]
            state["available"][rows, :, STAY] = True
            return observation.beliefs(self.kitchen, state, rows)
        observation.look(self.kitchen, state, rows)
        belief = observation.beliefs(self.kitchen, state, rows)
        state["available"][rows] = self._actions.available(belief)
        return belief

    def _begin(self, rows: Array) -> None:
        self.state["recipe"][rows] = self.recipes[pick(self.chance.uniforms(1, rows)[:, 0], len(self.recipes))]
        self.state["agent_cells"][rows] = STARTS
        self._look(rows)

    def _observe(self, rows: Array) -> Arrays:
        state = self.state
        knows = np.broadcast_to(self.knows, (len(rows), self.num_agents))
        available = state["available"][rows]
        legal = available if self._is_primitive else available[..., self.macros]
        observations = {
            "vector": self._observer.observe(state, knows, rows),
            "legal": legal if self._is_masked else np.ones_like(legal),
            "decides": state["decides"][rows],
        }
        if self._has_text:
            sentences = self._describer.describe(state, knows, rows)
            observations["situation"] = np.concatenate([sentences, self._phrases(rows)], axis=2)
        return observations

    def _phrases(self, rows: Array) -> Array:
        """[K, N, A] int16; phrases of primitive actions never change."""
        if self._is_primitive:
            same = (np.arange(len(self.macros)) * NUM_HANDS).astype(np.int16)
            return np.tile(same, (len(rows), self.num_agents, 1))
        belief = observation.beliefs(self.kitchen, self.state, rows)
        return self._describer.phrases(self.macros, self.state, belief, self._actions, rows)

    def _episode_metrics(self, rows: Array) -> Arrays:
        return {name: self.state[name][rows].astype(np.float64) for name in self.metric_names}

    def _duration(self) -> Array:
        return self.state["since_decision"].copy()

    def _blank_state(self, num_worlds: int) -> Arrays:
        each = (num_worlds, self.num_agents)
        choices = len(MOVES) if self._is_primitive else macro.NUM_MACROS
        own = {
            "agent_cells": np.zeros(each, np.int64),
            "macro": np.zeros(each, np.int64),
            "available": np.zeros((*each, choices), bool),
            "decides": np.ones(each, bool),
            "since_decision": np.zeros(each, np.int32),
            "success": np.zeros(num_worlds, bool),
            "collisions": np.zeros(num_worlds, np.int64),
            "wrong_dishes": np.zeros(num_worlds, np.int64),
        }
        kept = initial_state(num_worlds, self.kitchen) | observation.initial_beliefs(num_worlds, self.kitchen)
        return super()._blank_state(num_worlds) | kept | own

    def _needed_state(self) -> set[str]:
        return {"agent_cells"}

    def _state_bounds(self) -> dict[str, tuple[int, int]]:
        return state_bounds(macro.NUM_MACROS)

    def _check_state(self, state: Arrays) -> None:
        check_state(self.kitchen, state)

    def _derive(self, rows: Array, given: frozenset[str]) -> None:
        if "recipe" not in given:
            self.state["recipe"][...] = self.recipes[0]
        self._rules.carry(self.state)
        if "lying" not in given:
            self.state["lying"] = lying_things(self.kitchen, self.state)
        self._look(rows)

    def render(self, index: int = 0) -> Array:
        """Image of world `index` with each agent's macro action, [H, W, 3] uint8."""
        from rl_envs.salad import render  # only rendering needs Pillow

        return render.draw(self.scene(index))

    def scene(self, index: int = 0) -> Scene:
        """The content of the image of world `index`; callers may add `messages`."""
        from rl_envs.salad import render

        return render.make_scene(self.kitchen, {name: value[index] for name, value in self.state.items()})


def _at(lying: Array, cells: Array) -> Array:
    """Things that lie in cells [K, N, M] of K worlds, same shape int64."""
    return lying[np.arange(len(lying))[:, None, None], cells]
