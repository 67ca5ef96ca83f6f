"""MESSENGER (Hanjie et al., ICML 2021, section 3) for one agent, and for two as in EnDi (2023, section 5.2 and A.2).

Entities are symbols without names. A manual of a few sentences says which one is the enemy, the message and the goal. An
agent must fetch the message, bring it to the goal and avoid the enemy. Held-out games give entities roles that they
never have in training, and held-out manuals use other sentences.

| | |
|---|---|
| agents | `agent_0`; with `num_agents` 2 also `agent_1` |
| actions | 5: up, down, left, right, stay; a move out of the 10 x 10 grid does nothing |
| observation `symbols` | [F, E] uint8, entities of the last F steps, oldest first (all equal at the start); 2 to 13, or 0 if removed. Their order is independent of their roles. E = 3; 5 in stage 3 and for two agents |
| observation `cells` | [F, E] uint8, cells of the entities, row * 10 + column; an entity between cells is in the upper left one |
| observation `agent_symbols` | [F, N] uint8, the agent itself first: 15 without the message, 16 with it, 0 if dead |
| observation `agent_cells` | [F, N] uint8, cells of the avatars, in the same order |
| observation `manual` | [S] uint16 (int32 for a corpus of more than 65,536 sentences), ids of sentences: rows of `tables["sentence_words"]`, indices into `sentences`. S = 3; 6 in a single agent's stage 3 |
| observation `roles` | [3] uint8, only with `shows_roles`: symbols of the manual's enemy, message and goal |
| tables | `sentence_words` [D, L] int16, words of every sentence of all splits, padded with 0; a word id is an index into `vocabulary` |
| rewards, single agent | stage 1: +1 for the message (the goal if one begins with the message), -1 for any other entity. Stages 2 and 3: +0.5 for the message, +1 for the goal with it, -1 for the goal without it, -1 for the enemy and for each touched decoy |
| rewards, two agents | the same to both. -1 if an agent touches the enemy, or a goal without the message. Stages 1 and 2: +1 when the agents are on different messages (on different goals if they begin with the message). Stage 3: +0.2 when an agent gets the message, +1 when the agents have reached different goals with it |
| episode end | terminated: won, lost, or `max_episode_steps` (4, 64, 128 by stage; two agents 4, 32, 64), which is a loss: the reward of the last step is -1 unless it wins; never truncated |
| arguments | `stage` (1: entities do not move and the first touch decides; 2: they move; 3: with decoys, or for two agents first messages and then goals), `num_agents` (1; or 2), `split` (train; or its parts `train_mc`, entities in many combinations, and `train_sc`, always in the same one; `val`; `test`; `test_se`, test games with the movements of training), `texts` (own; `published`, the corpus in the folder that MESSENGER_TEXT_DIR names; or a folder), `repair_quotes` (False; True: mis-decoded quotation marks of a folder's texts become ASCII), `max_sentences_per_cell` (None: all; a limit per split, entity, role and movement, for slow sentence encoders), `frames` (3), `permuted_roles` (False; True: the manual describes another game with the same three entities, to test whether it is used), `shows_roles` (False), `released` (none; behaviours of the two-agent release, `team_rules.RELEASED`), `max_episode_steps` (None: by stage) |
| recorded draws | `entity_moves` [B, E] int, 0 to 4, actions of the entities (not in stage 1) |
| state for `restore` | positions are row and column in half cells, 0 to 18: `entity_places` [E, 2], `avatar_places` [N, 2] (even), `entity_symbols` [E]; `entity_movements` [E] (0 chaser, 1 fleeing, 2 immovable, 3 random walk; not needed in stage 1); optional: `entity_here`, `avatar_alive`, `has_message`, `reached` [N, 2], `described` [3] (symbols of the manual's enemy, message and goal; by default the true ones), `manual` (by default a new one), `moments` (by default the restored state in all of them), `episode_length`. Entities: enemy, message, goal, then in stage 3 the decoys of message and goal; for two agents enemy, two messages, two goals |
| metrics | `win_rate`, 1 for a win; of the rest one is 1: `lost_to_enemy`, `lost_to_message_decoy`, `lost_to_goal_decoy`, `lost_to_goal` (without the message), `lost_to_message` (with it, stage 1), `lost_to_time`; `has_message`, share of the agents that have the message at the end |
| version history | v0: first version; rules replay both authors' engines without a mismatch; `agent_symbols` and `agent_cells` were called `avatar_symbols` and `avatar_cells` at first |
"""  # noqa: E501 (a table row is one line)

