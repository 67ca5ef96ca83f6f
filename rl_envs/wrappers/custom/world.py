"""`PettingZooWorld`: B custom environments as a world, PettingZoo parallel ones or Gymnasium ones as a team of one.

| | |
|---|---|
| agents | the environment's `possible_agents`, in their order (0 is called "0"); `agent_0` for Gymnasium |
| actions | the largest number of actions of an agent, or the parts of an action (`actions.py`); `legal` masks those that another agent lacks, where they are played as its first action |
| observations | the environment's, padded to the widest agent (`layout.py`); a text is its words' ids (`word_ids.py`) |
| observation `agent` | [N] uint8, one-hot: which agent it is |
| observation `alive` | [] bool, in the game; not with `agents_leave=False` |
| observation `decides` | [] bool, chooses an action now; only in turn-based games, whose env step is the move of one agent |
| observation `legal` | [A] bool, legal actions, or [W], the choices of all parts side by side; only where the environment gives masks or calls its actions something, or the agents' actions differ in number |
| observation `coordination` | [] int32, row of `tables["coordination"]`; only where the environment declares coordination sets |
| tables | `coordination` [K, A^N] bool: the environment's `coordination_sets` [K, A, ..., A]; the present K is `coordination` in the infos |
| rewards | the environment's, 0 for agents that are not in the game |
| episode end | truncated if an agent that is still in the game was truncated at the last step, or at `max_episode_steps`; else terminated. An agent that ends before the others has left, however it ends: what it would still have earned is not estimated |
| recorded draws | none |
| state for `restore` | `seed` [] int64 of the present episode, `played` [L, N] its actions, or [L, N, P] with all parts in a row, (the first `episode_length` count), optional `fingerprint` [] of the observations |
| metrics | none beside `return` and `length` |

Seeds. Every episode is reset with its own seed from the world's counters, so an environment that respects seeds plays
the same episodes in any process and any batch. A snapshot is the seed and the actions of the present episode; `restore`
replays them. If that does not give the same observations, the environment has unseeded randomness: its episode begins
again, `restarted` marks the world, and a warning is logged.
"""  # noqa: E501 (a table row is one line)

import hashlib
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rl_envs.core.arguments import flags, whole
from rl_envs.core.errors import CustomEnvError, warn_once
from rl_envs.core.spec import Array, Arrays, ArraySpec, TextSpec
from rl_envs.core.world import World
from rl_envs.wrappers.custom.checked_env import CheckedEnv
from rl_envs.wrappers.custom.choices import warn_of_other_masks
from rl_envs.wrappers.custom.copies import EnvCopies, open_env
from rl_envs.wrappers.custom.declaration import Declaration, MakeEnv, env_name, listed_words
from rl_envs.wrappers.custom.frame import Frame
from rl_envs.wrappers.custom.layout import MASK, Bounds, Shown
from rl_envs.wrappers.custom.multi_agent import MultiAgent
from rl_envs.wrappers.custom.processes import EnvProcesses
from rl_envs.wrappers.custom.turn_based import ACTS_NOW, TurnBased
from rl_envs.wrappers.custom.values import short_repr
from rl_envs.wrappers.custom.word_ids import TextNumbers, WordIds

logger = logging.getLogger(__name__)

DEFAULT_MAX_EPISODE_STEPS = 1000
"""Time limit in env steps of an environment that declares none."""
EPISODE_STEPS_LIMIT = 1_000_000
"""Largest time limit in env steps: the actions of the present episode are kept for `restore`."""
_SEEDS = 2**31
_NOT_KEPT = ("self", "__class__", "first")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


