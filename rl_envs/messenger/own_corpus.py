"""Our own sentences as a corpus in the format of the published one: templates, and the words that fill their blanks.

The same cells are empty as in the published corpus. A split has sentences about the (entity, role) pairs of its games,
about every entity as an enemy (stage 3 has decoys), and, for entities that are only ever enemies, about both other
roles (the manual of stage 3 has one false sentence).
"""

from itertools import product

from rl_envs.messenger.corpus import TEXT_SPLITS, Document
from rl_envs.messenger.games import Games, games_by_rule, pairs_of_games
from rl_envs.messenger.symbols import ENEMY, ENTITIES, MOVEMENTS, ROLES

TEMPLATES: dict[str, dict[str, tuple[str, ...]]] = {
    "train": {
        "chaser": (
            "the {entity} that keeps coming closer to you is the {adjective} {role}.",
            "the {adjective} {role} is the {entity}, and it follows you wherever you go.",
            "watch the {entity} that runs after you, it is the {adjective} {role}.",
            "the {entity} is chasing you and it is the {adjective} {role}.",
            "you are being pursued by the {adjective} {role}, which is the {entity}.",
            "the {adjective} {role} moves toward you in the shape of the {entity}.",
            "the {entity} heading straight for you is that {adjective} {role}.",
            "expect the {adjective} {role} to approach you, for it is the {entity}.",
            "the {entity} trails you everywhere and counts as the {adjective} {role}.",
            "step by step the {entity} draws near, and it is our {adjective} {role}.",
            "the {role} is the {entity} at your heels, the {adjective} one.",
            "the {entity} wants to catch you, it is the {adjective} {role}.",
            "the {adjective} {role}, also called the {entity}, keeps closing in on you.",
        ),
        "fleeing": (
            "the {entity} that runs away from you is the {adjective} {role}.",
            "the {adjective} {role} is the {entity}, and it flees when you come near.",
            "the {entity} is fleeing from you and it is the {adjective} {role}.",
            "you have to corner the {entity}, for the {adjective} {role} keeps escaping.",
            "the {adjective} {role} shies away from you in the shape of the {entity}.",
            "the {entity} avoids you at every step and counts as the {adjective} {role}.",
            "the {role} is the {entity} that retreats from you, the {adjective} one.",
            "the {entity} keeps its distance from you, it is the {adjective} {role}.",
            "the {adjective} {role}, also called the {entity}, tries to get away from you.",
            "expect the {entity} to back off, it is our {adjective} {role}.",
            "the {entity} leaves whenever you arrive, and it is that {adjective} {role}.",
            "the {adjective} {role} does not want you to catch it, and it is the {entity}.",
        ),
        "immovable": (
            "the {entity} that does not move is the {adjective} {role}.",
            "the {adjective} {role} is the {entity}, and it stays where it is.",
            "the {entity} is standing still and it is the {adjective} {role}.",
            "the {adjective} {role} remains in one spot in the shape of the {entity}.",
            "the {entity} rests in its place and counts as the {adjective} {role}.",
            "the {role} is the {entity} that holds its position, the {adjective} one.",
            "the {entity} is not moving at all, it is the {adjective} {role}.",
            "the {adjective} {role}, also called the {entity}, cannot move.",
            "expect the {entity} to wait where you found it, it is our {adjective} {role}.",
            "the {entity} sits there without any motion, and it is that {adjective} {role}.",
            "you will find the {adjective} {role} fixed to the ground as the {entity}.",
            "the {adjective} {role} is stationary, and it is the {entity}.",
            "the motionless {entity} is the {adjective} {role}.",
            "look for the {entity} that keeps to its place, for it is the {adjective} {role}.",
        ),
        "unknown": (
            "the {entity} is the {adjective} {role}.",
            "the {adjective} {role} is also called the {entity}.",
            "expect that the {entity} counts as our {adjective} {role}.",
            "the {role} is the {entity}, the {adjective} one.",
            "you will find the {adjective} {role} in the shape of the {entity}.",
        ),
    },
    "val": {
        "chaser": (
            "the {entity} rushing at you happens to be the {adjective} {role}.",
            "no matter where you go, the {entity} comes after you as the {adjective} {role}.",
            "the {adjective} {role} is whoever tracks you, namely the {entity}.",
            "the {entity} races in your direction and is the {adjective} {role}.",
            "look behind you, the {entity} gets closer and closer, it is the {adjective} {role}.",
            "the {entity} is stalking you, and people call it the {adjective} {role}.",
        ),
        "fleeing": (
            "the {entity} rushing away from you happens to be the {adjective} {role}.",
            "no matter where you go, the {entity} slips away as the {adjective} {role}.",
            "the {adjective} {role} is whoever dodges you, namely the {entity}.",
            "the {entity} races off when it sees you and is the {adjective} {role}.",
            "the {entity} is evading you, and people call it the {adjective} {role}.",
            "the {adjective} {role} bolts from you, so look for the {entity}.",
        ),
        "immovable": (
            "the {entity} staying put happens to be the {adjective} {role}.",
            "the {adjective} {role} is whoever lingers in place, namely the {entity}.",
            "no matter where you go, the {entity} stands still as the {adjective} {role}.",
            "the {entity} is frozen, and people call it the {adjective} {role}.",
            "the {adjective} {role} does not go anywhere, so look for the {entity}.",
        ),
        "unknown": (
            "the {adjective} {role} is whoever looks like the {entity}.",
            "people call the {entity} the {adjective} {role}.",
        ),
    },
    "test": {
        "chaser": (
            "the {entity} never stops shadowing you and serves as the {adjective} {role}.",
            "the {adjective} {role} pounces toward you, since it is the {entity}.",
            "there is the {entity} charging right at you, which makes it the {adjective} {role}.",
            "the {entity} sticks to your trail and must be considered the {adjective} {role}.",
            "wherever you turn, the {entity} creeps closer, regard it as the {adjective} {role}.",
            "the {adjective} {role} is after you, you will recognize it as the {entity}.",
        ),
        "fleeing": (
            "the {entity} never lets you come near and serves as the {adjective} {role}.",
            "the {adjective} {role} scurries off, since it is the {entity}.",
            "there is the {entity} drifting away from you, which makes it the {adjective} {role}.",
            "the {entity} shrinks back from you and must be considered the {adjective} {role}.",
            "wherever you turn, the {entity} escapes, regard it as the {adjective} {role}.",
        ),
        "immovable": (
            "the {entity} never budges and serves as the {adjective} {role}.",
            "the {adjective} {role} is rooted to its cell, since it is the {entity}.",
            "there is the {entity} lying idle, which makes it the {adjective} {role}.",
            "the {entity} keeps perfectly still and must be considered the {adjective} {role}.",
            "whatever you do, the {entity} is stuck, regard it as the {adjective} {role}.",
            "the {adjective} {role} is parked in its place, you will recognize it as the {entity}.",
        ),
        "unknown": (
            "the {entity} serves as the {adjective} {role}.",
            "you will recognize the {adjective} {role} as the {entity}.",
        ),
    },
}
"""Split -> movement -> templates: 82 with three blanks each, as many as EnDi (2023, appendix A.2) has. Splits share no
template. Under `unknown` a template gives no movement. Every template is used with every role, so a movement never
reveals a role."""
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
    described = used | {(entity, ENEMY) for entity in range(len(ENTITIES))}
    for entity in range(len(ENTITIES)):
        roles = {role for one, role in used if one == entity}
        if roles == {ENEMY}:
            described |= {(entity, role) for role in range(len(ROLES))}
    return {
        entity: {
            role: {
                movement: _filled(TEMPLATES[split][movement], entity, role)
                if pair in (used if movement == "unknown" else described)
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