from __future__ import annotations

import itertools
from collections.abc import Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from rl_envs.core.arguments import flags, one_of, steps, whole
from rl_envs.core.chance import pick
from rl_envs.core.metrics import SHARE
from rl_envs.core.spec import Array, Arrays, ArraySpec, EntitySpec
from rl_envs.core.world import World, module_story
from rl_envs.messenger.corpus import Corpus
from rl_envs.messenger.corpus_file import OWN, build_corpus
from rl_envs.messenger.endings import ENDINGS, endings
from rl_envs.messenger.games import SPLITS, GameSampler
from rl_envs.messenger.manual import ManualWriter
from rl_envs.messenger.movements import nearer_of_two
from rl_envs.messenger.observation import Observer
from rl_envs.messenger.single_rules import LAST_PLACE, LOST
from rl_envs.messenger.stages import get_stage
from rl_envs.messenger.symbols import (
    ACTIONS,
    AGENT_COLOURS,
    ENEMY,
    FIRST_ENTITY,
    IMMOVABLE,
    LAST_ENTITY,
    LEGEND,
    ROLES,
    SIDE,
    STAY,
    SYMBOLS,
    UNKNOWN,
)
from rl_envs.messenger.team_rules import behaviours

if TYPE_CHECKING:
    from rl_envs.messenger.render import Scene

STAGES = (1, 2, 3)
STEP_LIMITS = {1: (4, 64, 128), 2: (4, 32, 64)}
"""Time limits in joint steps by number of agents and stage: from the authors' training and from EnDi's paper."""
MESSAGE_AT_START = 0.2
"""Share of episodes that begin with the message, in the stages in which that is possible."""
_OTHER_ROLES = np.array(list(itertools.permutations(range(len(ROLES))))[1:], np.int64)
_EPISODE_DRAWS = 5


