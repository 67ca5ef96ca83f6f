"""The words of RTFM: its monsters, modifiers, items, elements and teams, and a second set of names that training hides.

RTFM (Zhong et al., 2020, appendix) and, for the second set, EnDi (2023, appendix A.1). Numbers of monsters, modifiers,
nouns, teams and elements everywhere are places in these lists. This file must not know about grids or documents.
"""

from __future__ import annotations

from dataclasses import dataclass

ELEMENTS = ("cold", "fire", "lightning", "poison")
TEAMS = ("order of the forest", "rebel enclave", "star alliance")


@dataclass(frozen=True)
class NameSet:
    """What the entities of a world may be called.

    Attributes:
        monsters: nine; the first three make up the worlds without groups.
        modifiers: eight; the first four make up the worlds without groups.
        nouns: what an item may be.
    """

    monsters: tuple[str, ...]
    modifiers: tuple[str, ...]
    nouns: tuple[str, ...]


NAME_SETS = {
    "paper": NameSet(
        ("wolf", "jaguar", "panther", "goblin", "bat", "imp", "shaman", "ghost", "zombie"),
        ("grandmasters", "blessed", "shimmering", "gleaming", "fanatical", "mysterious", "soldiers", "arcane"),
        ("sword", "axe", "morningstar", "polearm", "knife", "katana", "cutlass", "spear"),
    ),
    "new": NameSet(
        ("tiger", "bear", "puma", "elf", "vampire", "gremlin", "witch", "specter", "robot"),
        ("superstars", "sacred", "glittering", "shiny", "obsessive", "bizarre", "secret", "esoteric"),
        ("sabre", "tomahawk", "sunglow"),
    ),
}
"""`new` is EnDi's Eval(new): no policy has seen these words in training, so their embeddings are as they were drawn."""
