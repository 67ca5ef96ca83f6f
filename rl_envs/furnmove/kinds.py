"""Kinds of furniture: how high they are and which colour they have.

Heights are medians of AI2-THOR's asset table (Apache-2.0). A television is carried at 1.3 m, so a kind below that
height is low furniture and any other is tall. No furniture is yellow, which is the colour of the stand's top.
"""

from dataclasses import dataclass

CARRY_METRES = 1.3
"""Height of the lifted television's base above the floor."""


@dataclass(frozen=True)
class Kind:
    """A kind of furniture."""

    height: float  # height in metres
    colour: tuple[int, int, int]  # red, green and blue of its sides, 0 to 255; its top is lighter


KINDS = {
    "sofa": Kind(0.92, (150, 62, 54)),
    "arm_chair": Kind(0.88, (176, 96, 60)),
    "coffee_table": Kind(0.44, (122, 82, 50)),
    "side_table": Kind(0.66, (148, 112, 78)),
    "tv_stand": Kind(0.71, (70, 52, 44)),
    "desk": Kind(0.79, (134, 106, 92)),
    "dining_table": Kind(0.76, (108, 68, 40)),
    "bin": Kind(0.56, (96, 100, 104)),
    "plant": Kind(0.65, (58, 110, 62)),
    "box": Kind(0.28, (186, 150, 108)),
    "ottoman": Kind(0.43, (120, 76, 116)),
    "shelf": Kind(1.6, (92, 70, 58)),
    "floor_lamp": Kind(1.87, (204, 190, 186)),
}
"""Name -> kind."""

LOW_KINDS = tuple(name for name, kind in KINDS.items() if kind.height < CARRY_METRES)
TALL_KINDS = tuple(name for name, kind in KINDS.items() if kind.height >= CARRY_METRES)
