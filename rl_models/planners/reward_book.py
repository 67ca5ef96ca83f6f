"""Sub-goal rewards during rollouts: whether each agent has reached its sub-goal.

Built-in tests see whole batches; Python runs in the sandbox, and a function that fails once is replaced by the
built-in test for the rest of the run; `has_fallen_back` marks these sub-goals.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rl_models.planners.domain import RewardDomain, SubgoalTest
from rl_models.planners.rewards import DesignedReward
from rl_models.planners.sandbox.process import RewardFailedError, SandboxedReward
from rl_models.planners.sandbox.rules import UnsafeCodeError

Values: TypeAlias = NDArray[Any]
Describe: TypeAlias = Callable[[Any], Sequence[str]]
"""States of B worlds to their texts; needed for rewards that are Python."""
logger = logging.getLogger(__name__)


class RewardBook:
    """Tests by the text of their sub-goals. Use as a context manager, or `close()` it, when rewards are Python.

    Attributes:
        texts: the K sub-goals.
        failures: why Python functions were replaced, by sub-goal.
        has_fallen_back: [K] bool, a model was asked for the test, and the built-in one is used.
    """

    def __init__(
        self,
        designed: Sequence[DesignedReward],
        domain: RewardDomain,
        tests: Mapping[str, SubgoalTest],
        describe: Describe | None = None,
    ) -> None:
        """Start the processes of Python functions, from the results of `RewardDesigner.design`.

        `tests` are the built-in ones by the texts of sub-goals; `describe` gives states as texts. Raises ValueError
        where there is Python and no `describe`.
        """
        self._domain, self._tests, self._describe = domain, tests, describe
        codes = [one for one in designed if one.source == "code"]
        if codes and describe is None:
            raise ValueError("rewards in Python see states as text: hand in `describe`")
        self.texts = tuple(one.subgoal for one in designed)
        self.failures: dict[str, str] = {}
        self.has_fallen_back = np.array([one.fell_back for one in designed], bool)
        self._processes: dict[str, SandboxedReward] = {}
        try:
            for one in codes:
                self._start(one)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> RewardBook:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def reads_texts(self) -> bool:
        """Whether a test is Python, which sees states as text."""
        return bool(self._processes)

    def reached(self, subgoals: Values, previous: Any, current: Any) -> Values:
        """Whether each agent has just reached its sub-goal, [B, N] bool.

        Sub-goals [B, N] int are indices into `texts`, -1 for none; the states of B worlds are those before and after an
        env step.
        """
        found = np.zeros(subgoals.shape, bool)
        moment = _Moment(previous, current, self._describe)
        for place in np.unique(subgoals[subgoals >= 0]).tolist():
            wanted = subgoals == place
            found |= wanted & self._test(self.texts[place], wanted, moment)
        return found

    def close(self) -> None:
        """End all processes."""
        for process in self._processes.values():
            process.close()

    def _start(self, one: DesignedReward) -> None:
        try:
            self._processes[one.subgoal] = SandboxedReward(one.text)
        except (RewardFailedError, UnsafeCodeError) as failure:
            self._give_up(one.subgoal, failure)

    def _give_up(self, text: str, why: Exception) -> None:
        logger.warning("the reward in Python for %r is given up for the built-in one: %s", text, why)
        self.failures[text] = str(why)
        self.has_fallen_back[self.texts.index(text)] = True

    def _test(self, text: str, wanted: Values, moment: _Moment) -> Values:
        if text in self._processes:
            try:
                return self._run(self._processes[text], wanted, moment)
            except RewardFailedError as failure:
                self._processes.pop(text).close()
                self._give_up(text, failure)
        return self._tests[text](moment.previous, moment.current)

    def _run(self, process: SandboxedReward, wanted: Values, moment: _Moment) -> Values:
        before, after = moment.texts
        places = [(int(world), int(agent)) for world, agent in np.argwhere(wanted)]
        pairs = [(self._domain.as_json(before[w], n), self._domain.as_json(after[w], n)) for w, n in places]
        found = np.zeros(wanted.shape, bool)
        for (world, agent), value in zip(places, process.evaluate(pairs), strict=True):
            found[world, agent] = bool(value)
        return found


class _Moment:
    """States before and after a step, and their texts once a reward asks for them."""

    def __init__(self, previous: Any, current: Any, describe: Describe | None) -> None:
        self.previous, self.current, self._describe = previous, current, describe

    @cached_property
    def texts(self) -> tuple[Sequence[str], Sequence[str]]:
        assert self._describe is not None
        return self._describe(self.previous), self._describe(self.current)
