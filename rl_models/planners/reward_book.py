"""Sub-goal rewards during rollouts: whether each agent has reached its sub-goal.

Built-in tests see whole batches; Python runs in the sandbox, and a function that fails once is replaced by the
built-in test for the rest of the run; `has_fallen_back` marks these sub-goals.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rl_models.planners.domain import RewardDomain
from rl_models.planners.rewards import DesignedReward
from rl_models.planners.sandbox.process import RewardFailedError, SandboxedReward
from rl_models.planners.sandbox.rules import UnsafeCodeError

Values: TypeAlias = NDArray[Any]
Describe: TypeAlias = Callable[[Any], Sequence[str]]
"""States of B worlds to their texts, which rewards in Python see."""
logger = logging.getLogger(__name__)


class RewardBook:
    """Tests of all sub-goals of a domain. Use as a context manager, or `close()` it, when some are Python.

    Attributes:
        texts: the K sub-goals.
        failures: why Python functions were replaced, by sub-goal.
        has_fallen_back: [K] bool, a model was asked for the test, and the built-in one is used.
    """

    def __init__(self, domain: RewardDomain, designed: Sequence[DesignedReward], describe: Describe) -> None:
        """Start the processes of Python functions, which replace the domain's own tests.

        `designed` are the results of `RewardDesigner.design`; `describe` gives states as texts.
        """
        self._domain, self._describe = domain, describe
        self.texts = domain.subgoals
        self.failures: dict[str, str] = {}
        without = {one.subgoal for one in designed if not one.code}
        self.has_fallen_back = np.array([text in without for text in self.texts], bool)
        self._processes: dict[str, SandboxedReward] = {}
        try:
            for one in designed:
                if one.code:
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
        describe = functools.cache(lambda: (self._describe(previous), self._describe(current)))
        for place in np.unique(subgoals[subgoals >= 0]).tolist():
            text, wanted = self.texts[place], subgoals == place
            if text in self._processes:
                try:
                    found[wanted] = self._run(text, wanted, *describe())
                    continue
                except RewardFailedError as failure:
                    self._processes.pop(text).close()
                    self._give_up(text, failure)
            found |= wanted & self._domain.tests[text](previous, current)
        return found

    def close(self) -> None:
        """End all processes."""
        for process in self._processes.values():
            process.close()

    def _start(self, one: DesignedReward) -> None:
        try:
            self._processes[one.subgoal] = SandboxedReward(one.code)
        except (RewardFailedError, UnsafeCodeError) as failure:
            self._give_up(one.subgoal, failure)

    def _give_up(self, text: str, why: Exception) -> None:
        logger.warning("the reward in Python for %r is given up for the built-in one: %s", text, why)
        self.failures[text] = str(why)
        self.has_fallen_back[self.texts.index(text)] = True

    def _run(self, text: str, wanted: Values, before: Sequence[str], after: Sequence[str]) -> list[int]:
        as_json = self._domain.as_json
        pairs = [(as_json(before[w], n), as_json(after[w], n)) for w, n in np.argwhere(wanted).tolist()]
        return self._processes[text].evaluate(pairs)
