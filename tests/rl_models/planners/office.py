"""A post office as a domain for tests of the planner: rules that can be read in a minute, and no world behind them.

Clerk 1 works in the back, where the sack is, clerk 0 in front, where the box is; the counter between them is both's.
Letters and parcels go from the sack over the counter, where they are weighed, into the box.
"""

import itertools
import random
import re
from typing import NamedTuple

from rl_models.planners.domain import Allocation, Decomposition, Skill, StateTextError
from rl_models.planners.replies import Fault

THINGS, AGENTS = ("letter", "parcel"), ("Clerk 0", "Clerk 1")
SORT, WEIGH, SEND, READY = "sort the mail", "weigh the mail", "send the mail", "keep ready"
FAR = 1000
FORM = (
    r"Minute (\d+)\. On the counter: (\d) letters and (\d) parcels, (not weighed|weighed)\.\n"
    r"Clerk 0 is (\d) steps away\. Clerk 1 is (\d) steps away\."
)


class Errand(NamedTuple):
    """A sub-goal: who can do it, whether it needs the thing on the counter, and what it is worth."""

    text: str
    goal: str
    clerks: tuple[int, ...]
    thing: str = ""
    worth: int = 0


ERRANDS = (
    *(Errand(f"bring a {thing} from the sack to the counter", SORT, (1,), "", 30) for thing in THINGS),
    *(Errand(f"weigh a {thing} at the counter", WEIGH, (0, 1), thing, 20) for thing in THINGS),
    *(Errand(f"bring a {thing} from the counter to the box", SEND, (0,), thing, 40) for thing in THINGS),
    Errand("wait at the counter", READY, (0, 1), "", 3),
    Errand("wait at the box", READY, (0,), "", 2),
    Errand("wait at the sack", READY, (1,), "", 1),
)
OF_TEXT = {errand.text: errand for errand in ERRANDS}


class Moment(NamedTuple):
    minute: int
    lying: dict
    weighed: bool
    steps: tuple


def read(state):
    found = re.fullmatch(FORM, state.strip())
    if found is None:
        raise StateTextError("it does not read as a moment of the office")
    return Moment(
        int(found[1]), dict(zip(THINGS, (int(found[2]), int(found[3])), strict=True)), found[4] == "weighed",
        (int(found[5]), int(found[6])),
    )  # fmt: skip


def write(minute, letters, parcels, weighed, first, second):
    return (
        f"Minute {minute}. On the counter: {letters} letters and {parcels} parcels, {weighed}.\n"
        f"Clerk 0 is {first} steps away. Clerk 1 is {second} steps away."
    )


def cost(moment, clerk, text):
    errand = OF_TEXT[text]
    can = clerk in errand.clerks and (not errand.thing or moment.lying[errand.thing] > 0)
    return moment.steps[clerk] if can else FAR


class PostOffice:
    """`Domain`."""

    name, agents, goals = "post office", AGENTS, (SORT, WEIGH, SEND, READY)
    manual = (
        "Two clerks bring mail from the sack over the counter into the box.\n"
        "Every letter and every parcel is weighed at the counter."
    )
    objects = ("letter", "parcel", "sack", "counter", "box")
    goal_verbs, action_verbs = ("send",), ("put", "take", "bring", "carry")
    subgoals = tuple(errand.text for errand in ERRANDS)
    skills = (
        Skill(SORT, frozenset(), frozenset({"mail lies there"})),
        Skill(WEIGH, frozenset({"mail lies there"}), frozenset({"mail is weighed"})),
        Skill(SEND, frozenset({"mail lies there", "mail is weighed"}), frozenset({"mail is sent"})),
    )
    final_facts = frozenset({"mail is sent"})
    earlier = "one step earlier"

    def check(self, state):
        read(state)
        return state.strip()

    def situation(self, state):
        return state.splitlines()[0]

    def statuses(self, state):
        return tuple(f"{name} is {n} steps away" for name, n in zip(AGENTS, read(state).steps, strict=True))

    def as_json(self, state, agent):
        return read(state)._asdict() | {"me": agent}

    def code(self, subgoal):
        return "def reward(previous, current):\n    return 0\n"

    def facts(self, state):
        moment = read(state)
        tests = {"mail lies there": any(moment.lying.values()), "mail is weighed": moment.weighed}
        return frozenset(fact for fact, holds in tests.items() if holds)

    def diverse_states(self, count, seed):
        numbers, found = random.Random(seed), {}
        while len(found) < count:
            weighed = numbers.choice(("weighed", "not weighed"))
            rest = (numbers.randrange(3), numbers.randrange(3), weighed, numbers.randrange(9), numbers.randrange(9))
            found[write(numbers.randrange(500), *rest)] = None
        return list(found)

    def goal_list(self, state, length):
        return tuple(([SORT, WEIGH, SEND] * length)[:length])

    def decompose(self, state, goal, failed):
        moment, ranked = read(state), []
        for pair in itertools.combinations(OF_TEXT, 2):
            steps = min(sum(cost(moment, n, text) for n, text in enumerate(order)) for order in (pair, pair[::-1]))
            worth = sum(OF_TEXT[text].worth + 200 * (OF_TEXT[text].goal == goal) for text in pair)
            if steps < FAR:
                ranked.append((steps - worth, pair))
        fresh = [pair for _, pair in sorted(ranked) if tuple(sorted(pair)) not in failed]
        best = fresh[0] if fresh else min(ranked)[1]
        named = goal or max((OF_TEXT[text] for text in best), key=lambda errand: errand.worth).goal
        return Decomposition("What can begin.", named, best)

    def possible_subgoals(self, state, agent, given):
        return tuple(text for text in OF_TEXT if cost(read(state), agent, text) < FAR)

    def allocate(self, state, subgoals, failed):
        moment, texts = read(state), tuple(subgoals)
        orders = sorted(((0, 1), (1, 0)), key=lambda o: sum(cost(moment, n, texts[p]) for n, p in enumerate(o)))
        fresh = [order for order in orders if tuple(texts[place] for place in order) not in failed]
        return Allocation("Who is near.", (fresh or orders)[0])

    def find_fault(self, state, subgoals, order):
        moment = read(state)
        own = [cost(moment, clerk, subgoals[place]) for clerk, place in enumerate(order)]
        swapped = [cost(moment, clerk, subgoals[place]) for clerk, place in enumerate(order[::-1])]
        phase = "allocation" if sum(own) >= FAR > sum(swapped) else "decomposition"
        return Fault(thoughts="Who could begin.", phase=phase)
