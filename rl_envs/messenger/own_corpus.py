"""Our own sentences as a corpus in the format of the published one: templates, and the words that fill their blanks.

The same cells are empty as in the published corpus. A split has sentences about the (entity, role) pairs of its games,
about every entity as an enemy (stage 3 has decoys), and, for entities that are only ever enemies, about both other
roles (the manual of stage 3 has one false sentence). This file must not know how manuals are composed.
"""

from __future__ import annotations

from itertools import product

from rl_envs.messenger.corpus import TEXT_SPLITS, Document
from rl_envs.messenger.games import Games, games_by_rule, pairs_of_games
from rl_envs.messenger.symbols import ENEMY, ENTITIES, MOVEMENTS, ROLES
from rl_envs.messenger.templates import TEMPLATES

ENTITY_WORDS = {
    "airplane": ("airplane", "plane", "jet"),
    "mage": ("mage", "wizard", "sorcerer"),
    "dog": ("dog", "hound", "canine"),
    "bird": ("bird", "eagle", "hawk"),
    "fish": ("fish", "whale", "shark"),
    "scientist": ("scientist", "scholar", "researcher"),
    "thief": ("thief", "robber", "bandit"),
    "ship": ("ship", "ferry", "boat"),
    "ball": ("ball", "orb", "sphere"),
    "robot": ("robot", "bot", "humanoid"),
    "queen": ("queen", "princess", "empress"),
    "sword": ("sword", "blade", "saber"),
}
ROLE_WORDS = {
    "enemy": ("enemy", "opponent", "adversary"),
    "message": ("message", "memo", "report"),
    "goal": ("goal", "target", "aim"),
}
ADJECTIVES = {
    "enemy": ("dangerous", "deadly", "lethal"),
    "message": ("restricted", "classified", "secret"),
    "goal": ("crucial", "vital", "essential"),
}
"""Three words for each entity, each role and each role's adjective (EnDi, 2023, appendix A.2). Every word occurs in
every split, so held-out sentences have new phrasing but no new nouns."""


def own_documents() -> dict[str, Document]:
    """Our documents, one for each split."""
    return {split: _document(split, games_by_rule()) for split in TEXT_SPLITS}


def _document(split: str, games: Games) -> Document:
    used = pairs_of_games(games, split)
    told = used | {(entity, ENEMY) for entity in range(len(ENTITIES))}
    for entity in range(len(ENTITIES)):
        roles = {role for one, role in used if one == entity}
        if roles == {ENEMY}:
            told |= {(entity, role) for role in range(len(ROLES))}
    return {
        entity: {
            role: {
                movement: _filled(TEMPLATES[split][movement], entity, role)
                if pair in (used if movement == "unknown" else told)
                else []
                for movement in MOVEMENTS
            }
            for role, pair in ((role, (number, place)) for place, role in enumerate(ROLES))
        }
        for number, entity in enumerate(ENTITIES)
    }


def _filled(templates: tuple[str, ...], entity: str, role: str) -> list[str]:
    """All 27 sentences of each template about one entity in one role."""
    return [
        template.format(entity=entity_word, role=role_word, adjective=adjective)
        for template in templates
        for entity_word, role_word, adjective in product(ENTITY_WORDS[entity], ROLE_WORDS[role], ADJECTIVES[role])
    ]
