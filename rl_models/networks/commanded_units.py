"""RED's network: a cell map with lists of units, instructions in words, features for a collective action.

RED is Xu, Wang and Wu, 2022 ("Grounded reinforcement learning: learning to win the game under human commands"); the
network is the executor of Hu et al., 2019. Convolutions over the map; a unit's features are those at its cell times
those of its kind, health and commands; every unit attends to the latest instructions. All agents of a team see the same
lists and cells, so all of that is computed once a team; agents differ in their units and instructions. The released
code masks sums over two lists by the length of a third; here each list's own length counts.
"""

import torch
from torch import Tensor, nn

from rl_models.distributions.collective import is_member
from rl_models.layers.weight_norm import NormalisedLinear
from rl_models.networks.instructions import InstructionAttention, InstructionReader
from rl_models.networks.network_config import CommandedUnitsConfig
from rl_models.networks.unit_map import CellFeatures, Frames, UnitMap, gather_at_units, is_listed
from rl_models.policy import Features, State, Stateless
from rl_models.unit_spec import AGES, CELLS, CONTEXT, LEGAL, OWN_MASK, OWNED, ROWS, TARGETS, UNITS, UnitSpec, UnitWidths

HEALTH_BINS = 11


class PresentCommand(nn.Module):
    """Encoder of a unit's present command: command, kind, place and target, each zero if the command has none."""

    def __init__(self, config: CommandedUnitsConfig, spec: UnitSpec) -> None:
        super().__init__()
        self._spec, width = spec, config.embedding
        self.command, self.kind = nn.Embedding(spec.num_commands, width), nn.Embedding(spec.num_kinds, width)
        self.place = NormalisedLinear(2, width)
        self.targets = nn.ModuleDict(
            {one.name: NormalisedLinear(config.other_features, width) for one in spec.others if one.targeted_by >= 0}
        )

    def forward(self, frames: Frames, others: dict[str, Tensor]) -> Tensor:
        """Frames and features of other lists, name -> [K, U, other features], to [K, U, 4 * embedding] float32."""
        spec, command = self._spec, frames["command_type"].long()
        place = torch.stack([frames["command_x"], frames["command_y"]], -1).float() / spec.side
        kind = self.kind(frames["command_unit_type"].long()) * _among(command, spec.typed)
        target = torch.zeros_like(kind)
        for one in spec.others:
            if one.targeted_by >= 0:
                index = frames[f"command_{one.pointer}"].long()[..., None]
                chosen = others[one.name].gather(1, index.expand(-1, -1, others[one.name].shape[-1]))
                target = target + self.targets[one.name](chosen) * _among(command, (one.targeted_by,))
        return torch.cat([self.command(command), kind, self.place(place) * _among(command, spec.placed), target], -1)


class CommandHistory(nn.Module):
    """An LSTM over the last commands of each unit."""

    def __init__(self, commands: int, features: int) -> None:
        super().__init__()
        self.commands, self.lstm = nn.Embedding(commands, features), nn.LSTM(features, features, batch_first=True)

    def forward(self, past: Tensor, listed: Tensor) -> Tensor:
        """Commands [K, U, H], oldest first, and which entries are units [K, U] -> [K, U, features] float32."""
        flat, width = past.flatten(0, 1).long(), self.lstm.hidden_size
        if past.device.type != "cpu":  # reading the number of units back from an accelerator costs more than padding
            return self._last(flat).view(*listed.shape, width)
        rows = listed.flatten().nonzero().squeeze(-1)
        found = torch.zeros(len(flat), width).index_copy(0, rows, self._last(flat[rows])) if len(rows) else None
        return torch.zeros(*listed.shape, width) if found is None else found.view(*listed.shape, width)

    def _last(self, commands: Tensor) -> Tensor:
        last: Tensor = self.lstm(self.commands(commands))[1][0].squeeze(0)
        return last


