"""Our own sentences as a corpus in the form of the published one: templates with all fillings of their blanks.

The same cells are empty as in the published corpus, which follows from the games: a split tells of the pairs that its
games use, of every entity as an enemy (stage 3 has decoys), and, for its enemies that are never anything else, of both
other roles (stage 3's manual has a false lead). This file must not know how manuals are put together.
"""

from __future__ import annotations

from itertools import product

from rl_envs.messenger.corpus import TEXT_SPLITS, Document
from rl_envs.messenger.games import Games, games_by_rule, pairs_of_games
from rl_envs.messenger.symbols import ENEMY, ENTITIES, MOVEMENTS, ROLES
from rl_envs.messenger.templates import TEMPLATES
from rl_envs.messenger.words import ADJECTIVES, ENTITY_WORDS, ROLE_WORDS


def own_documents() -> dict[str, Document]:
    """Our documents of all splits."""
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
    """All 27 sentences of each template about an entity in a role."""
    return [
        template.format(entity=entity_word, role=role_word, adjective=adjective)
        for template in templates
        for entity_word, role_word, adjective in product(ENTITY_WORDS[entity], ROLE_WORDS[role], ADJECTIVES[role])
    ]
