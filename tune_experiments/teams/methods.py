"""Methods of `concord train`, and their requirements on an environment. Importing this loads no torch."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["METHODS", "Method"]


class Method(NamedTuple):
    """One method.

    Attributes:
        summary: description in a few words.
        needs: requirements on an environment; empty for none.
    """

    summary: str
    needs: str = ""


_TEAM = "a team reward that is not always 0"
_SYNC = "agents that exchange messages and sample one of {} product policies jointly (A Cordial Sync)"
_LISTED = "Discrete actions"
_SETS = f"{_TEAM}, {_LISTED}, sets of coordinated joint actions, and agents that all act at every env step"
_VALUES = f"{_TEAM}, {_LISTED}, and agents that all act at every env step"
_ENTITIES = f"{_LISTED}, entities, and several agents"
_WORDS = f"{_LISTED}, texts, and action_texts"
METHODS: dict[str, Method] = {
    "ippo": Method("agents that share a network, with a value function of the agent's own observation"),
    "mappo": Method("ippo with a value function of all agents' observations (Yu et al., 2022)"),
    "commnet": Method("agents that communicate by averaging their hidden states (Sukhbaatar et al., 2016)"),
    "tbone": Method("agents that exchange messages, with an LSTM (A Cordial Sync)"),
    "qmix": Method("Q-learning with a mixing network (Rashid et al., 2018)", _VALUES),
    "vdn": Method("Q-learning with summed values (Sunehag et al., 2018)", _VALUES),
    **{f"sync_{number}": Method(_SYNC.format(number), _TEAM) for number in (2, 4, 8)},
    **{f"sync_{number}_cordial": Method(f"sync_{number} with the CORDIAL loss", _SETS) for number in (2, 4, 8)},
    "endi_dis": Method("ippo whose agents divide entities among themselves (EnDi)", _ENTITIES),
    "lora": Method("a language model with an adapter that chooses among phrases", _WORDS),
    "lora_blind": Method("lora without the texts, as a baseline", _WORDS),
}
"""Name of a method -> its description."""