class CommandedUnits(Stateless):
    """Observations of commanded units -> features of a collective action, of these `widths`."""

    def __init__(
        self, config: CommandedUnitsConfig, spec: UnitSpec, texts: Tensor, vocabulary: int, num_agents: int
    ) -> None:
        """Build the network; `texts` [D, L] int are the instructions, as for `InstructionReader`."""
        super().__init__()
        self.num_agents, self._spec = num_agents, spec
        self.map = UnitMap(spec, config.channels)
        self.cells = CellFeatures(config.channels, config.other_features)
        self.at_units = nn.ModuleDict(
            {one.name: CellFeatures(config.channels, self._width(config, one.name)) for one in spec.lists}
        )
        self.kind, self.health = (nn.Embedding(count, config.embedding) for count in (spec.num_kinds, HEALTH_BINS))
        self.present = PresentCommand(config, spec)
        self.past = CommandHistory(spec.num_commands, config.history_features)
        extras = {one.name: 2 * config.embedding for one in spec.lists}
        extras[spec.commanded.name] += 4 * config.embedding + config.history_features
        self.extras = nn.ModuleDict(
            {name: NormalisedLinear(width, self._width(config, name)) for name, width in extras.items()}
        )
        self.stock = nn.Sequential(
            NormalisedLinear(spec.stock_size, config.other_features),
            nn.ReLU(),
            NormalisedLinear(config.other_features, config.other_features),
            nn.ReLU(),
        )
        self.reader = InstructionReader(config, texts, vocabulary)
        self.attention = InstructionAttention(config.unit_features, self.reader.features)
        context = config.unit_features + config.other_features * (1 + len(spec.others))
        read = self.reader.features
        self.widths = UnitWidths(context + read, config.unit_features + read, context, config.other_features)

    def _width(self, config: CommandedUnitsConfig, name: str) -> int:
        return config.unit_features if name == self._spec.commanded.name else config.other_features

    def forward(self, obs: dict[str, Tensor], state: State, is_first: Tensor) -> Features:
        """Features [B, T, N, F] float32 of `obs` [B, T, N, ...]; extras are what a collective action's head needs."""
        spec, team = self._spec, is_first.shape
        frames = {key: value[:, :, 0].flatten(0, 1) for key, value in obs.items() if value.ndim > 2}
        found = self.map(frames)
        seen = gather_at_units(found, frames, spec)
        others = {one.name: self._encode_list(frames, seen[one.name], one.name, []) for one in spec.others}
        listed = is_listed(frames, spec.commanded.name)
        command = [self.present(frames, others), self.past(frames[spec.history], listed)]
        own = self._encode_list(frames, seen[spec.commanded.name], spec.commanded.name, command)
        units, *rest = (self._for_agents(each, team) for each in (own, *others.values(), self.cells(found)))
        is_own = obs[OWNED].bool() & self._for_agents(listed, team)
        instructions = self.reader(obs[ROWS], obs[AGES])
        sums = [(units * is_own[..., None]).sum(-2), *(each.sum(-2) for each in rest[:-1])]
        context = torch.cat([*sums, self._for_agents(self.stock(frames[spec.stock].float()), team)], -1)
        extras = {
            UNITS: torch.cat([units, self.attention(units, instructions)], -1),
            OWN_MASK: is_own,
            CONTEXT: context,
            CELLS: rest[-1],
            **{f"{TARGETS}{name}": each for name, each in zip(others, rest, strict=False)},
            **self._legal(obs),
        }
        return Features(torch.cat([context, instructions[..., 0, :]], -1), {}, extras=extras)

    def _encode_list(self, frames: Frames, seen: Tensor, name: str, further: list[Tensor]) -> Tensor:
        """Features of a list's units, of which the map is seen [K, U, F]: [K, U, width] float32; zero for padding."""
        health = (frames[f"{name}_hp"].float() * (HEALTH_BINS - 1)).long().clamp(0, HEALTH_BINS - 1)
        known = torch.cat([self.kind(frames[f"{name}_type"].long()), self.health(health), *further], -1)
        features: Tensor = self.at_units[name](seen) * self.extras[name](known) * is_listed(frames, name)[..., None]
        return features

    def _for_agents(self, frames: Tensor, team: torch.Size) -> Tensor:
        """[K, ...] -> [B, T, N, ...], the same for all agents."""
        return frames.unflatten(0, team).unsqueeze(2).expand(-1, -1, self.num_agents, *frames.shape[1:])

    def _legal(self, obs: dict[str, Tensor]) -> dict[str, Tensor]:
        spec = self._spec
        keys = [spec.legal_commands, *(one.legal for one in spec.arguments if one.legal)]
        masks = {f"{LEGAL}{key}": obs[key].bool() for key in keys}
        lengths = {one.pointer: obs[f"num_{one.name}"][..., None] for one in spec.others if one.pointer}
        listed = torch.arange(spec.length, device=obs[OWNED].device)
        return masks | {f"{LEGAL}{pointer}": listed < number for pointer, number in lengths.items()}


def _among(commands: Tensor, some: tuple[int, ...]) -> Tensor:
    """[K, U, 1] float32, 1 where a unit's command is one of some."""
    return is_member(commands, some)[..., None].float()
