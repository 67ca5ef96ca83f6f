"""Gymnasium spaces with exactly the types, shapes and bounds that a world declares.

Ids are integer boxes and not discrete spaces, so that an observation is the world's own array and no library converts
it (to one-hot vectors, for example). Composed text is given as tokens, because users of other libraries do not have the
text table that row numbers point into. Ids of constant texts (`World.text_tables`) stay ids unless tokens are requested
for.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium import spaces

from rl_envs.core.spec import ActionSpec, Arrays, ArraySpec, TextSpec
from rl_envs.core.world import World

MAX_TEXTS = 10_000
"""Number of texts per key that a wrapped world keeps, in addition to a hundred per agent and world."""


def array_space(spec: ArraySpec | TextSpec, lead: tuple[int, ...] = ()) -> spaces.Box:
    """The space of one observation key, with axes `lead` before one agent's; a text is tokens, [*rows, L] int32."""
    if isinstance(spec, TextSpec):
        return spaces.Box(0, spec.vocabulary - 1, (*lead, *spec.rows, spec.length), np.int32)
    if spec.dtype == "bool":  # a box of bools takes its bounds as bools, and only as arrays
        shape = (*lead, *spec.shape)
        return spaces.Box(np.zeros(shape, bool), np.ones(shape, bool), shape, np.bool_)  # type: ignore[arg-type]
    return spaces.Box(spec.low, spec.high, (*lead, *spec.shape), np.dtype(spec.dtype).type)


def observation_space(world: World, lead: tuple[int, ...] = (), text_tokens: bool = False) -> spaces.Dict:
    """The space of one agent's observation; with `lead=(N,)`, of the whole team's.

    With `text_tokens`, constant texts are tokens, [*shape of the ids, L], and not ids.
    """
    declared: dict[str, ArraySpec | TextSpec] = {**world.observation_spec, **world.text_spec}
    if text_tokens:
        declared |= {key: _token_spec(world, key) for key in world.text_tables}
    return spaces.Dict({key: array_space(spec, lead) for key, spec in declared.items()})


def with_tokens(world: World, observations: Arrays, text_tokens: bool = False) -> Arrays:
    """Observations [B, N, ...] with the tokens of composed texts, [B, N, *rows, L], instead of row numbers.

    With `text_tokens`, constant texts are tokens, too, and not ids.
    """
    texts = {key: world.texts[key].look_up(observations[key]) for key in world.text_spec}
    if text_tokens:
        texts |= {key: world.tables[table][observations[key]] for key, table in world.text_tables.items()}
    return observations | texts


def _token_spec(world: World, key: str) -> ArraySpec:
    ids, table = world.observation_spec[key], world.tables[world.text_tables[key]]
    return ArraySpec((*ids.shape, table.shape[1]), table.dtype.name, 0, int(table.max()), ids.meaning)


def agent_action_space(spec: ActionSpec, agent: int = 0) -> spaces.Space:
    """The space of one agent's action: Discrete, or a Dict where the action is factored, with a Box for numbers."""
    return _action_space(spec, spaces.Discrete, agent)


def team_action_space(spec: ActionSpec, num_agents: int) -> spaces.Space:
    """The space of a joint action: MultiDiscrete [N], or a Dict where it is factored, with a Box for numbers."""
    return _action_space(spec, lambda size: spaces.MultiDiscrete([size] * num_agents), ...)


def _action_space(spec: ActionSpec, choices: Callable[[int], spaces.Space], agents: Any) -> spaces.Space:
    if isinstance(spec, int):
        return choices(spec)
    return spaces.Dict(
        {
            name: choices(one) if isinstance(one, int) else spaces.Box(one.low[agents], one.high[agents])
            for name, one in spec.items()
        }
    )


def forget_texts(world: World) -> None:
    """Remove composed texts that no observation uses any more, once there are many.

    Call it when all observations have become tokens, because row numbers change.
    """
    most = MAX_TEXTS + 100 * world.num_worlds * world.num_agents
    if any(len(store) > most for store in world.texts.values()):
        world.compact_texts()