class Messenger(World):
    """B grids with entities, and a manual about them; the table above documents them."""

    story = module_story(__name__)
    action_names = ACTIONS
    colours = AGENT_COLOURS
    legend = LEGEND
    metric_names = ("win_rate", *ENDINGS, "has_message")
    metric_ranges = MappingProxyType(dict.fromkeys(metric_names, SHARE))
    text_tables = MappingProxyType({"manual": "sentence_words"})
    entity_spec = EntitySpec("symbols", "cells", "agent_cells", (SIDE, SIDE))

    def __init__(
        self,
        num_worlds: int = 1,
        first_world: int = 0,
        *,
        stage: int = 1,
        num_agents: int = 1,
        split: str = "train",
        texts: str = OWN,
        repair_quotes: bool = False,
        max_sentences_per_cell: int | None = None,
        frames: int = 3,
        permuted_roles: bool = False,
        shows_roles: bool = False,
        released: Sequence[str] = (),
        max_episode_steps: int | None = None,
    ) -> None:
        """Build B worlds; the table above documents the arguments.

        Raises ValueError for an argument out of range, or texts without a sentence that the split's games need.
        """
        stage, num_agents = whole("stage", stage, 1, len(STAGES)), whole("num_agents", num_agents, 1, 2)
        one_of(SPLITS, split=split)
        whole("frames", frames, 1)
        if max_sentences_per_cell is not None:
            whole("max_sentences_per_cell", max_sentences_per_cell, 1)
        flags(repair_quotes=repair_quotes, permuted_roles=permuted_roles, shows_roles=shows_roles)
        if num_agents == 1 and released:
            raise ValueError("released names behaviours of the two-agent version: leave it out for one agent")
        self._released, self._permuted_roles = behaviours(released, stage), permuted_roles
        self._stage = get_stage(stage, num_agents, split, self._released)
        self._needs_movements = stage > 1 and self._stage.usual_movement == IMMOVABLE
        corpus, games = build_corpus(texts, repair_quotes, max_sentences_per_cell)
        self._sampler = GameSampler(games, split)
        self._writer = ManualWriter(corpus, games, split, stage, num_agents, "random_walk" in self._released)
        self.agents = tuple(f"agent_{i}" for i in range(num_agents))
        self.action_spec = len(ACTIONS)
        usual_limit = STEP_LIMITS[num_agents][stage - 1]
        self.max_episode_steps = usual_limit if max_episode_steps is None else steps(max_episode_steps)
        self.recorded_draws = ("entity_moves",) if stage > 1 else ()
        self._declare_observations(corpus, frames, shows_roles)
        super().__init__(num_worlds, first_world)
        self.tables = {"sentence_words": corpus.words}

    def _declare_observations(self, corpus: Corpus, frames: int, shows_roles: bool) -> None:
        self._observer = Observer(len(self._stage.role_of), len(self.agents), frames)
        self._frames, self._id_dtype, self._shows_roles = frames, corpus.id_dtype, shows_roles
        self.sentences, self.vocabulary = corpus.sentences, corpus.vocabulary
        ids = (self._writer.length,), self._id_dtype.name, 0, len(corpus.sentences) - 1
        self.observation_spec = self._observer.spec | {"manual": ArraySpec(*ids, "ids of the sentences")}
        if shows_roles:
            symbols = (len(ROLES),), "uint8", 0, LAST_ENTITY
            self.observation_spec["roles"] = ArraySpec(*symbols, "enemy, message and goal of the manual")

    def _advance(self, actions: Any, recorded: Arrays) -> tuple[Array, Array, Array]:
        state = self.state
        held_before = state["has_message"].copy() if "late_symbol" in self._released else None
        outcome = self._stage.rules.play(state, actions, lambda: self._entity_moves(recorded))
        late = (state["episode_length"] + 1 >= self.max_episode_steps) & ~outcome.won
        state["won"][...] = outcome.won
        reward = np.where(late, LOST, outcome.reward)
        moments = state["moments"]
        moments[:, :-1] = moments[:, 1:]
        moments[:, -1] = self._observer.moment(state, state["has_message"] if held_before is None else held_before)
        shared = np.repeat(reward[:, None], self.num_agents, axis=1)
        return shared, outcome.over | late, np.zeros(self.num_worlds, bool)

    def _entity_moves(self, recorded: Arrays) -> Array:
        """[B, E] int64, actions of the entities; of two agents they react to the nearer one."""
        if "entity_moves" in recorded:
            return np.asarray(recorded["entity_moves"])
        places, prey = self.state["entity_places"], self.state["avatar_places"]
        count = places.shape[1]
        uniforms = self.chance.uniforms(count * self.num_agents)
        if self.num_agents > 1:
            prey = nearer_of_two(places, prey, uniforms[:, count:])
        return self._stage.walk.choose(self.state["entity_movements"], places, prey, uniforms[:, :count])

    def _begin(self, rows: Array) -> None:
        uniforms = self.chance.uniforms(_EPISODE_DRAWS + self._writer.draws, rows)
        game, lie, movement, place, message = uniforms[:, :_EPISODE_DRAWS].T
        described = self._sampler.draw(game)
        true = (
            np.take_along_axis(described, _OTHER_ROLES[pick(lie, len(_OTHER_ROLES))], 1)
            if self._permuted_roles
            else described
        )
        place = pick(place, len(self._stage.entity_starts))
        state = self.state
        state["entity_symbols"][rows] = true[:, self._stage.role_of] + FIRST_ENTITY
        state["entity_movements"][rows] = self._stage.movements[pick(movement, len(self._stage.movements))]
        state["entity_places"][rows] = self._stage.entity_starts[place]
        state["avatar_places"][rows] = self._stage.avatar_starts[place]
        state["has_message"][rows] = (message < MESSAGE_AT_START * self._stage.begins_with_message)[:, None]
        state["described"][rows] = described + FIRST_ENTITY
        self._write(rows, uniforms[:, _EPISODE_DRAWS:])
        self._see(rows)

    def _write(self, rows: Array, uniforms: Array) -> None:
        described = self.state["described"][rows].astype(np.int64) - FIRST_ENTITY
        self.state["manual"][rows] = self._writer.write(described, self.state["entity_movements"][rows], uniforms)

    def _see(self, rows: Array) -> None:
        """Fill all observed steps with the present one."""
        self.state["moments"][rows] = self._observer.moment(self.state, self.state["has_message"][rows], rows)[:, None]

    def _observe(self, rows: Array) -> Arrays:
        observations = self._observer.observe(self.state["moments"][rows])
        shown = {"manual": "manual"} | ({"roles": "described"} if self._shows_roles else {})
        for key, name in shown.items():
            observations[key] = np.repeat(self.state[name][rows][:, None], self.num_agents, axis=1)
        return observations

    def _episode_metrics(self, rows: Array) -> Arrays:
        won = {"win_rate": self.state["won"][rows].astype(np.float64)}
        return won | endings(self.state, rows, self._stage)

    def _blank_state(self, num_worlds: int) -> Arrays:
        entities, avatars = (num_worlds, len(self._stage.role_of)), (num_worlds, self.num_agents)
        return super()._blank_state(num_worlds) | {
            "entity_places": np.zeros((*entities, 2), np.int64),
            "entity_symbols": np.zeros(entities, np.uint8),
            "entity_movements": np.full(entities, self._stage.usual_movement, np.uint8),
            "entity_here": np.ones(entities, bool),
            "avatar_places": np.zeros((*avatars, 2), np.int64),
            "avatar_alive": np.ones(avatars, bool),
            "has_message": np.zeros(avatars, bool),
            "reached": np.zeros((*avatars, 2), bool),
            "described": np.zeros((num_worlds, len(ROLES)), np.uint8),
            "manual": np.zeros((num_worlds, self._writer.length), self._id_dtype),
            "moments": np.zeros((num_worlds, self._frames, sum(part[1] for part in (entities, avatars))), np.uint16),
            "won": np.zeros(num_worlds, bool),
        }

    def _needed_state(self) -> set[str]:
        moves = {"entity_movements"} if self._needs_movements else set()
        return {"entity_places", "entity_symbols", "avatar_places"} | moves

    def _state_bounds(self) -> dict[str, tuple[int, int]]:
        places, symbols = (0, LAST_PLACE), (FIRST_ENTITY, LAST_ENTITY)
        return {
            "entity_places": places,
            "avatar_places": places,
            "entity_symbols": symbols,
            "entity_movements": (0, UNKNOWN),
            "described": symbols,
            "manual": (0, len(self.sentences) - 1),
        }

    def _check_state(self, state: Arrays) -> None:
        if (state["avatar_places"] % 2).any():
            raise ValueError(
                "restore: avatar_places count half cells and must be even: an avatar is never between cells"
            )
        if (self.num_agents == 2 or not self.recorded_draws) and (state["entity_places"] % 2).any():
            raise ValueError("restore: entity_places must be even: here an entity is never between cells")

    def _derive(self, rows: Array, given: frozenset[str]) -> None:
        if "described" not in given:
            first_with_role = [int(np.argmax(self._stage.role_of == role)) for role in range(len(ROLES))]
            self.state["described"] = self.state["entity_symbols"][:, first_with_role].copy()
        if "manual" not in given:
            self._write(rows, self.chance.uniforms(_EPISODE_DRAWS + self._writer.draws, rows)[:, _EPISODE_DRAWS:])
        if "moments" not in given:
            self._see(rows)

    def render(self, index: int = 0) -> Array:
        """Image of world `index` with its manual, [H, W, 3] uint8."""
        from rl_envs.messenger import render  # only rendering needs Pillow

        return render.draw(self.scene(index))

    def entity_names(self, seen: Arrays) -> list[str]:
        """Names of the entities that an agent sees, from its observation, name -> [...]; "" for one that is removed."""
        return [SYMBOLS[symbol] if symbol else "" for symbol in seen["symbols"][-1].tolist()]

    def scene(self, index: int = 0) -> Scene:
        """The content of the image of world `index`; callers may add `attention`."""
        from rl_envs.messenger import render

        state = {name: value[index] for name, value in self.state.items()}
        roles = np.where(np.arange(len(self._stage.role_of)) < self._stage.first_decoy, self._stage.role_of, ENEMY)
        return render.make_scene(state, roles.tolist(), [self.sentences[number] for number in state["manual"]])

    def _draw_bounds(self) -> dict[str, tuple[tuple[int, ...], int, int]]:
        return {"entity_moves": ((self.num_worlds, len(self._stage.role_of)), 0, STAY)}