class PettingZooWorld(World):
    """B custom environments; the table above documents them.

    Attributes:
        words: Tokenizer of texts; `words.decode(tokens)` inverts it.
        action_texts: `[N][A]`, the environment's attribute `action_texts`, or None; texts that change from step to step
            are an observation of this name.
        bounds: Observation key -> lowest and highest value of each entry that the environment declares, numbers or
            [N, *shape]; without the keys that a world adds.
    """

    bounds: dict[str, Bounds]

    def __init__(
        self,
        make_env: MakeEnv,
        num_worlds: int = 1,
        first_world: int = 0,
        *,
        num_processes: int = 0,
        max_episode_steps: int | None = None,
        agents_leave: bool = True,
        vocabulary: Sequence[str] = (),
        word_ids: TextNumbers | None = None,
        max_words: int = 64,
        max_sentences: int = 1,
        first: CheckedEnv | None = None,
    ) -> None:
        """Build the environments; `from_pettingzoo` describes the arguments."""
        self._arguments = {name: value for name, value in locals().items() if name not in _NOT_KEPT}
        flags(agents_leave=agents_leave)
        for name, least in (("num_processes", 0), ("max_words", 1), ("max_sentences", 1)):
            self._arguments[name] = whole(name, self._arguments[name], least)
        checked = open_env(make_env) if first is None else first
        try:
            self._build(checked, vocabulary, word_ids, max_episode_steps)
            super().__init__(num_worlds, first_world)
            self._numbers = np.repeat(np.eye(self.num_agents, dtype=np.uint8)[None], self.num_worlds, axis=0)
            self._games: EnvCopies | EnvProcesses
            if processes := self._arguments["num_processes"]:
                checked.close()
                self._games = EnvProcesses(make_env, self.num_worlds, processes, self._declared)
            else:
                self._games = EnvCopies(make_env, self.num_worlds, self._declared, checked)
        except BaseException:
            checked.close()
            raise
        if self._declared.coordination is not None:
            sets = self._declared.coordination
            self.tables = {"coordination": sets.reshape(len(sets), -1)}

    def _build(
        self, checked: CheckedEnv, vocabulary: Sequence[str], word_ids: TextNumbers | None, limit: int | None
    ) -> None:
        """Set everything that is known before the first episode."""
        self._declared: Declaration = checked.declared
        self._seen: Frame | None = None
        self._takes_turns = isinstance(checked.env, TurnBased | MultiAgent) and checked.env.takes_turns
        self._agents_leave = self._arguments["agents_leave"]
        if (listed := listed_words(vocabulary)) is None:
            raise CustomEnvError(f"vocabulary is {short_repr(vocabulary)}: let it be a list of words")
        self.words: TextNumbers = word_ids or WordIds(listed or checked.declared.vocabulary)
        self.agents, self.action_spec = self._declared.agents, self._declared.action_layout.spec
        self.action_texts, layout = self._declared.action_texts, self._declared.layout
        self.bounds, self.entity_spec = layout.bounds, layout.entity_spec
        own_limit = self._declared.limit
        self.max_episode_steps = own_limit[1] if own_limit else DEFAULT_MAX_EPISODE_STEPS
        if limit is not None:
            self.max_episode_steps = whole("max_episode_steps", limit, 1)
        if self.max_episode_steps > EPISODE_STEPS_LIMIT:
            whose = "" if limit is not None or own_limit is None else f"the environment's {own_limit[0]}, "
            raise CustomEnvError(
                f"{whose}max_episode_steps = {self.max_episode_steps:,} is more than the {EPISODE_STEPS_LIMIT:,} "
                "env steps of an episode whose actions can be kept: choose fewer (max_episode_steps, "
                "--max-episode-steps)"
            )
        has_masks = self._declared.has_masks or checked.informs_of_masks()
        self._env_name = env_name(checked.env)
        if not has_masks:
            warn_of_other_masks(checked.env, self._declared)
        self._declare(has_masks or self._declared.has_legal)

    def __getstate__(self) -> dict[str, Any]:
        """Arguments and a snapshot, because few custom environments can be pickled."""
        state = self.snapshot() if self._is_running else None
        return {"arguments": self._arguments, "auto_resets": self.auto_resets, "snapshot": state, "words": self.words}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__init__(**kept["arguments"])  # type: ignore[misc]
        self.auto_resets, self.words = kept["auto_resets"], kept["words"]
        if kept["snapshot"] is not None:
            self.restore(kept["snapshot"])

    @property
    def declaration(self) -> Declaration:
        """What the environment declares: agents, spaces, actions, time limit."""
        return self._declared

    @property
    def has_given_limit(self) -> bool:
        """Whether the time limit was given as an argument."""
        return self._arguments["max_episode_steps"] is not None

    def snapshot(self) -> Arrays:
        """Snapshot [B, ...] with a fingerprint of the observations, by which `restore` recognises the state."""
        if self._seen is not None:
            self.state["fingerprint"] = _fingerprints(self._seen, self.num_worlds)
        return super().snapshot()

    def action_starts(self, agent: int) -> Mapping[str, int]:
        """As `World.action_starts`; a part that only other agents have is missing."""
        return self._declared.action_layout.starts[agent]

    def close(self) -> None:
        """Close the environments and end their processes."""
        self._games.close()

    def _begin(self, rows: Array) -> None:
        seeds = (self.chance.uniforms(1, rows)[:, 0] * _SEEDS).astype(np.int64)
        self.state["seed"][rows] = seeds
        self._see(rows, self._games.reset(rows, seeds))

    def _advance(self, actions: Any, recorded: Arrays) -> tuple[Array, Array, Array]:
        rows = np.arange(self.num_worlds)
        length = self.state["episode_length"]
        packed = self._declared.action_layout.pack(actions, self._present().alive)
        self.state["played"][rows, length] = packed
        if self._takes_turns:
            decided = self._present().arrays[ACTS_NOW][..., 0].astype(bool)
            waited = self.state["since_decision"] + 1
            self.state["since_decision"] = np.where(decided, 1, waited).astype(np.int32)
        turn = self._games.step(rows, self.state["played"][rows, length])
        self._see(rows, turn.frame, turn.terminated | turn.truncated)
        late = (length + 1 >= self.max_episode_steps) & ~turn.terminated & ~turn.truncated
        if late.any() and not self.has_given_limit:
            self._say_limit()
        return turn.reward, turn.terminated, turn.truncated | late

    def _observe(self, rows: Array) -> Arrays:
        seen = self._present()
        observations = {key: value[rows] for key, value in seen.arrays.items()}
        if self._takes_turns:
            observations["decides"] = observations.pop(ACTS_NOW)[..., 0].astype(bool)
        observations["agent"] = self._numbers[: len(rows)].copy()
        beside = {"alive": seen.alive, "legal": seen.legal}
        observations |= {key: value[rows] for key, value in beside.items() if key in self.observation_spec}
        if self._declared.coordination is not None:
            present = seen.coordination[rows, None].astype(np.int32)
            observations["coordination"] = np.repeat(present, self.num_agents, axis=1)
        return observations | {key: self._select_rows(key, rows) for key in self.text_spec}

    def _blank_state(self, num_worlds: int) -> Arrays:
        kind: Any = np.float32
        if isinstance(self.action_spec, int):
            kind = np.uint8 if self.action_spec <= 256 else np.int32
        row = self._declared.action_layout.row_shape
        own = {
            "seed": np.zeros(num_worlds, np.int64),
            "played": np.zeros((num_worlds, self.max_episode_steps, self.num_agents, *row), kind),
            "fingerprint": np.zeros(num_worlds, np.uint64),
        }
        if self._takes_turns:
            own["since_decision"] = np.zeros((num_worlds, self.num_agents), np.int32)
        return super()._blank_state(num_worlds) | own

    def _duration(self) -> Array:
        return self.state["since_decision"].copy() if self._takes_turns else super()._duration()

    def _needed_state(self) -> set[str]:
        return {"seed", "played", "episode_length"}

    def _check_state(self, state: Arrays) -> None:
        """Refuse a seed, a length or an action that does not exist."""
        if not ((state["seed"] >= 0) & (state["seed"] < _SEEDS)).all():
            raise ValueError(f"restore: seed must lie in 0 .. {_SEEDS - 1}, got {state['seed']}")
        length = state["episode_length"]
        if not ((length >= 0) & (length <= self.max_episode_steps)).all():
            raise ValueError(f"restore: episode_length must lie in 0 .. {self.max_episode_steps}, got {length}")
        if not self._declared.action_layout.is_packed(state["played"]):
            raise ValueError(f"restore: played must hold actions of action_spec, {self.action_spec}")

    def _derive(self, rows: Array, given: frozenset[str]) -> None:
        """Replay the current episodes; those with different observations are reset."""
        went_on = self._replay(rows)
        known = self.state["fingerprint"]
        same = (known == 0) | (known == _fingerprints(self._present(), self.num_worlds))
        lost = rows[~(went_on & same)]
        self.restarted = np.isin(rows, lost)
        if lost.size:
            logger.warning(
                "%d of %d games cannot be restored, because their seeds do not determine their randomness: they start "
                "new episodes",
                lost.size,
                self.num_worlds,
            )
            self.chance.next_episode(lost)
            self._start(lost)

    def _say_limit(self) -> None:
        """Warn once that episodes are cut at a limit that was not set by the user."""
        limit = self._declared.limit
        why = "declares no time limit" if limit is None else f"declares {limit[0]} = {limit[1]} and went on after it"
        warn_once(
            f"an episode of {self._env_name} was cut after {self.max_episode_steps} env steps, because it {why}: end "
            "episodes in the environment, or choose another limit (max_episode_steps, --max-episode-steps)"
        )

    def _declare(self, has_legal: bool) -> None:
        """Declare the observation keys: the environment's, and those that a world adds."""
        says, agents, sets = self._declared, len(self.agents), self._declared.coordination
        own = {"agent": ArraySpec((agents,), "uint8", 0, 1, "which agent it is, one-hot")}
        spec = dict(says.layout.spec)
        if self._agents_leave:
            own["alive"] = ArraySpec((), "bool", 0, 1, "is in the game")
            # Agents that have left see zeros; what the others see is compared with the environment's own bounds.
            spec = {key: replace(one, low=min(one.low, 0.0), high=max(one.high, 0.0)) for key, one in spec.items()}
        if has_legal:
            own["legal"] = ArraySpec(says.own_actions.shape[1:], "bool", 0, 1, "legal actions")
        if sets is not None:
            own["coordination"] = ArraySpec((), "int32", 0, len(sets) - 1, "row of the table of good joint actions")
        if self._takes_turns:
            del spec[ACTS_NOW]
            own["decides"] = ArraySpec((), "bool", 0, 1, "chooses an action now")
        self.observation_spec = spec | own
        longest, vocabulary = self._arguments["max_words"], self.words.vocabulary
        sentences = self._arguments["max_sentences"]
        counts = {key: count or (sentences if sentences > 1 else 0) for key, count in says.layout.counts.items()}
        self.text_spec = {
            key: TextSpec(
                min(longest, length),
                vocabulary,
                f"{key} of the environment, its words",
                (counts[key],) if counts[key] else (),
            )
            for key, length in says.layout.texts.items()
        }

    def _replay(self, rows: Array) -> Array:
        """Replay the recorded actions; [K] bool, whether each world lasted as long as before."""
        length = self.state["episode_length"][rows]
        self._see(rows, self._games.reset(rows, self.state["seed"][rows]))
        went_on = np.ones(len(rows), bool)
        for step in range(int(length.max(initial=0))):
            going = np.flatnonzero((length > step) & went_on)
            if not going.size:
                break
            turn = self._games.step(rows[going], self.state["played"][rows[going], step])
            over = turn.terminated | turn.truncated
            self._see(rows[going], turn.frame, over)
            went_on[going[over & (length[going] > step + 1)]] = False
        return went_on

    def _see(self, rows: Array, frame: Frame, over: Array | None = None) -> None:
        if not self._agents_leave:
            self._refuse_leavers(rows, frame, over)
            frame.alive[:] = True
        if "legal" not in self.observation_spec and not frame.legal.all():
            raise CustomEnvError(
                f"one copy of the environment gives an {MASK} at reset, and another none: let its infos always have one"
            )
        if self._seen is None or np.array_equal(rows, np.arange(self.num_worlds)):
            self._seen = frame
        else:
            self._seen.put(rows, frame)

    def _refuse_leavers(self, rows: Array, frame: Frame, over: Array | None) -> None:
        """Refuse agents that leave before the others, or are terminated where another is truncated."""
        left = ~frame.alive
        if over is not None:
            left &= ~over[:, None] | frame.alive.any(1, keepdims=True)
        if not left.any():
            return
        place, agent = np.argwhere(left)[0].tolist()
        step = self.state["episode_length"][rows[place]] + 1
        how = "left the game before it ended"
        if over is not None and over[place]:
            how = f"was terminated where {self.agents[int(frame.alive[place].argmax())]!r} was truncated"
        raise CustomEnvError(
            f"the agent {self.agents[agent]!r} {how}, at env step {step} of an episode, and "
            "agents_leave is False: set it to True (--agents-leave)"
        )

    def _present(self) -> Frame:
        if self._seen is None:
            raise RuntimeError("this world has no game yet: call reset(seed) or restore(state) before step")
        return self._seen

    def _select_rows(self, key: str, rows: Array) -> Array:
        """[K, N] int32, rows of the texts under a key."""
        spec, texts = self.text_spec[key], self._present().texts[key]
        tokens: list[Array] = []
        for row in rows.tolist():
            for name, text in zip(self.agents, texts[row], strict=True):
                try:
                    tokens += [self.words.tokens(piece, spec.length) for piece in _pieces(text, spec.rows)]
                except ValueError as error:
                    raise CustomEnvError(f"{key} of {name!r}: {error}") from error
        return self.texts[key].add(np.array(tokens)).reshape(len(rows), self.num_agents, *spec.rows)


