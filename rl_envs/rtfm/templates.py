"""Templates of natural-language RTFM, our own: 12 for goals and 10 for each kind of sentence, as many as in the papers.

Punctuation marks are separate words. `{names}` is replaced by monsters or modifiers joined by commas, `{group}` by the
team or element. Every template also fits a single name. This file holds only templates.
"""

PLAIN_BEATS = "{names} beat {group} ."
PLAIN_MEMBERS = "{names} are {group} ."
PLAIN_GOAL = "defeat the {group}"

BEATS = (
    "use {names} against {group} .",
    "{group} yields to {names} .",
    "nothing hurts {group} like {names} .",
    "{group} cannot stand {names} .",
    "{names} will overcome {group} .",
    "for {group} you need {names} .",
    "bring {names} if you expect {group} .",
    "the weakness of {group} is {names} .",
    "against {group} , trust {names} .",
    "whoever meets {group} should carry {names} .",
)
MEMBERS = (
    "the {group} counts on {names} .",
    "in the {group} you find {names} .",
    "{names} can be found in the {group} .",
    "{names} will fight for the {group} .",
    "the {group} is home to {names} .",
    "loyal to the {group} : {names} .",
    "the {group} has sworn in {names} .",
    "the banner of the {group} flies over {names} .",
    "expect {names} to side with the {group} .",
    "{names} took the oath of the {group} .",
)
GOALS = (
    "bring down the {group} .",
    "your foes are the {group} .",
    "the {group} must fall .",
    "rid this place of the {group} .",
    "hunt the {group} .",
    "make sure that the {group} loses .",
    "no one in the {group} may survive .",
    "fight whoever serves the {group} .",
    "put an end to the {group} .",
    "beat the {group} and no others .",
    "we want the {group} gone .",
    "victory means the end of the {group} .",
)
