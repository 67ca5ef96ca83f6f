"""The words of RTFM: monsters, modifiers, items, elements and teams, and a second set of names for evaluation.

RTFM (Zhong et al., 2020, appendix) and, for the second set, EnDi (2023, appendix A.1). The number of a monster,
modifier, noun, team or element is its index in these lists.
"""

from dataclasses import dataclass

ELEMENTS = ("cold", "fire", "lightning", "poison")
TEAMS = ("order of the forest", "rebel enclave", "star alliance")
LEGEND = {
    "item": (255, 255, 255),
    "cold monster": (140, 190, 235),
    "fire monster": (238, 130, 100),
    "lightning monster": (244, 210, 90),
    "poison monster": (150, 200, 120),
}
"""Colours in images."""


@dataclass(frozen=True)
class NameSet:
    """Names for the entities of a world."""

    monsters: tuple[str, ...]  # nine monsters; worlds without groups use the first three
    modifiers: tuple[str, ...]  # eight modifiers; worlds without groups use the first four
    nouns: tuple[str, ...]  # kinds of items


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
"""`new` is EnDi's Eval(new): these words never occur in training, so their embeddings keep their initial values."""
