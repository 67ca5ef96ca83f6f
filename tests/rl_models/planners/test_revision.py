"""What follows a failed round: reflection remembers, its control draws anew and remembers nothing."""

from rl_models.planners.noisy import Noise, NoisyBackend
from rl_models.planners.planner import Planner
from rl_models.planners.revision import Retry
from rl_models.planners.rounds import PlanningLoop, RoundEnd
from tests.rl_models.planners.callers import caller
from tests.rl_models.planners.office import PostOffice

DOMAIN = PostOffice()
STATES = DOMAIN.diverse_states(6, seed=11)


def planner(seed):
    return Planner(caller(NoisyBackend(DOMAIN, Noise(decomposition=1.0), seed)), DOMAIN)


def commands_after_failures(revision_seeds):
    retry = Retry([planner(seed) for seed in revision_seeds]) if revision_seeds else None
    loop = PlanningLoop(planner(0), retry=retry)
    commands = [loop.begin({5: STATES[0]})[5].commands]
    for _ in range(3):
        following = loop.end_rounds({5: RoundEnd(STATES[1], (True, False))})[5]
        assert (following.recovers, following.plan.state) == (True, STATES[0])
        commands.append(following.plan.commands)
    return loop, commands


def test_a_retry_is_what_a_planner_of_that_seed_plans_first():
    _, commands = commands_after_failures([1, 2, 3])
    assert commands == [planner(seed).plan([STATES[0]])[0].commands for seed in range(4)]
    assert len(set(commands)) > 1


def test_a_retry_asks_nobody_what_was_wrong_and_remembers_nothing():
    loop, _ = commands_after_failures([1, 2, 3])
    assert loop.question_counts["asked"] == 4 * 2  # a decomposition and an allocation each
    reflecting, _ = commands_after_failures([])
    assert "### Call: fault" in reflecting.planner.caller.transcript.text
    assert "### Call: fault" not in loop.planner.caller.transcript.text


def test_worlds_at_different_tries_have_different_planners():
    loop = PlanningLoop(planner(0), retry=Retry([planner(seed) for seed in (1, 2, 3)]))
    loop.begin({0: STATES[0], 1: STATES[0]})
    loop.end_rounds({0: RoundEnd(STATES[1], (False, False))})
    both = loop.end_rounds({world: RoundEnd(STATES[1], (False, False)) for world in (0, 1)})
    first = [planner(seed).plan([STATES[0]])[0].commands for seed in (2, 1)]
    assert [both[world].plan.commands for world in (0, 1)] == first
