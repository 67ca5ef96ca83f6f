"""The 17 commands in words of RED's closed set, and the sentences that say them (sheet, section 1.13)."""

from __future__ import annotations

PHRASES = (
    "attack",
    "mine with all idle peasant",
    "send all peasant to mine",
    *(
        f"build {thing}"
        for thing in (
            "workshop",
            "stable",
            "dragon",
            "guard tower",
            "catapult",
            "blacksmith",
            "peasant",
            "barrack",
            "archer",
            "cavalry",
            "spearman",
        )
    ),
    "build another swordman",
    "keep scouting",
    "send one peasant to scout",
)
"""All phrases; an id is an index into them."""