class RenderedPettingZooWorld(PettingZooWorld):
    """A `PettingZooWorld` whose environments render images."""

    def render(self, index: int = 0) -> Array:
        """Rendered image of world `index`, [H, W, 3] uint8."""
        return self._games.render(index)


def _pieces(text: Shown, rows: tuple[int, ...]) -> Sequence[str]:
    """Texts of one observation: several texts, a single text, or its sentences padded with empty ones."""
    if isinstance(text, tuple):
        return text
    if not rows:
        return [text]
    found = [piece for piece in _SENTENCE_END.split(text) if piece.strip()]
    if len(found) > rows[0]:
        raise CustomEnvError(f"a text has {len(found)} sentences and only {rows[0]} fit: raise max_sentences")
    return found + [""] * (rows[0] - len(found))


def _fingerprints(seen: Frame, num_worlds: int) -> Array:
    """[B] uint64, never 0, hash of all observations."""
    prints = np.zeros(num_worlds, np.uint64)
    for row in range(num_worlds):
        digest = hashlib.blake2b(digest_size=8)
        for value in (*seen.arrays.values(), seen.alive, seen.legal):
            digest.update(np.ascontiguousarray(value[row]).tobytes())
        digest.update(repr([texts[row] for texts in seen.texts.values()]).encode())
        prints[row] = int.from_bytes(digest.digest(), "little") | 1
    return prints
