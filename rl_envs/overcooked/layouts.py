"""The five classic kitchens as rows of text (SAMA, experiments; the levels are those of Carroll et al., 2019).

`X` counter, `O` onion store, `P` pot, `D` dish store, `S` serving hatch, blank floor, `1`, `2` first cells of the
chefs. `counter_circuit_o_1order` is the level that papers call "counter circuit".
"""

from collections.abc import Sequence

LAYOUTS: dict[str, tuple[str, ...]] = {
    "cramped_room": (
        "XXPXX",
        "O  2O",
        "X1  X",
        "XDXSX",
    ),
    "asymmetric_advantages": (
        "XXXXXXXXX",
        "O XSXOX S",
        "X   P 1 X",
        "X2  P   X",
        "XXXDXDXXX",
    ),
    "coordination_ring": (
        "XXXPX",
        "X 1 P",
        "D2X X",
        "O   X",
        "XOSXX",
    ),
    "forced_coordination": (
        "XXXPX",
        "O X1P",
        "O2X X",
        "D X X",
        "XXXSX",
    ),
    "counter_circuit_o_1order": (
        "XXXPPXXX",
        "X  2   X",
        "D XXXX S",
        "X  1   X",
        "XXXOOXXX",
    ),
}
FLOOR_SIGNS, STARTS, PLACES = " 12", "12", "XOPDS"
_MAX_SIDE = 32


def get_rows(layout: str | Sequence[str]) -> tuple[str, ...]:
    """Rows of a named layout, or given rows after a check; raises ValueError."""
    if isinstance(layout, str):
        if layout not in LAYOUTS:
            raise ValueError(
                f"no layout is called {layout!r}; there are {', '.join(LAYOUTS)}, or give rows of your own"
            )
        return LAYOUTS[layout]
    rows = tuple(layout)
    _check(rows)
    return rows


def _check(rows: tuple[str, ...]) -> None:
    width = len(rows[0]) if rows else 0
    if not (3 <= len(rows) <= _MAX_SIDE and 3 <= width <= _MAX_SIDE):
        raise ValueError(f"a layout has 3 to {_MAX_SIDE} rows and columns, got {len(rows)} rows of {width}")
    for number, row in enumerate(rows):
        if len(row) != width:
            raise ValueError(f"layout row {number} has {len(row)} letters, row 0 has {width}: make them equally long")
        strange = sorted(set(row) - set(FLOOR_SIGNS + PLACES))
        if strange:
            raise ValueError(
                f"layout row {number} has {strange[0]!r}: use {PLACES}, blanks, and {STARTS} for the chefs"
            )
    drawn = "".join(rows)
    for sign in STARTS:
        if drawn.count(sign) != 1:
            raise ValueError(f"a layout needs exactly one {sign}, where a chef begins; got {drawn.count(sign)}")
    if "P" not in drawn:
        raise ValueError("a layout needs a pot: draw a P")
    edge = rows[0] + rows[-1] + "".join(row[0] + row[-1] for row in rows)
    if set(edge) & set(FLOOR_SIGNS):
        raise ValueError("floor must not touch the edge of a layout: draw counters around it")
