"""Actions of the world as tables of the engine: a command for flagged units, or one for each (sheet, 1.9, 1.13)."""

import numpy as np

from rl_envs.core.spec import Array, Arrays
from rl_envs.minirts.factored import C_CONTINUE, COMMANDS, MAX_LISTED, UNIT_FACTORS
from rl_envs.minirts.symbols import NUM_CELLS, NUM_TYPES

FORMS = ("collective", "per_unit")
SIZES = (len(COMMANDS), MAX_LISTED, MAX_LISTED, NUM_TYPES, NUM_TYPES, NUM_CELLS, NUM_CELLS)
"""Number of choices of each of UNIT_FACTORS."""
CONTINUE = "continue_all"
FLAGS = tuple(f"unit_{number:02}" for number in range(MAX_LISTED))


def action_spec(form: str) -> dict[str, int]:
    """Factors of an action and their numbers of choices."""
    factors = dict(zip(UNIT_FACTORS, SIZES, strict=True))
    if form == "collective":
        return {CONTINUE: 2} | factors | dict.fromkeys(FLAGS, 2)
    each = {f"{name}_{number:02}": size for number in range(MAX_LISTED) for name, size in factors.items()}
    return {CONTINUE: 2} | each


def action_tables(form: str, actions: Arrays) -> Array:
    """Actions, name -> [B, N], as commands of units, [B, N, 50, 7] int32; a unit without a flag continues."""
    if form == "per_unit":
        columns = [[actions[f"{name}_{number:02}"] for name in UNIT_FACTORS] for number in range(MAX_LISTED)]
        return np.ascontiguousarray(np.moveaxis(np.array(columns, np.int32), (0, 1), (2, 3)))
    row = np.stack([actions[name] for name in UNIT_FACTORS], axis=-1).astype(np.int32)
    tables = np.repeat(row[:, :, None], MAX_LISTED, axis=2)
    flags = np.stack([actions[name] for name in FLAGS], axis=-1)
    tables[..., 0] = np.where(flags == 1, tables[..., 0], C_CONTINUE)
    return tables
