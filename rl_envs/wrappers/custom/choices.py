"""Action masks and coordination sets of a custom environment.

A mask is part of an agent's observation or of its infos. Infos that contain one only sometimes are refused: without a
mask, all actions would be legal. What other libraries call a mask is named, because it is not read as one.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NoReturn, TypeAlias

import numpy as np

from rl_envs.core.errors import warn_once
from rl_envs.core.spec import Array
from rl_envs.wrappers.custom.actions import MaskMismatch
from rl_envs.wrappers.custom.declaration import Declaration, layers, peek
from rl_envs.wrappers.custom.layout import ACTION_TEXTS, MASK
from rl_envs.wrappers.custom.turn_based import ACTS_NOW, WAITS
from rl_envs.wrappers.custom.values import Mismatch, integer, short_repr

_OTHER_KEYS = {"action_masks", "avail_actions", "available_actions", "legal_actions", "legal_moves", "valid_actions"}
_OTHER_METHODS = ("action_masks", "get_avail_actions")
"""What other libraries call masks, and methods that give them."""
Refuse: TypeAlias = Callable[[str, str], NoReturn]
"""Raises the error with environment and env step: what is wrong, and how to fix it."""


class Choices:
    """Masks and coordination sets of one environment; `can_be_illegal` once a mask was declared or given."""

    def __init__(self, declared: Declaration, refuse: Refuse) -> None:
        self._declared, self._refuse = declared, refuse
        self._count = 0 if declared.coordination is None else len(declared.coordination)
        self._informs: dict[int, bool] = {}
        self.can_be_illegal, self.has_sets = declared.has_masks, bool(self._count)

    @property
    def are_in_infos(self) -> bool:
        """Whether the infos of an agent have masks."""
        return any(self._informs.values())

    def write_legal(
        self, legal: Array, agent: int, observation: Any, info: Mapping[str, Any], is_last: bool = False
    ) -> None:
        """Write an agent's legal actions [W] bool from its observation or its infos; one with an empty text is illegal.

        Masks of a waiting agent are ignored: all of its actions count as legal. A wrong mask, or one without a legal
        action, is refused. The last observation of an episode needs no mask: if it is empty or has no legal action, all
        stay legal.
        """
        if not is_last:
            if _waits(observation):
                return
            self.check_infos(agent, observation, info)
        name, path = self._declared.ids[agent], self._declared.layout.masks[agent]
        given = list[Any]()
        if path is not None:
            given.append(self._inner(agent, observation, path))
        if MASK in info:
            given.append(info[MASK])
        masks = [self._mask(agent, one) for one in given if not (is_last and _is_empty(one))]
        if len(masks) == 2 and not is_last and (masks[0] != masks[1]).any():
            self._refuse(
                f"the {MASK} of {name!r} is {masks[0].astype(int).tolist()} in its observation and "
                f"{masks[1].astype(int).tolist()} in its infos",
                "leave one of them out",
            )
        if isinstance(observation, Mapping) and ACTION_TEXTS in observation:
            masks.append(np.array([bool(text.strip()) for text in observation[ACTION_TEXTS]]))
        for mask in masks:
            self._declared.action_layout.restrict(legal, agent, mask)
        if masks and not self._declared.action_layout.can_choose(legal):
            if is_last:
                legal[:] = self._declared.own_actions[agent]
                return
            self._refuse(
                f"the mask of {name!r} has no legal action, and it is in the game",
                "keep one legal (often one that does nothing), or end the agent's game there",
            )

    def check_infos(self, agent: int, observation: Any, info: Mapping[str, Any], is_first: bool = False) -> None:
        """Refuse infos that contain masks only sometimes; those of an agent that waits need none."""
        if _waits(observation):
            return
        informs = MASK in info
        if is_first and not informs and self._declared.layout.masks[agent] is None:
            _warn_of([key for key in _OTHER_KEYS & info.keys() if hasattr(info[key], "__len__")], "infos")
        known = self._informs.setdefault(agent, informs and (is_first or self.are_in_infos))
        self.can_be_illegal |= known
        if informs != known:
            problem = f"their first {MASK} after reset" if informs else f"no {MASK} and had one before"
            self._refuse(
                f"the infos of {self._declared.ids[agent]!r} have {problem}",
                "let its infos have one at reset, and at every step at which it acts, or never",
            )

    def _inner(self, agent: int, observation: Any, path: Sequence[Any]) -> Any:
        try:
            for step in path:
                observation = observation[step]
        except (KeyError, IndexError, TypeError):
            self._refuse(
                f"the observation of {self._declared.ids[agent]!r} has no {'/'.join(map(str, path))}",
                "let observation_space and what reset and step return agree",
            )
        return observation

    def _mask(self, agent: int, mask: Any) -> Array:
        try:
            return self._declared.action_layout.mask(agent, mask)
        except MaskMismatch as mismatch:
            part = f" of {'/'.join(map(str, mismatch.path))!r}" if mismatch.path else ""
            self._refuse(
                f"the {MASK}{part} of {self._declared.ids[agent]!r} is {short_repr(mismatch.given)} for "
                f"{self._declared.actions[agent]} actions",
                f"let it be {mismatch.form}",
            )

    def coordination(self, agent: int, given: Any) -> int:
        """Coordination set that an agent's infos name."""
        count = self._count
        try:
            chosen = integer(given)
        except Mismatch:
            chosen = -1
        if not 0 <= chosen < count:
            self._refuse(
                f"coordination in the infos of {self._declared.ids[agent]!r} is {short_repr(given)}, and there are "
                f"{count} coordination_sets",
                f"let it be an integer from 0 to {count - 1}",
            )
        return chosen

    def common_set(self, sets: Mapping[int, int], goes_on: bool) -> int:
        """Common set of all agents, from index of an agent -> its set; 0 where none is named and none is needed."""
        if len(set(sets.values())) > 1:
            agents = ", ".join(f"{self._declared.ids[agent]!r}: {one}" for agent, one in sets.items())
            self._refuse(f"coordination in the infos is not the same for all agents ({agents})", "let it be")
        if not sets and goes_on and self._count > 1:
            self._refuse(
                "no infos say which of the coordination_sets holds",
                "let the infos of an agent have coordination, the number of the set",
            )
        return next(iter(sets.values()), 0)


def warn_of_other_masks(env: Any, declared: Declaration) -> None:
    """Name entries of observations, and methods, that give masks by another name."""
    shown = {
        leaf.path[-1]
        for own, count in zip(declared.layout.leaves, declared.actions, strict=True)
        for leaf in own
        if leaf.spec is not None and leaf.path and leaf.spec.shape == (count,)
    }
    _warn_of((_OTHER_KEYS | {"mask"}) & shown, "observations")
    _warn_of([name for name in _OTHER_METHODS if any(callable(peek(layer, name)) for layer in layers(env))], "methods")


def _warn_of(names: Collection[str], where: str) -> None:
    if names:
        warn_once(
            f"{', '.join(sorted(names))} among the environment's {where} is not read as a mask, so actions may be "
            f"illegal: let observations or infos have {MASK!r}"
        )


def _is_empty(mask: Any) -> bool:
    return mask.size == 0 if isinstance(mask, np.ndarray) else mask in ([], ())


def _waits(observation: Any) -> bool:
    """Whether an agent of a turn-based environment does not act now."""
    return isinstance(observation, Mapping) and observation.get(ACTS_NOW) is WAITS
