"""The words that fill the blanks of a sentence: three for every entity, role and role's adjective.

EnDi (2023, appendix A.2) lists them. Every word occurs in every split, so that held-out sentences are new in their
phrasing and never in their nouns. This file holds words and nothing else.
"""

from __future__ import annotations

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
