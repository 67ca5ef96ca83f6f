"""Specification of a game for a network over a cell map with lists of units; names are arguments.

A game shows one list of units that can be commanded and lists of other units, each unit with a kind, a
place and a health, and a map of cells. A collective action selects some of the commanded units and gives all of them
one command, whose arguments are a unit of another list, a kind or a cell.
"""

from dataclasses import dataclass

OWNED, ROWS, AGES = "owned", "instruction", "instruction_age"
"""Observation keys: [B, T, N, U] bool, units that an agent commands; [B, T, N, S] int, rows of the table of texts that
it received, newest first, 0 for none; [B, T, N, S] int, how long ago."""

UNITS, OWN_MASK, CONTEXT, CELLS, TARGETS = "units", "own_mask", "context", "cells", "targets/"
"""Extras for the head: [B, T, N, U, F] units with what they read, [B, T, N, U] bool units that an agent commands,
[B, T, N, C] the rest without instructions, [B, T, N, H * W, F] cells, and [B, T, N, U, F] units of another list."""
LEGAL = "legal/"
"""Extras: legality masks of the observation."""


@dataclass(frozen=True)
class UnitWidths:
    """Widths of what a network makes of such a game.

    Attributes:
        features: F, the global features: sums of all lists, what can be spent, the newest instruction.
        units: a commanded unit with what it reads.
        context: the global features without the instruction.
        others: units of other lists, and cells.
    """

    features: int
    units: int
    context: int
    others: int


@dataclass(frozen=True)
class UnitList:
    """One list of units, all of the same length U.

    Observation keys of a list with name `x`: `x_type`, `x_x`, `x_y` [B, T, N, U] int, `x_hp` [B, T, N, U] float in
    [0, 1] and its length `num_x` [B, T, N].

    Attributes:
        name: prefix of the observation keys.
        first_kind, last_kind: kinds that are drawn on the map, a plane each.
        targeted_by: number of the command whose argument is a unit of this list; -1 for none.
        pointer: factor of the action that points at a unit of this list; empty for none.
    """

    name: str
    first_kind: int
    last_kind: int
    targeted_by: int = -1
    pointer: str = ""


@dataclass(frozen=True)
class Argument:
    """A further argument of commands.

    Attributes:
        factor: its name in actions.
        commands: numbers of the commands that have it.
        size: number of kinds to choose from; 0 for a cell of the map.
        legal: observation key of what may be chosen: [B, T, N, size], or [B, T, N, U, size] for each selected unit;
            empty if anything may.
    """

    factor: str
    commands: tuple[int, ...]
    size: int = 0
    legal: str = ""


@dataclass(frozen=True)
class UnitSpec:
    """A game with commanded units.

    Attributes:
        side: H = W, cells.
        length: U, of every list.
        num_kinds: number of kinds of units.
        commanded: the list that is commanded; an index of an observed target points into the list that it targets.
        others: further lists.
        ground: observation key of the cells, [B, T, N, H, W] int, numbers of `ground_planes`.
        ground_planes: `[G][P]`, the planes that a number stands for.
        stock, stock_size: observation key and width of a one-hot vector of what can be spent.
        commands: factor of the command in actions.
        num_commands: C; the last one is to continue.
        legal_commands: observation key, [B, T, N, U, C] bool.
        typed, placed: commands whose present kind (`command_unit_type`) and place (`command_x`, `command_y`) a unit
            shows beside its `command_type`; the target of list `x` is `command_POINTER`.
        history: observation key of the last commands, [B, T, N, U, history length] int.
        arguments: further arguments of commands.
        stop: factor that is 1 if no unit gets a command.
        flags: U factors, 1 for a selected unit.
    """

    side: int
    length: int
    num_kinds: int
    commanded: UnitList
    others: tuple[UnitList, ...]
    ground: str
    ground_planes: tuple[tuple[int, ...], ...]
    stock: str
    stock_size: int
    commands: str
    num_commands: int
    legal_commands: str
    typed: tuple[int, ...]
    placed: tuple[int, ...]
    history: str
    arguments: tuple[Argument, ...]
    stop: str
    flags: tuple[str, ...]

    @property
    def lists(self) -> tuple[UnitList, ...]:
        """All lists, the commanded one first."""
        return self.commanded, *self.others

    @property
    def num_planes(self) -> int:
        """P of the map that a network draws: two of coordinates, the ground's, and one for each drawn kind."""
        drawn = sum(one.last_kind - one.first_kind + 1 for one in self.lists)
        return 2 + len(self.ground_planes[0]) + drawn
