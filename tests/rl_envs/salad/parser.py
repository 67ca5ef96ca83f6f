"""Reads the sentences of the salad kitchen back into facts. It knows English, not the world's numbers or its code."""

import re

FOODS = ("tomato", "lettuce", "onion")
_STEPS = r"(\d) steps? (above|below|left of|right of)"


def parse(text):
    """Facts of one situation: a dict, with things in sight by name.

    `things`: name -> place; a place is "usual", ("board", k), ("counter", side, spot). `states`: name -> "raw",
    "chopped" or the set of foods in a bowl. Foods in bowls are described with the bowl.
    """
    facts = {"things": {}, "states": {}, "boards": {}}
    for sentence in re.findall(r"[^.]+\.", text):
        matches = [(rule, found) for pattern, rule in RULES if (found := re.fullmatch(pattern, sentence.strip()))]
        assert len(matches) == 1, f"{len(matches)} readings of {sentence!r}"
        rule, found = matches[0]
        rule(facts, *found.groups())
    return facts


def load(text):
    """(name, state) of "an unchopped tomato", "bowl 1 with chopped onion", ...; None for nothing."""
    if text == "nothing":
        return None
    if found := re.fullmatch(r"an? (unchopped|chopped) (\w+)", text, re.IGNORECASE):
        return found[2], "raw" if found[1] == "unchopped" else "chopped"
    found = re.fullmatch(r"(?:the )?(empty )?(bowl(?: \d)?)(?: with (.+))?", text, re.IGNORECASE)
    assert found and bool(found[1]) != bool(found[3]), text
    foods = frozenset(part.removeprefix("chopped ") for part in re.split(r", | and ", found[3] or "") if part)
    assert foods <= set(FOODS)
    return found[2].lower(), foods


def _kitchen(facts, name, room, boards):
    facts |= {"me": name, "room": room, "num_boards": {"one": 1, "two": 2}[boards]}


def _usual(facts, _, names):
    for name in re.split(r", | and ", names):
        name = name.removeprefix("the ")
        facts["things"][name] = "usual"
        facts["states"][name] = frozenset() if name.startswith("bowl") else "raw"


def _elsewhere(facts, thing, spot, side):
    name, state = load(thing)
    assert name not in facts["things"]
    facts["things"][name], facts["states"][name] = ("counter", side, int(spot)), state


def _board(facts, board, thing=None):
    number = 1 if board == "the cutting board" else int(board[-1])
    facts["boards"][number] = load(thing) if thing else None


def _mate(facts, name, where, thing=None):
    facts["mate"] = name
    if where == "out of sight":
        return
    ways = {"above": (-1, 0), "below": (1, 0), "left of": (0, -1), "right of": (0, 1)}
    steps = [(int(count) * ways[way][0], int(count) * ways[way][1]) for count, way in re.findall(_STEPS, where)]
    facts["mate_at"], facts["mate_holds"] = tuple(map(sum, zip(*steps, strict=True))), load(thing)


def _self(facts, where, thing):
    facts["landmark"], facts["holds"] = where, load(thing)


def _order(facts, foods):
    facts["order"] = frozenset(re.split(r", | and ", foods))


def _secret(facts, name):
    facts["order"], facts["order_known_by"] = None, name


RULES = (
    (r"You are (Alice|Bob) and cook in (?:the (left room|right room|doorway) of )?a kitchen with (one|two) cutting "
     r"boards?\.", _kitchen),
    (r"In (its usual place|their usual places) you see (.+)\.", _usual),
    (r"(.+) lies on spot (\d) of the (upper|lower|left|right|middle) counter\.", _elsewhere),
    (r"(.+) lies on spot (\d) of the counter in (column \d)\.", _elsewhere),
    (r"(The cutting board|Cutting board \d) is free\.", lambda facts, board: _board(facts, board.lower())),
    (r"On (the cutting board|cutting board \d) there is (.+)\.", _board),
    (r"(Alice|Bob) is (out of sight)\.", _mate),
    (rf"(Alice|Bob) is ({_STEPS}(?: and {_STEPS})?) you and holds (.+)\.",
     lambda facts, name, where, *rest: _mate(facts, name, where, rest[-1])),
    (r"You (?:stand at (.+) and )?hold (.+)\.", _self),
    (r"The guests order a salad of (.+)\.", _order),
    (r"Only (Alice|Bob) knows what the guests order\.", _secret),
)  # fmt: skip
