"""A small game with commanded units, random observations of it, and its team."""

import torch

from rl_models.networks.network_config import CommandedUnitsConfig
from rl_models.teams.commanded_team import commanded_team
from rl_models.unit_spec import Argument, UnitList, UnitSpec

TEXTS = torch.tensor([[0, 0, 0], [1, 2, 0], [3, 0, 0], [1, 2, 3]])
SMALL = CommandedUnitsConfig(24, 24, 16, 6, 6, 8, 8, 4, 24)


def unit_spec(side=4, length=3, num_kinds=4, kinds=(1, 3), stock=3, size=2, ground_planes=None):
    """Commands: 0 nothing, 1 fetch (of `things`), 2 hit (of `rivals`), 3 found (kind and cell), 4 make (kind), 5 go
    (cell), 6 continue."""
    return UnitSpec(
        side=side,
        length=length,
        num_kinds=num_kinds,
        commanded=UnitList("own", *kinds),
        others=(UnitList("rival", *kinds, 2, "hit"), UnitList("thing", 0, 0, 1, "fetch")),
        ground="ground",
        ground_planes=ground_planes or ((1, 0), (0, 1)),
        stock="stock",
        stock_size=stock,
        commands="command",
        num_commands=7,
        legal_commands="legal_command",
        typed=(2, 3, 4),
        placed=(3, 5),
        history="past",
        arguments=(
            Argument("make_kind", (4,), size, "legal_make"),
            Argument("found_kind", (3,), size, "legal_found"),
            Argument("found_cell", (3,)),
            Argument("go_cell", (5,)),
        ),
        stop="stop",
        flags=tuple(f"unit_{number}" for number in range(length)),
    )


def team(num_agents=1, seed=0, **changes):
    return commanded_team(SMALL, unit_spec(), TEXTS, 4, num_agents, seed=seed, **changes)


def observations(batch=5, steps=2, num_agents=1, seed=0):
    """Random observations [B, T, N, ...]; all agents see the same, and units belong to one of them each."""
    spec, generator = unit_spec(), torch.Generator().manual_seed(seed)
    lead = (batch, steps, 1)

    def draw(high, *shape):
        return torch.randint(high, (*lead, *shape), generator=generator)

    units = spec.length
    obs = {"ground": draw(2, spec.side, spec.side), "stock": draw(2, 3)}
    for one in spec.lists:
        obs |= {f"num_{one.name}": draw(units) + 1, f"{one.name}_hp": draw(11, units) / 10}
        obs |= {f"{one.name}_{axis}": draw(spec.side, units) for axis in "xy"}
        obs[f"{one.name}_type"] = one.first_kind + draw(one.last_kind - one.first_kind + 1, units)
    obs |= {"command_type": draw(6, units), "command_unit_type": draw(4, units), "past": draw(7, units, 4)}
    obs |= {f"command_{axis}": draw(spec.side, units) for axis in "xy"}
    obs |= {f"command_{one.pointer}": draw(units, units) for one in spec.others}
    obs |= {"legal_command": draw(2, units, 7) > 0, "legal_make": draw(2, units, 2) > 0, "legal_found": draw(2, 2) > 0}
    obs = {name: value.expand(batch, steps, num_agents, *value.shape[3:]) for name, value in obs.items()}
    owner = draw(num_agents, units)
    listed = torch.arange(units) < obs["num_own"][..., None]
    obs["owned"] = (owner == torch.arange(num_agents)[:, None]) & listed
    rows = torch.randint(len(TEXTS), (batch, steps, num_agents, 2), generator=generator)
    return obs | {
        "instruction": torch.nn.functional.pad(rows, (0, 3)),
        "instruction_age": torch.zeros_like(rows[..., :1]).expand(*rows.shape[:-1], 5),
    }


def output_of(policy, obs):
    batch, steps = obs["stock"].shape[:2]
    return policy(obs, {}, torch.zeros(batch, steps, dtype=torch.bool))


def sample_of(policy, obs, seed=0):
    output = output_of(policy, obs)
    generator = torch.Generator().manual_seed(seed)
    shape = (*obs["stock"].shape[:2], output.policy.num_uniforms)
    return output, output.policy.sample(torch.rand(shape, generator=generator, dtype=torch.float64))[0]
