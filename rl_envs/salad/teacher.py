"""A scripted teacher: from the true state of a kitchen to a message of each agent to the other, at most ten words.

The grammar, with MATE one of Alice and Bob, and FOOD tomato, lettuce or onion:

    MESSAGE = MATE, please SUBTASK. | MATE, please SUBTASK, I SUBTASK.
    SUBTASK = wait | bring the FOOD | bring the bowl | chop the FOOD | serve the salad

The first subtask is for the mate, the second is the speaker's own (left out if it waits).
"""

import itertools
import re

from rl_envs.salad.cook import knowledge, recipe_foods, truth
from rl_envs.salad.subtasks import BRINGING, CHOPPING, SERVING, WAIT, WAITING, Subtask, next_macro, to_subtask
from rl_envs.salad.symbols import AGENT_NAMES, FOODS, NUM_FOODS
from rl_envs.salad.world import Salad

MAX_WORDS = 10
_MESSAGE = re.compile(rf"({'|'.join(AGENT_NAMES)}), please ([a-z ]+)(?:, I [a-z ]+)?\.")


def _words() -> dict[Subtask, str]:
    """Subtask -> its phrase in the grammar."""
    words = {WAIT: WAITING, Subtask(SERVING): "serve the salad", Subtask(BRINGING, NUM_FOODS): "bring the bowl"}
    for kind, thing in itertools.product((BRINGING, CHOPPING), range(NUM_FOODS)):
        words[Subtask(kind, thing)] = f"{kind} the {FOODS[thing]}"
    return words


WORDS = _words()
_SUBTASKS = {words: subtask for subtask, words in WORDS.items()}


def subtasks(world: Salad) -> list[list[Subtask]]:
    """`[B][N]`, next subtask of every agent, planned with the true state."""
    belief, available = truth(world)
    planned = []
    for row in range(world.num_worlds):
        wanted = recipe_foods(int(world.state["recipe"][row]))
        known = [knowledge(world, belief, available, row, agent, wanted) for agent in range(world.num_agents)]
        planned.append([to_subtask(next_macro(one), one) for one in known])
    return planned


def messages(world: Salad) -> list[list[str]]:
    """`[B][N]`, message of every agent to the other for the present state."""
    return [[compose_message(agent, team) for agent in range(world.num_agents)] for team in subtasks(world)]


def compose_message(speaker: int, team: list[Subtask]) -> str:
    """The message of one agent, given the subtasks of both."""
    mate = 1 - speaker
    own = "" if team[speaker] == WAIT else f", I {WORDS[team[speaker]]}"
    return f"{AGENT_NAMES[mate]}, please {WORDS[team[mate]]}{own}."


def parse_message(message: str, listener: int) -> Subtask | None:
    """The subtask that a message requests of the listener; None if it is ungrammatical or for another listener."""
    found = _MESSAGE.fullmatch(message)
    if found is None or found[1] != AGENT_NAMES[listener]:
        return None
    return _SUBTASKS.get(found[2])


def all_messages() -> list[str]:
    """Every message of the grammar."""
    pairs = itertools.product(WORDS, WORDS)
    return [compose_message(speaker, [own, other]) for own, other in pairs for speaker in range(len(AGENT_NAMES))]
