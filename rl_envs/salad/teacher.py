"""A scripted teacher: from the true state of a kitchen to one message of each agent to the other, at most ten words.

The grammar, with MATE one of Alice and Bob, and FOOD tomato, lettuce or onion:

    MESSAGE = MATE, please ERRAND. | MATE, please ERRAND, I ERRAND.
    ERRAND  = wait | bring the FOOD | bring the bowl | chop the FOOD | serve the salad

The first subtask is what the mate should do now, the second what the speaker does (left out when that is waiting). This
file must not know how messages are learnt or sent.
"""

from __future__ import annotations

import itertools
import re

from rl_envs.salad.cook import foods_of, knowledge, truth
from rl_envs.salad.subtasks import BRINGING, CHOPPING, SERVING, WAIT, WAITING, Subtask, next_macro, subtask_of
from rl_envs.salad.symbols import AGENT_NAMES, FOODS, NUM_FOODS
from rl_envs.salad.world import Salad

MAX_WORDS = 10
_MESSAGE = re.compile(rf"({'|'.join(AGENT_NAMES)}), please ([a-z ]+)(?:, I [a-z ]+)?\.")


def _words() -> dict[Subtask, str]:
    """Subtask -> its words."""
    words = {WAIT: WAITING, Subtask(SERVING): "serve the salad", Subtask(BRINGING, NUM_FOODS): "bring the bowl"}
    for kind, thing in itertools.product((BRINGING, CHOPPING), range(NUM_FOODS)):
        words[Subtask(kind, thing)] = f"{kind} the {FOODS[thing]}"
    return words


WORDS = _words()
_SUBTASKS = {words: subtask for subtask, words in WORDS.items()}


def subtasks(world: Salad) -> list[list[Subtask]]:
    """[B][N], what every agent should do now, seen from above."""
    belief, available = truth(world)
    planned = []
    for row in range(world.num_worlds):
        wanted = foods_of(int(world.state["recipe"][row]))
        known = [knowledge(world, belief, available, row, agent, wanted) for agent in range(world.num_agents)]
        planned.append([subtask_of(next_macro(one), one) for one in known])
    return planned


def messages(world: Salad) -> list[list[str]]:
    """[B][N], what every agent should tell the other now."""
    return [[say(agent, team) for agent in range(world.num_agents)] for team in subtasks(world)]


def say(speaker: int, team: list[Subtask]) -> str:
    """The message of one agent when these are the subtasks of both."""
    mate = 1 - speaker
    own = "" if team[speaker] == WAIT else f", I {WORDS[team[speaker]]}"
    return f"{AGENT_NAMES[mate]}, please {WORDS[team[mate]]}{own}."


def hear(message: str, listener: int) -> Subtask | None:
    """The subtask that a message asks a listener to do; None if it is not of the grammar or for somebody else."""
    found = _MESSAGE.fullmatch(message)
    if found is None or found[1] != AGENT_NAMES[listener]:
        return None
    return _SUBTASKS.get(found[2])


def all_messages() -> list[str]:
    """Every message of the grammar."""
    pairs = itertools.product(WORDS, WORDS)
    return [say(speaker, [own, other]) for own, other in pairs for speaker in range(len(AGENT_NAMES))]
