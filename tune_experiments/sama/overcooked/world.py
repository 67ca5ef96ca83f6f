"""Kitchens whose chefs get commands: for tests with a planner, and for learning to follow commands.

`SymbolKitchen` is Overcooked with relocations, as the input of SAMA's network, without commands.
In `CommandedKitchen` each chef has a sub-goal and observes when it is reached. Until its next command it may then walk,
to make way, but use nothing, by the mask of legal cells. (A chef that stood still could block the way to a pot.) An
episode of `SubgoalKitchen` is a single round: it begins in a random state with the sub-goals planned for it, rewards
reaching them, and ends when both are reached, or at its time limit. It does not query the planner.

State beyond Overcooked's: `commands` [2], sub-goals by number, and `reached` [2]; `queries`, number of tests of
sub-goals in this episode, and `fallen_back`, number of those that a built-in test answered instead of a written one.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from rl_envs.core.spec import Array, Arrays, ArraySpec
from rl_envs.overcooked.relocation import NO_TARGET
from rl_envs.overcooked.text import describe, read_states
from rl_envs.overcooked.world import Overcooked
from rl_models.planners.plans import Pair
from rl_models.planners.reward_book import RewardBook
from rl_models.planners.rewards import DesignedReward
from tune_experiments.sama.overcooked.domain import command_texts, get_domain

NUM_CHEFS = 2
FALLEN_BACK = ("rewards_fallen_back", "queries_fallen_back")
"""Metrics of environments with written rewards: sub-goals with the built-in test, and its share of an episode's
queries."""
PREPARED_BY_RULE = "prepared_by_rule"
"""Metric of rounds that a language model has prepared: share of its questions that rules answered."""
_COUNTS = ("queries", "fallen_back")
_DRAWN = ("agent_cells", "headings", "held", "contents")
"""Arrays that a random state sets; the clock has no effect on a round."""


class SymbolKitchen(Overcooked):
    """Overcooked with relocations and symbols; observation `commands` [2] is constant."""

    array_libraries = ("numpy",)

    def __init__(
        self, num_worlds: int = 1, first_world: int = 0, *, layout: str = "cramped_room", **arguments: Any
    ) -> None:
        options: dict[str, Any] = {"actions": "adjacent", "observations": ("symbols",)}
        super().__init__(num_worlds, first_world, layout=layout, **options | arguments)
        last = len(command_texts(layout)) - 1
        self.observation_spec |= {"commands": ArraySpec((NUM_CHEFS,), "uint8", 0, last, "what one and the other do")}

    def _observe(self, rows: Array) -> Arrays:
        return super()._observe(rows) | {"commands": np.zeros((len(rows), NUM_CHEFS, NUM_CHEFS), np.uint8)}


class CommandedKitchen(SymbolKitchen):
    """Overcooked with sub-goals; set by `command`; observation `commands` [2] has the chef's own first.

    Args:
        num_worlds: B.
        first_world: Number of the first world in the run.
        layout: Name of the kitchen.
        rewards: A model's tests of sub-goals; the others are the domain's own.
        sees_commands: Whether chefs observe their sub-goals; False is a baseline with the same masks.
        arguments: Further arguments of `Overcooked`.
    """

    def __init__(
        self,
        num_worlds: int = 1,
        first_world: int = 0,
        *,
        layout: str = "cramped_room",
        rewards: Sequence[DesignedReward] = (),
        sees_commands: bool = True,
        **arguments: Any,
    ) -> None:
        super().__init__(num_worlds, first_world, layout=layout, **arguments)
        sentences = command_texts(layout)
        self._sees_commands, self._done = sees_commands, len(sentences) - 1
        self._number = {text: number for number, text in enumerate(sentences)}
        self._book = RewardBook(get_domain(layout), rewards, self._describe_states)
        if rewards:
            self.metric_names = (*self.metric_names, *FALLEN_BACK)

    def command(
        self, worlds: Sequence[int], commands: Sequence[Sequence[str]], chefs: Sequence[int] = range(NUM_CHEFS)
    ) -> None:
        """Give the chefs of K worlds new sub-goals, two texts for each world; their relocations end.

        Only `chefs` are commanded; the others keep their sub-goals.
        """
        rows = np.asarray(worlds, int)
        for chef in chefs:
            self.state["commands"][rows, chef] = [self._number[texts[chef]] for texts in commands]
            self.state["reached"][rows, chef] = False
            self.state["targets"][rows, chef] = NO_TARGET

    def describe_state(self, index: int) -> str:
        """State of world `index` as text, `describe` of its world."""
        return describe(self.kitchen, self.state, index)

    def _describe_states(self, state: Arrays) -> list[str]:
        return [describe(self.kitchen, state, index) for index in range(len(state["held"]))]

    def _advance(self, actions: Any, recorded: Arrays) -> tuple[Array, Array, Array]:
        state = self.state
        before = {name: value.copy() for name, value in state.items()}
        result = super()._advance(actions, recorded)
        asked = ~state["reached"]
        fresh = self._book.reached(np.where(asked, state["commands"], -1), before, state)
        state["queries"] += asked.sum(1)
        state["fallen_back"] += (asked & self._book.has_fallen_back[state["commands"]]).sum(1)
        state["reached"] |= fresh
        state["targets"][fresh] = NO_TARGET
        return result

    def _observe(self, rows: Array) -> Arrays:
        seen = super()._observe(rows)
        seen["legal"] = seen["legal"] & (self.kitchen.is_floor | ~self._rests(rows)[..., None])
        if not self._sees_commands:
            return seen
        commands = np.where(self.state["reached"][rows], self._done, self.state["commands"][rows])
        return seen | {"commands": np.stack([commands, commands[:, ::-1]], -1).astype(np.uint8)}

    def _rests(self, rows: Array) -> Array:
        """Chefs that have reached their sub-goals and use nothing, [K, 2] bool."""
        return np.asarray(self.state["reached"][rows])

    def _begin(self, rows: Array) -> None:
        super()._begin(rows)
        for name in _COUNTS:
            self.state[name][rows] = 0

    def _episode_metrics(self, rows: Array) -> Arrays:
        subgoals = np.full(len(rows), float(self._book.has_fallen_back.sum()))
        share = self.state["fallen_back"][rows] / np.maximum(self.state["queries"][rows], 1)
        found = super()._episode_metrics(rows) | dict(zip(FALLEN_BACK, (subgoals, share), strict=True))
        return {name: found[name] for name in found if name in self.metric_names}

    def _blank_state(self, num_worlds: int) -> Arrays:
        chefs, counts = (num_worlds, NUM_CHEFS), {name: np.zeros(num_worlds, np.int64) for name in _COUNTS}
        own = {"commands": np.zeros(chefs, np.int64), "reached": np.zeros(chefs, bool)}
        return super()._blank_state(num_worlds) | own | counts

    def _state_bounds(self) -> dict[str, tuple[int, int]]:
        return super()._state_bounds() | {"commands": (0, self._done)}

    def close(self) -> None:
        """End the processes of rewards in Python."""
        self._book.close()


class SubgoalKitchen(CommandedKitchen):
    """Rounds to learn from.

    | | |
    |---|---|
    | start | a random one of the `pairs` of a state's text and the chefs' commands |
    | rewards | 1 for reaching one's own sub-goal, and `share` for the other's |
    | episode end | terminated: both reached; truncated: `max_episode_steps` |
    | metrics | `reached`, share of the sub-goals; `completed`, whether both; `FALLEN_BACK` with written rewards;
    `PREPARED_BY_RULE`, if `by_rule` is given |

    Raises:
        ValueError: No pairs.
    """

    metric_names: tuple[str, ...] = ("reached", "completed")

    def __init__(
        self,
        num_worlds: int = 1,
        first_world: int = 0,
        *,
        pairs: Sequence[Pair],
        share: float = 0.5,
        by_rule: float | None = None,
        **arguments: Any,
    ) -> None:
        super().__init__(num_worlds, first_world, **arguments)
        if not pairs:
            raise ValueError("rounds need states with sub-goals to begin with, and there are none")
        starts = read_states(self.kitchen, [state for state, _ in pairs])
        self._starts = {name: starts[name] for name in _DRAWN}
        self._commands = np.array([[self._number[text] for text in commands] for _, commands in pairs])
        self._share = share
        self._prepared = {} if by_rule is None else {PREPARED_BY_RULE: by_rule}
        self.metric_names = (*self.metric_names, *self._prepared)

    def _begin(self, rows: Array) -> None:
        super()._begin(rows)
        drawn = (self.chance.uniforms(1, rows)[:, 0] * len(self._commands)).astype(int)
        for name, values in self._starts.items():
            self.state[name][rows] = values[drawn]
        self.state["commands"][rows] = self._commands[drawn]

    def _advance(self, actions: Any, recorded: Arrays) -> tuple[Array, Array, Array]:
        before = self.state["reached"].copy()
        super()._advance(actions, recorded)
        fresh = (self.state["reached"] & ~before).astype(float)
        is_over = np.asarray(self.state["reached"].all(1))
        stopped = self.state["episode_length"] + 1 >= self.max_episode_steps
        return fresh + self._share * fresh[:, ::-1], is_over, stopped & ~is_over

    def _episode_metrics(self, rows: Array) -> Arrays:
        reached = self.state["reached"][rows]
        own = {"reached": reached.mean(1), "completed": reached.all(1).astype(float)}
        prepared = {name: np.full(len(rows), share) for name, share in self._prepared.items()}
        return super()._episode_metrics(rows) | own | prepared
